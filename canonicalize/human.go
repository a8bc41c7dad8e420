package canonicalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxHuman bounds the texts that dates, amounts, names and the like are read from; nothing longer is one value.
const maxHuman = 400

// human brings a text that a person wrote into one width, one kind of space and one kind of dash; case stays. Characters of no width
// are dropped. It is what all our grammars read, so that they need not know about ２, − or ½.
func human(s string) string {
	if plainASCII(s) {
		return s
	}
	if strings.ContainsFunc(s, raisedOrFraction) {
		s = spellOut(s)
	}
	if s = norm.NFKC.String(s); settled(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := true // nothing written yet: leading spaces are dropped
	for _, r := range s {
		r = foldRune(r)
		switch {
		case r == dropped:
		case r == ' ':
			if !space {
				b.WriteByte(' ')
			}
			space = true
		default:
			b.WriteRune(r)
			space = false
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// settled reports whether nothing is left to fold after NFKC.
func settled(s string) bool {
	last := ' '
	for _, r := range s {
		if foldRune(r) != r || r == ' ' && last == ' ' {
			return false
		}
		last = r
	}
	return last != ' '
}

// plainASCII reports whether human would return s unchanged.
func plainASCII(s string) bool {
	space := true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || c < ' ' || c == 0x7f || (c == ' ' && space) {
			return false
		}
		space = c == ' '
	}
	return !space
}

// dropped stands for a character that is taken away.
const dropped rune = -1

// foldRune maps what NFKC leaves apart: every space to ' ', every dash to '-', every apostrophe to one.
func foldRune(r rune) rune {
	switch {
	case r < utf8.RuneSelf && r >= ' ' && r != 0x7f:
		return r
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0x2043, r == 0xfe58, r == 0xfe63, r == 0x207b, r == 0x208b, r == 0x02d7, r == 0x058a, r == 0x2500, r == 0x2501:
		return '-'
	case r == 0x2018, r == 0x2019, r == 0x02bc, r == 0x2032:
		return '\''
	case r == 0x201c, r == 0x201d, r == 0x2033:
		return '"'
	case r == 0x2044:
		return '/'
	case r == 0x301c, r == 0x223c:
		return '~'
	case unicode.IsSpace(r):
		return ' '
	case r == 0x00ad, unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.IsControl(r):
		return dropped
	}
	return r
}

// raisedOrFraction reports whether NFKC would change the value of a number that r follows: it turns 1½ into 11/2 and 10² into 102.
func raisedOrFraction(r rune) bool {
	return r >= 0xbc && r <= 0xbe || r >= 0x2150 && r <= 0x215f || r == 0x2189 || // ½
		r == 0xb2 || r == 0xb3 || r == 0xb9 || r >= 0x2070 && r <= 0x2079 || r >= 0x2080 && r <= 0x2089 // ²
}

// spellOut writes ½ as " 1/2", and a digit raised or lowered behind another as "^2"; in m² it stays the 2 of a unit.
func spellOut(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range s {
		d := norm.NFKC.String(string(r))
		switch {
		case !raisedOrFraction(r):
		case strings.ContainsRune(d, '⁄'):
			b.WriteByte(' ')
		case unicode.IsDigit(last) || kanjiDigit(last) >= 0 || raisedOrFraction(last):
			b.WriteByte('^')
		}
		b.WriteString(string(r))
		last = r
	}
	return b.String()
}

// foldHuman is foldText of a text that human returned; kana and kanji have no case and cost nothing.
func foldHuman(s string) string {
	for _, r := range s {
		if !japanese(r) && (r >= utf8.RuneSelf || 'A' <= r && r <= 'Z') {
			return foldText(s)
		}
	}
	return s
}

// untilSettled folds a text until folding changes nothing, so that a canonical form is its own; false where it never does.
func untilSettled(s string, fold func(string) string) (string, bool) {
	for range 8 {
		next := fold(s)
		if next == s {
			return s, true
		}
		s = next
	}
	return s, false
}

// closeUp drops spaces beside Japanese characters, where they carry no meaning: "7 万 円", "2016年 2月 5日".
func closeUp(s string) string {
	if !strings.Contains(s, " ") || plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	last := rune(' ')
	for i, r := range s {
		if r == ' ' {
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); japanese(last) || japanese(next) {
				continue
			}
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// japanese reports whether r is a kana, a kanji or one of the marks written among them.
func japanese(r rune) bool {
	return r >= 0x3000 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff
}

// scalar is the spelling that a value is read from: a text as human folds it, or a number's literal. Other kinds are refused as not
// being what.
func scalar(v Value, what, remedy string) (string, error) {
	switch v.Kind {
	case String:
		if len(v.Text) > maxHuman {
			return "", &Error{Reason: "is too long for " + what, Remedy: remedy}
		}
		s := human(v.Text)
		if s == "" {
			return "", &Error{Reason: "is blank", Remedy: remedy}
		}
		return s, nil
	case Number:
		return v.Text, nil
	}
	return "", &Error{Reason: "is not " + what, Remedy: remedy}
}
