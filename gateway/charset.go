package gateway

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// charsetAliases are names that are in use and not in the list of the WHATWG Encoding standard, or mean more there than what they say.
var charsetAliases = map[string]encoding.Encoding{
	"utf-16":  unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM), // without a mark nobody knows the byte order
	"cp932":   japanese.ShiftJIS,
	"ms932":   japanese.ShiftJIS,
	"cp51932": japanese.EUCJP,
}

var byteOrderMark = []byte("\ufeff")

// decodeText is b as UTF-8. label is the declared charset, "" for UTF-8. Bytes that are not of the charset are an error, never U+FFFD.
func decodeText(b []byte, label string) (string, error) {
	label = strings.ToLower(strings.TrimSpace(label))
	switch label {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		if !utf8.Valid(b) || strings.HasSuffix(label, "ascii") && !ascii(b) {
			return "", unreadable("", "has bytes that are not "+named(label), "declare the charset it is written in")
		}
		return string(bytes.TrimPrefix(b, byteOrderMark)), nil
	}
	enc, err := lookup(label)
	if err != nil {
		return "", err
	}
	text, err := enc.NewDecoder().Bytes(b)
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
		return "", unreadable("", "has bytes that are not "+label, "declare the charset it is written in")
	}
	return string(bytes.TrimPrefix(text, byteOrderMark)), nil
}

func lookup(label string) (encoding.Encoding, error) {
	if enc, ok := charsetAliases[label]; ok {
		return enc, nil
	}
	enc, name := charset.Lookup(label)
	if enc == nil || name == "replacement" || name == "x-user-defined" {
		return nil, unreadable("", "charset "+label+" is not known", "send UTF-8")
	}
	return enc, nil
}

// sameCharset reports whether two labels name one encoding.
func sameCharset(a, b string) bool {
	_, nameA := charset.Lookup(a)
	_, nameB := charset.Lookup(b)
	return strings.EqualFold(a, b) || nameA != "" && nameA == nameB
}

func named(label string) string {
	if label == "" {
		return "utf-8"
	}
	return label
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
