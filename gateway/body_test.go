package gateway

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agentgw"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// Each file of testdata/arguments holds a proxied request and the arguments it has, or why it is rejected. A line "encode: X" in its
// prose says in which charset the body is sent; <BOM> and <REPEAT n text> stand for what cannot be typed.
func TestArguments(t *testing.T) {
	files, err := filepath.Glob("testdata/arguments/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
			}
			params := map[string]string{}
			for line := range strings.Lines(parts["params"]) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				params[name] = value
			}
			got, err := Arguments(readRequest(t, parts["request"], string(archive.Comment)), params)
			if want, ok := parts["rejected"]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %s, %v; want an error with %q", got, err, want)
				}
				return
			}
			if err != nil || string(got) != parts["want"] {
				t.Errorf("got  %s, %v\nwant %s", got, err, parts["want"])
			}
		})
	}
}

var repeated = regexp.MustCompile(`<REPEAT (\d+) (.*)>`)

func readRequest(t *testing.T, text, prose string) *agentgw.Request {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	req := &agentgw.Request{Upstream: "u", Method: method}
	req.Path, req.Query, _ = strings.Cut(target, "?")
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		req.Header = append(req.Header, agentgw.Header{Name: name, Value: value})
	}
	body = strings.ReplaceAll(body, "<BOM>", "\ufeff")
	if m := repeated.FindStringSubmatch(body); m != nil {
		n, _ := strconv.Atoi(m[1])
		body = strings.Repeat(m[2], n)
	}
	_, label, _ := strings.Cut(prose, "encode: ")
	req.Body = encoded(t, strings.TrimSpace(label), body)
	return req
}

func encoded(t *testing.T, label, text string) []byte {
	t.Helper()
	if label == "" {
		return []byte(text)
	}
	enc, _ := charset.Lookup(label)
	if label == "utf-16" {
		enc = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	}
	b, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCharsets(t *testing.T) {
	for _, c := range []struct{ label, bytes, want string }{
		{"cp932", "\x87\x8a", "㈱"},
		{"windows-31j", "\xfb\xfc", "髙"},
		{"EUC-JP", "\xb3\xf4", "株"},
		{"iso-2022-jp", "\x1b$B3t\x1b(B", "株"},
		{"utf-16le", "*h", "株"},
		{"us-ascii", "a", "a"},
		{"us-ascii", "\xe9", ""},
		{"utf-16", "\x68\x2a", ""}, // no byte order mark: either could be meant
		{"shift_jis", "\x81", ""},
		{"shift_jis", "\xfd", ""},
		{"utf-16le", "\x00\xd8", ""}, // half a surrogate pair
		{"iso-2022-kr", "a", ""},
		{"utf-8", "\xc0\x80", ""},
	} {
		got, err := decodeText([]byte(c.bytes), c.label)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %x: %q, %v", c.label, c.bytes, got, err)
		}
	}
}

// What reads differently in two readers must not be read at all, and nothing may panic.
func FuzzArguments(f *testing.F) {
	for _, kind := range []string{"application/json", "text/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b",
		"application/json; charset=shift_jis"} {
		f.Add(kind, `a=1`, []byte(`{"a":1}`))
		f.Add(kind, ``, []byte(`<a b="1"><c>2</c></a>`))
		f.Add(kind, `x=%41`, []byte("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--"))
	}
	f.Fuzz(func(t *testing.T, kind, query string, body []byte) {
		req := &agentgw.Request{Method: "POST", Path: "/", Query: query, Body: body, Header: []agentgw.Header{{Name: "Content-Type", Value: kind}}}
		args, err := Arguments(req, map[string]string{"id": "7"})
		if err == nil && strings.Contains(string(args), "\ufffd") && !strings.Contains(string(body)+query, "\ufffd") && !strings.Contains(query, "%") {
			t.Errorf("invented U+FFFD in %q of %q", args, body)
		}
	})
}
