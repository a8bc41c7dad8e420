package canonicalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// idType reads the identifiers that systems give: 42, "42" and " 42 " are one; case and leading zeros count. A number is read by its
// digits, never through a float, which would merge ids above 2^53.
type idType struct{}

func (idType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := identifier(&v)
	if err != nil {
		return nil, err
	}
	if wasFloat(s) {
		return nil, &Error{Reason: "looks like a number that went through a float", Remedy: "send it without .0, or declare the field exact"}
	}
	return appendQuoted(dst, s), nil
}

// identifier returns an id or code without outer spaces, in NFC.
func identifier(v *Value) (string, error) {
	s := ""
	switch {
	case v.Kind == String:
		s = trim(v.Text)
	case v.Kind != Number:
		return "", &Error{Reason: "is " + v.Kind.String() + ", not an identifier", Remedy: "send a string or a whole number"}
	case !isWhole(v.Text):
		return "", &Error{Reason: "is a number with a fraction or exponent, not an identifier", Remedy: "send it as a string, or as a whole number"}
	default:
		s = v.Text
	}
	switch {
	case s == "":
		return "", &Error{Reason: "is blank", Remedy: "send the identifier"}
	case isASCII(s):
		return s, controlsOrSpaces(s)
	}
	s = norm.NFC.String(s)
	return s, controlsOrSpaces(s)
}

// wasFloat recognizes 7.0, which tables and scripts make of the id 7.
func wasFloat(s string) bool {
	whole, fraction, ok := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return ok && whole != "" && fraction != "" && strings.Trim(whole, "0123456789") == "" && strings.Trim(fraction, "0") == ""
}

// controlsOrSpaces refuses control characters and line breaks: no identifier holds one.
func controlsOrSpaces(s string) error {
	for _, r := range s {
		if unicode.IsControl(r) {
			return &Error{Reason: "holds a control character or line break", Remedy: "send it without"}
		}
	}
	return nil
}

// codeType reads document numbers as people type them: ＩＮＶ－００１, inv‐001 and "INV - 001" are one. Width, case, spaces and the kind
// of dash do not count; whether there is a dash does.
type codeType struct {
	zeros bool // leading zeros of each part do not count
}

func newCode(params []string, _ Defaults) (Type, error) {
	if len(params) == 0 {
		return codeType{}, nil
	}
	if len(params) == 1 && params[0] == "zeros" {
		return codeType{zeros: true}, nil
	}
	return nil, &Error{Reason: "has an unknown parameter", Remedy: "code takes zeros"}
}

func (t codeType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := identifier(&v)
	if err != nil {
		return nil, err
	}
	for range maxRounds { // what a mark without width kept apart may compose
		before := s
		if s, err = compactCode(s); err != nil {
			return nil, err
		}
		if s == before || isASCII(s) {
			break
		}
	}
	if t.zeros {
		s = dropZeros(s)
	}
	return appendQuoted(dst, s), nil
}

// compactCode takes spaces and marks without width away, makes every dash a hyphen, full width narrow, and ASCII letters upper case.
func compactCode(s string) (string, error) {
	if strings.ContainsFunc(s, isLetterBeyond) {
		s = foldWidth(s)
	}
	out := make([]byte, 0, len(s))
	last := rune(0)
	for _, r := range s {
		if '！' <= r && r <= '～' {
			r -= '！' - '!'
		}
		switch {
		case r == '\u00ad':
			return "", &Error{Reason: "holds a soft hyphen, which may or may not be a dash", Remedy: "send - or nothing in its place"}
		case unicode.IsSpace(r) || unicode.Is(unicode.Cf, r):
			continue
		case 'a' <= r && r <= 'z':
			r -= 'a' - 'A'
		case isDash(r) || r == 'ー' && !isKana(last): // the long vowel mark, typed for a dash beside digits
			r = '-'
		}
		out = utf8.AppendRune(out, r)
		last = r
	}
	if len(out) == 0 {
		return "", &Error{Reason: "is blank", Remedy: "send the document number"}
	}
	return string(out), nil
}

// isLetterBeyond reports whether r needs more folding than compactCode itself does.
func isLetterBeyond(r rune) bool {
	return r >= utf8.RuneSelf && !isDash(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && (r < '！' || r > '～')
}

// isDash knows Unicode's dashes and the marks that stand in for one.
func isDash(r rune) bool {
	return r == '-' || r >= utf8.RuneSelf && unicode.Is(unicode.Pd, r) || r == '\u2212' || r == '\u2043'
}

func isKana(r rune) bool {
	return r == 'ー' || unicode.Is(unicode.Katakana, r) || unicode.Is(unicode.Hiragana, r)
}

// dropZeros drops the zeros in front of a digit at the beginning of each part; parts are runs of letters and digits.
func dropZeros(s string) string {
	var b strings.Builder
	begins := true
	for i, r := range s {
		if begins && r == '0' && i+1 < len(s) && '0' <= s[i+1] && s[i+1] <= '9' {
			continue
		}
		b.WriteRune(r)
		begins = !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return b.String()
}
