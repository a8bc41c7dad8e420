package canonicalize

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// urlType reads absolute URLs (RFC 3986 §6.2.2 and §6.2.3): the case of scheme and host, the default port, dot segments, an empty path
// and needless escapes do not count. An escaped slash is not a slash, and the order of the query counts.
type urlType struct{}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

func (urlType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	if v.Kind != String {
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not a URL", Remedy: "send a string, https://example.com/path"}
	}
	s := trim(v.Text)
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || strings.ContainsAny(s, "\\ \"<>") || !goodEscapes(s) {
		return nil, &Error{Reason: "is not an absolute URL", Remedy: "write it as https://example.com/path, with spaces escaped"}
	}
	host, err := urlHost(u)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://") // url.Parse has made it lower case
	if u.User != nil {
		b.WriteString(u.User.String() + "@")
	}
	b.WriteString(host)
	rest := s[strings.Index(s, "://")+3:]
	rest = rest[min(len(rest), indexAny(rest, "/?#")):]
	path, tail := rest, ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		path, tail = rest[:i], rest[i:]
	}
	b.WriteString(withoutDots(normalEscapes(path)))
	if i := strings.IndexByte(tail, '#'); i == len(tail)-1 { // an empty fragment
		tail = tail[:max(i, 0)]
	}
	b.WriteString(normalEscapes(tail))
	return appendQuoted(dst, b.String()), nil
}

func indexAny(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}

// urlHost returns host and port, the latter only where it is not the scheme's own.
func urlHost(u *url.URL) (string, error) {
	name := u.Hostname()
	if ip, err := netip.ParseAddr(name); err == nil && ip.Zone() == "" {
		if name = ip.String(); ip.Is6() {
			name = "[" + name + "]"
		}
	} else if name, err = hostName(name); err != nil {
		return "", err
	}
	port := u.Port()
	if port == "" {
		return name, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", &Error{Reason: "has a port beyond 65535", Remedy: "write a number from 1 to 65535"}
	}
	if port = strconv.FormatUint(n, 10); port == defaultPorts[u.Scheme] {
		return name, nil
	}
	return name + ":" + port, nil
}

// goodEscapes reports whether two hexadecimal digits follow every %.
func goodEscapes(s string) bool {
	for i := range len(s) {
		if s[i] == '%' {
			if len(s) < i+3 {
				return false
			}
			if _, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err != nil {
				return false
			}
		}
	}
	return true
}

// normalEscapes escapes what is not ASCII (in NFC), unescapes letters, digits, - . _ ~, and writes the other escapes in upper case.
func normalEscapes(s string) string {
	const hex = "0123456789ABCDEF"
	if !isASCII(s) {
		s = norm.NFC.String(s)
	}
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		escaped := c == '%'
		if escaped {
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			c, i = byte(n), i+2
		}
		switch {
		case c >= 0x80 || escaped && !isUnreserved(c):
			out = append(out, '%', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// withoutDots resolves "." and ".." segments (RFC 3986 §5.2.4). Empty segments stay.
func withoutDots(path string) string {
	if path == "" {
		return "/"
	}
	segments := strings.Split(path[1:], "/")
	var out []string
	for i, segment := range segments {
		last := i == len(segments)-1
		switch segment {
		case ".", "..":
			if segment == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
}
