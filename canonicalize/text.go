package canonicalize

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// textType reads free text: Unicode NFC, and every run of spaces of any kind, line breaks among them, as one space, none at the ends.
type textType struct {
	fold bool // also NFKC and case, as Unicode's caseless matching does
	html bool // also HTML entities
}

func newText(params []string, _ Defaults) (Type, error) {
	var t textType
	for _, p := range params {
		switch p {
		case "fold":
			t.fold = true
		case "html":
			t.html = true
		default:
			return nil, &Error{Reason: "has the unknown parameter " + p, Remedy: "text takes fold and html"}
		}
	}
	return t, nil
}

func (t textType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := textOf(&v)
	if err != nil {
		return nil, err
	}
	if s, err = t.normal(s); err != nil {
		return nil, err
	}
	return appendQuoted(dst, s), nil
}

// meaningType reads free text whose identity is its exact folded text; whether another wording means the same is asked elsewhere.
type meaningType struct{}

func (meaningType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	return textType{fold: true}.Canon(dst, v, args)
}

// maxRounds is how often the rules for a text are applied. Two rounds are common; more are entities within entities.
const maxRounds = 8

// normal applies the rules until nothing changes: an entity may hide an entity, and folding may undo a normal form.
func (t textType) normal(s string) (string, error) {
	for range maxRounds {
		next := s
		if t.html {
			next = unescapeHTML(next)
		}
		if t.fold {
			next = foldText(next)
		} else {
			next = norm.NFC.String(next)
		}
		if next = oneSpace(next); next == s {
			return s, noControls(s)
		}
		s = next
	}
	return "", &Error{Reason: "has entities within entities", Remedy: "send the text itself"}
}

// textOf takes a string, or a whole number as the digits it was written with. Anything else is no text.
func textOf(v *Value) (string, error) {
	switch {
	case v.Kind == String:
		return v.Text, nil
	case v.Kind == Number && isWhole(v.Text):
		return v.Text, nil
	case v.Kind == Number:
		return "", &Error{Reason: "is a number with a fraction or exponent, not a text", Remedy: "send it as a string, so that its spelling is certain"}
	}
	return "", &Error{Reason: "is " + v.Kind.String() + ", not a text", Remedy: "send a string"}
}

// isWhole reports whether a number literal is written without fraction and exponent, and is not the odd -0.
func isWhole(literal string) bool { return !strings.ContainsAny(literal, ".eE") && literal != "-0" }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// noControls refuses control characters other than line breaks and tabs: some receivers cut a text there.
func noControls(s string) error {
	for _, r := range s {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return &Error{Reason: "holds a control character", Remedy: "send it without, or declare the field exact"}
		}
	}
	return nil
}

// unseen reports whether r is a space without width: taken out, never seen, and pasted in by many programs.
func unseen(r rune) bool { return r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == '\u180e' }

// oneSpace makes every run of spaces one U+0020 and takes outer and unseen ones away.
func oneSpace(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s {
		switch {
		case unseen(r):
		case unicode.IsSpace(r):
			gap = b.Len() > 0
		default:
			if gap {
				b.WriteByte(' ')
				gap = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// clean reports whether oneSpace would change nothing.
func clean(s string) bool {
	last := ' '
	for _, r := range s {
		if unseen(r) || r != ' ' && unicode.IsSpace(r) || r == ' ' && last == ' ' {
			return false
		}
		last = r
	}
	return last != ' ' || s == ""
}

// trim takes away outer spaces of every kind.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unseen(r) || unicode.IsSpace(r) })
}

// foldCase is full case folding. The library swaps the cases of Cherokee letters, whose folded form is the capital; they are put right,
// for a folding that changes its own outcome has no canonical form.
func foldCase(s string) string {
	s = cases.Fold().String(s)
	if !strings.ContainsFunc(s, isSmallCherokee) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case !isSmallCherokee(r):
			return r
		case r >= 0xab70:
			return r - 0xab70 + 0x13a0
		}
		return r - 0x13f8 + 0x13f0
	}, s)
}

func isSmallCherokee(r rune) bool { return 0xab70 <= r && r <= 0xabbf || 0x13f8 <= r && r <= 0x13fd }

// foldText is NFKC and full case folding.
func foldText(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(foldCase(norm.NFKC.String(s)))
}

// foldWidth makes full-width letters and digits narrow, half-width kana wide, and folds case. Unlike NFKC it leaves ² and ① as they are:
// in a number or code they are not 2 and 1.
func foldWidth(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(foldCase(norm.NFC.String(width.Fold.String(s))))
}

// unescapeHTML reads one level of HTML entities, only those that end with their semicolon: "AT&T&copy" and "?a=1&lt=2" stay.
func unescapeHTML(s string) string {
	at := strings.IndexByte(s, '&')
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(s, '&') {
		b.WriteString(s[:at])
		s = s[at:]
		entity := "&"
		if end := strings.IndexAny(s[1:], ";& "); end >= 0 && s[1+end] == ';' {
			entity = s[:end+2]
		}
		b.WriteString(unescapeEntity(entity))
		s = s[len(entity):]
	}
	b.WriteString(s)
	return b.String()
}

// unescapeEntity reads one entity whole, or leaves it as it is.
func unescapeEntity(entity string) string {
	out := html.UnescapeString(entity)
	if strings.HasSuffix(out, ";") && out != ";" || strings.Contains(out, "\ufffd") || strings.Contains(out, "\x00") {
		return entity // unknown, or known only by its beginning
	}
	return out
}
