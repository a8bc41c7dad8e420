package canonicalize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// number reads a number literal. Its digits are kept; it is never turned into a float.
func (p *parser) number() (string, *Error) {
	start := p.i
	if p.s[p.i] == '-' {
		p.i++
	}
	first := p.i
	switch n := p.digits(); {
	case n == 0 && strings.HasPrefix(p.s[p.i:], "Infinity"):
		return "", notANumber()
	case n == 0:
		return "", p.syntax("a digit is missing here", "write numbers as 12, -3.5 or 1e6")
	case n > 1 && p.s[first] == '0':
		return "", p.syntax("a number begins with a zero", "send ids with leading zeros as strings, numbers without")
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if p.digits() == 0 {
			return "", p.syntax("a digit is missing here", "write numbers as 12, -3.5 or 1e6")
		}
	}
	if p.i < len(p.s) && p.s[p.i]|0x20 == 'e' {
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		from := p.i
		if p.digits() == 0 {
			return "", p.syntax("a digit is missing here", "write numbers as 12, -3.5 or 1e6")
		}
		if e, err := strconv.Atoi(p.s[from:p.i]); err != nil || e > maxExponent {
			return "", &Error{Reason: "is a number with an exponent beyond 9999", Remedy: "send such a number as a string"}
		}
	}
	if p.i-start > maxDigits {
		return "", &Error{Reason: "is a number of more than 1000 characters", Remedy: "send such a number as a string"}
	}
	return p.s[start:p.i], nil
}

func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.s) && '0' <= p.s[p.i] && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

// text reads a string. Without escapes it is a part of the input, not a copy.
func (p *parser) text() (string, *Error) {
	p.i++
	start := p.i
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			if p.bad < p.i {
				return "", notUTF8()
			}
			p.i++
			return p.s[start : p.i-1], nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.control()
		}
		p.i++
	}
	return "", p.syntax("the text ends inside a string", "send the whole text; nothing is guessed of a cut-off one")
}

// escaped reads the rest of a string that holds escapes, from its first backslash on.
func (p *parser) escaped(start int) (string, *Error) {
	buf := append(make([]byte, 0, p.i-start+64), p.s[start:p.i]...)
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '"':
			if p.bad < p.i {
				return "", notUTF8()
			}
			p.i++
			return string(buf), nil
		case c < 0x20:
			return "", p.control()
		case c != '\\':
			buf = append(buf, c)
			p.i++
			continue
		}
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		buf = utf8.AppendRune(buf, r)
	}
	return "", p.syntax("the text ends inside a string", "send the whole text; nothing is guessed of a cut-off one")
}

// escape reads one escape, or the two of a surrogate pair.
func (p *parser) escape() (rune, *Error) {
	if p.i+1 < len(p.s) {
		at := strings.IndexByte(`"\/bfnrt`, p.s[p.i+1])
		if at >= 0 {
			p.i += 2
			return rune("\"\\/\b\f\n\r\t"[at]), nil
		}
	}
	r, ok := p.unicode()
	if !ok {
		return 0, p.syntax(`this is no JSON escape`, `escape a backslash as \\`)
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if second, ok := p.unicode(); ok {
		if full := utf16.DecodeRune(r, second); full != unicode.ReplacementChar {
			return full, nil
		}
	}
	return 0, &Error{Reason: "holds half of a surrogate pair", Remedy: `escape such a character as both halves, or send it as UTF-8`}
}

// unicode reads the four hexadecimal digits of a \u escape.
func (p *parser) unicode() (rune, bool) {
	if len(p.s)-p.i < 6 || p.s[p.i] != '\\' || p.s[p.i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.s[p.i+2 : p.i+6]) {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.i += 6
	return r, true
}

func (p *parser) control() *Error {
	return p.syntax("a control character stands inside a string", `escape it, as \n or \u0007`)
}

func notUTF8() *Error { return &Error{Reason: "is not UTF-8", Remedy: "encode the text as UTF-8"} }

func notANumber() *Error {
	return &Error{Reason: "NaN and Infinity are not JSON", Remedy: "send a number, or null"}
}

func tooDeep() *Error {
	return &Error{Reason: "is nested deeper than 128 levels", Remedy: "send a flatter value"}
}
