package canonicalize

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// emailType reads one mail address (RFC 5321 Mailbox with a dot-string, RFC 6531 for letters beyond ASCII). Quoted local parts, address
// literals and display names are refused.
type emailType struct {
	domainOnly bool // the case of the local part counts
}

func newEmail(params []string, _ Defaults) (Type, error) {
	if len(params) == 0 {
		return emailType{}, nil
	}
	if len(params) == 1 && params[0] == "domain" {
		return emailType{domainOnly: true}, nil
	}
	return nil, &Error{Reason: "has an unknown parameter", Remedy: "email takes domain"}
}

func (t emailType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	if v.Kind != String {
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not a mail address", Remedy: "send a string, name@example.com"}
	}
	s := trim(v.Text)
	if !isASCII(s) {
		s = trim(norm.NFKC.String(s))
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 || !isDotString(s[:at]) || len(s) > 254 {
		return nil, &Error{Reason: "is not a mail address", Remedy: "send the address alone, name@example.com"}
	}
	local := s[:at]
	if !t.domainOnly {
		local = lower(local)
	}
	domain, err := hostName(s[at+1:])
	if err != nil {
		return nil, err
	}
	dst = appendQuoted(dst, local) // its closing quote gives way to the domain
	dst = append(dst[:len(dst)-1], '@')
	return append(append(dst, domain...), '"'), nil
}

// lower is lower case, in NFKC; ß stays ß, for straße@ and strasse@ are two boxes.
func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	for range maxRounds {
		next := norm.NFKC.String(strings.ToLower(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}

// isDotString knows atoms joined by single dots, of at most 64 bytes.
func isDotString(s string) bool {
	if len(s) > 64 {
		return false
	}
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" {
			return false
		}
		for _, r := range atom {
			if r < 0x80 && !isAtext(byte(r)) || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				return false
			}
		}
	}
	return true
}

func isAtext(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

// hostName returns a domain name in lower-case ASCII (RFC 5891, as browsers look names up).
func hostName(s string) (string, error) {
	name := strings.ToLower(s)
	if strings.Contains(name, "xn--") || !isASCII(name) {
		var err error
		if name, err = idna.Lookup.ToASCII(s); err != nil {
			name = ""
		}
	}
	if !isHostName(name) {
		return "", &Error{Reason: "does not hold a valid domain name", Remedy: "write it as example.com"}
	}
	return name, nil
}

// isHostName knows names of lower-case letters, digits and inner hyphens (RFC 1123).
func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
				return false
			}
		}
	}
	return true
}
