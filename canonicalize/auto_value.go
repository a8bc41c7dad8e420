package canonicalize

import (
	"strings"
	"unicode"
)

// appendAuto is AppendCanonical for values of unknown make: texts are folded, a text that is a number or a truth value in its canonical
// spelling is one, and members that are blank are left out.
func appendAuto(dst []byte, v *Value) []byte {
	switch v.Kind {
	case String:
		return appendAutoText(dst, v)
	case List:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendAuto(dst, &v.Items[i])
		}
		return append(dst, ']')
	case Object:
		start := len(dst)
		dst = append(dst, '{')
		for _, i := range sortedMembers(nil, v.Members) {
			before := len(dst)
			if before > start+1 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, v.Members[i].Name), ':')
			at := len(dst)
			dst = appendAuto(dst, &v.Members[i].Value)
			if text := string(dst[at:]); text == "null" || text == `""` || text == "[]" || text == "{}" {
				dst = dst[:before]
			}
		}
		return append(dst, '}')
	}
	return appendCanonical(dst, v)
}

func appendAutoText(dst []byte, v *Value) []byte {
	if inner := embedded(*v); inner.Kind != String {
		return appendAuto(dst, &inner)
	}
	text := soften(v.Text)
	switch {
	case text == "true" || text == "false":
		return append(dst, text...)
	case len(text) < 40 && isDecimal(text) && string(appendDecimal(nil, text)) == text:
		return append(dst, text...)
	}
	return appendQuoted(dst, text)
}

// soften folds what does not tell texts apart: case, width, spaces, dashes and underscores between letters, the shape of quotes, a full
// stop at the end.
func soften(s string) string {
	for {
		next := oneSpace(softRunes(unescaped(foldText(s))))
		for _, end := range [...]string{".", "!", "。", "！"} {
			if cut := strings.TrimSuffix(next, end); cut != "" && !strings.HasSuffix(cut, end) {
				next = strings.TrimRight(cut, " ")
			}
		}
		if next == s {
			return s
		}
		s = next
	}
}

// unescaped takes back what a model escaped once too often: runs of backslashes are one, one before a quote or at the end is none.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			end := i
			for end < len(s) && s[end] == '\\' {
				end++
			}
			if end == len(s) && visible(b.String()) || end < len(s) && (s[end] == '"' || s[end] == '\'') {
				i = end - 1
				continue
			}
			b.WriteByte('\\')
			i = end - 1
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func softRunes(s string) string {
	runes := []rune(s)
	for i, r := range runes {
		switch f := foldRune(r); {
		case r < 0x20 || r == 0x7f: // line breaks are spaces; no other control character is looked at
			runes[i] = ' '
		case f == dropped:
			runes[i] = ' '
		case (f == '-' || f == '_') && i > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1]):
			runes[i] = ' '
		default:
			runes[i] = f
		}
	}
	return string(runes)
}

// embedded is the list or object whose JSON text, or whose Python text, a string holds; else the string. What only its folded text holds counts
// too, so that the form of a form is the form.
func embedded(v Value) Value {
	text := trim(v.Text)
	if inner, ok := structure(text); ok {
		return inner
	}
	if text != "" && (text[0] == '[' || text[0] == '{' || text[0] == '\\' || text[0] < ' ' || text[0] >= 0x7f) {
		if inner, ok := structure(soften(text)); ok {
			return inner
		}
	}
	return v
}

// structure reads the text of a list or an object.
func structure(text string) (Value, bool) {
	if text == "" || text[0] != '[' && text[0] != '{' {
		return Value{}, false
	}
	if inner, err := parseString(text); err == nil {
		return inner, true
	}
	if literal, ok := fromPython(text); ok {
		if inner, err := parseString(literal); err == nil {
			return inner, true
		}
	}
	return Value{}, false
}

// fromPython rewrites a Python literal as JSON: 'a' as "a", True as true, None as null. Only texts whose quotes balance are rewritten.
func fromPython(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			end := i + 1
			for end < len(s) && s[end] != c {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return "", false
			}
			b.Write(appendQuoted(nil, strings.NewReplacer(`\'`, `'`, `\"`, `"`, `\\`, `\`, `\n`, "\n").Replace(s[i+1:end])))
			i = end + 1
		case strings.HasPrefix(s[i:], "True"):
			b.WriteString("true")
			i += len("True")
		case strings.HasPrefix(s[i:], "False"):
			b.WriteString("false")
			i += len("False")
		case strings.HasPrefix(s[i:], "None"):
			b.WriteString("null")
			i += len("None")
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), true
}
