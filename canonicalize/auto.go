package canonicalize

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// autoType is the lenient reading of a field that nobody has declared: what a tool's schema promises, where the value keeps the promise,
// and otherwise what is there, as folded text or canonical JSON. It never refuses and never guesses: two values are one only where a
// strict type says so or where they differ in nothing but case, width, spaces, dashes between words and a full stop at the end.
//
// It is written `auto`, `auto(decimal)`, `auto(date|mdy)`, `auto(set|email)`; `auto(object|size=medium|note)` reads the named members of an
// object only, with their defaults, and `auto(pairs|new_item_ids|id)` a list whose items belong to those of another list. What is blank (null, "", [],
// {}) counts as absent.
type autoType struct {
	how     autoHow
	strict  []Type    // tried in order; the first that reads the value decides
	of      *autoType // of a list's items
	members []Member  // of an object: the names that count, with their defaults; null is none
	with    *Path     // pairs: the other list

	place    bool // what stands after the first comma does not count
	compared bool // with earlier effects, as free text: `meaning`
}

// autoHow is what a value becomes where no strict type reads it.
type autoHow uint8

const (
	autoAny     autoHow = iota // canonical JSON with folded texts, blank members left out
	autoText                   // folded text
	autoMeaning                // folded text, compared with earlier effects
	autoID                     // one width, no outer spaces, its own case
	autoList                   // in order
	autoSet                    // order and repeats do not count
	autoBag                    // order does not count, repeats do
	autoPairs                  // a bag of pairs, each with the item at the same place of another list
)

var autoHows = map[string]autoHow{"text": autoText, "enum": autoText, "meaning": autoMeaning, "id": autoID, "list": autoList, "set": autoSet, "bag": autoBag, "pairs": autoPairs}

func newAuto(params []string, d Defaults) (Type, error) {
	t, err := makeAuto(params, d)
	if err != nil {
		return nil, err
	}
	return *t, nil
}

func makeAuto(params []string, d Defaults) (*autoType, error) {
	if len(params) == 0 {
		return &autoType{}, nil
	}
	name, rest := params[0], params[1:]
	if name == "object" {
		return autoObject(rest)
	}
	if how, ok := autoHows[name]; ok {
		t := &autoType{how: how}
		if how < autoList {
			if how == autoMeaning && len(rest) > 0 {
				t, err := makeAuto(rest, d)
				if err == nil && (t.how == autoAny || t.how == autoPairs) {
					err = &Error{Reason: "compares a structure as free text", Remedy: "write auto(meaning), or auto(meaning|date)"}
				}
				if t != nil {
					t.compared = true
				}
				return t, err
			}
			t.compared = how == autoMeaning
			if len(rest) > 0 {
				return nil, &Error{Reason: "has parameters after " + name, Remedy: "auto(" + name + ") takes none"}
			}
			return t, nil
		}
		if how == autoPairs {
			if len(rest) == 0 {
				return nil, &Error{Reason: "names no other list", Remedy: "write auto(pairs|new_item_ids)"}
			}
			with, err := ParsePath(rest[0])
			if err != nil {
				return nil, err
			}
			t.with, rest = &with, rest[1:]
		}
		of, err := makeAuto(rest, d)
		if err == nil && of.compared {
			err = &Error{Reason: "has a list of `meaning`, which cannot be compared", Remedy: "write auto(" + name + "|text)"}
		}
		t.of = of
		return t, err
	}
	return strictAuto(name, rest, d)
}

// autoObject makes the reading of an object by its members, `name` or `name=default`.
func autoObject(params []string) (*autoType, error) {
	t := &autoType{members: []Member{}}
	for _, p := range params {
		name, deflt, has := strings.Cut(p, "=")
		m := Member{Name: name}
		if has {
			m.Value = Value{Kind: String, Text: deflt}
		}
		t.members = append(t.members, m)
	}
	if len(t.members) == 0 {
		return nil, &Error{Reason: "names no member", Remedy: "write auto(object|size|colour=red), or auto for all of them"}
	}
	return t, nil
}

// strictAuto makes the readings that lean on a strict type.
func strictAuto(name string, params []string, d Defaults) (*autoType, error) {
	t := &autoType{how: autoText}
	switch name {
	case "place":
		t.place = true
	case "int", "decimal":
		t.strict = []Type{decimalType{}}
	case "bool":
		t.strict = []Type{boolType{}}
	case "email":
		t.how, t.strict = autoID, []Type{emailType{}}
	case "url":
		t.how, t.strict = autoID, []Type{urlType{}, hostType{}}
	case "time":
		t.strict = []Type{localType{}}
	case "date":
		if len(params) > 0 {
			ordered, err := newDate(params, d)
			if err != nil {
				return nil, err
			}
			t.strict = append(t.strict, dayType{ordered})
		}
		plain, err := newDate(nil, d)
		if err != nil {
			return nil, err
		}
		t.strict = append(t.strict, dayType{plain}, localType{})
		return t, nil
	default:
		return nil, &Error{Reason: "has the unknown reading " + name,
			Remedy: "auto takes text, meaning, enum, id, email, url, int, decimal, bool, date, time, place, object, list, set, bag, pairs"}
	}
	if len(params) > 0 {
		return nil, &Error{Reason: "has parameters after " + name, Remedy: "auto(" + name + ") takes none"}
	}
	return t, nil
}

func (t autoType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	v = t.unwrapped(v)
	if t.blank(&v) {
		return append(dst, "null"...), nil
	}
	if out, ok := t.strictly(dst, v, args); ok {
		return out, nil
	}
	if t.how >= autoList && v.Kind != List {
		v = Value{Kind: List, Items: []Value{v}}
	}
	switch {
	case t.how == autoPairs:
		if other, ok := t.with.Find(args); ok && (autoType{how: autoList}).unwrapped(other).Kind == List {
			return t.pairs(dst, v.Items, (autoType{how: autoList}).unwrapped(other).Items, args)
		}
		return t.list(dst, v.Items, args)
	case t.how >= autoList:
		return t.list(dst, v.Items, args)
	case t.members != nil && v.Kind == Object:
		v = t.picked(v)
		return appendAuto(dst, &v), nil
	case t.how == autoAny || v.Kind == List || v.Kind == Object:
		return appendAuto(dst, &v), nil
	}
	text := v.Text
	if v.Kind == Number {
		text = string(appendDecimal(nil, text))
	}
	folded := Value{Kind: String, Text: t.folded(text)}
	if out, ok := t.strictly(dst, folded, args); ok && folded.Text != v.Text {
		return out, nil
	}
	return appendQuoted(dst, folded.Text), nil
}

// strictly reads a value by the first strict type that does not refuse it.
func (t autoType) strictly(dst []byte, v, args Value) ([]byte, bool) {
	for _, strict := range t.strict {
		if out, err := strict.Canon(dst, v, args); err == nil {
			return out, true
		}
	}
	return dst, false
}

// folded is a text without what does not tell values of the type apart.
func (t autoType) folded(text string) string {
	if t.how == autoID {
		for {
			next := unescaped(human(text))
			if next == text {
				return text
			}
			text = next
		}
	}
	text = soften(text)
	if head, _, ok := strings.Cut(text, ","); ok && t.place && trim(head) != "" {
		return soften(head)
	}
	return text
}

// blank reports whether a value says nothing. Field reads it as absent.
func (t autoType) blank(v *Value) bool {
	inner := t.unwrapped(*v)
	if t.members != nil && inner.Kind == Object {
		return len(t.picked(inner).Members) == 0
	}
	switch inner.Kind {
	case Null:
		return true
	case String:
		return !visible(inner.Text)
	case List:
		return !slices.ContainsFunc(inner.Items, func(item Value) bool { return !(autoType{}).blank(&item) })
	case Object:
		return !slices.ContainsFunc(inner.Members, func(m Member) bool { return !(autoType{}).blank(&m.Value) })
	}
	return false
}

// visible reports whether a text holds anything to be seen.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		f := foldRune(r)
		return f != dropped && f != ' ' && !unicode.IsSpace(f) && !unicode.IsControl(f)
	})
}

// unwrapped takes off what models wrap around a value: JSON (or Python) text of a list or an object, and a list around a single value.
func (t autoType) unwrapped(v Value) Value {
	if v.Kind == String && (t.how == autoAny || t.how >= autoList) {
		v = embedded(v)
	}
	if v.Kind == List && len(v.Items) == 1 && t.how != autoAny && t.how < autoList {
		return v.Items[0]
	}
	return v
}

// picked is an object of the members that count. One that has its default value is left out, as if nobody had written it.
func (t autoType) picked(v Value) Value {
	out := Value{Kind: Object}
	for _, m := range t.members {
		own := v.member(m.Name)
		if own == nil || (autoType{}).blank(own) || string(appendAuto(nil, own)) == string(appendAuto(nil, &m.Value)) {
			continue
		}
		out.Members = append(out.Members, Member{Name: m.Name, Value: *own})
	}
	return out
}

// siblings are the other list of pairs.
func (t autoType) siblings() []Path {
	if t.with == nil {
		return nil
	}
	return []Path{*t.with}
}

// pairs joins two lists item by item; the pairs have no order. Lists of different lengths are no pairs and are kept as they are.
func (t autoType) pairs(dst []byte, items, others []Value, args Value) ([]byte, error) {
	ordered := autoType{how: autoList, of: t.of}
	if len(items) != len(others) {
		dst, err := ordered.list(append(dst, '['), items, args)
		if err != nil {
			return nil, err
		}
		if dst, err = ordered.list(append(dst, ','), others, args); err != nil {
			return nil, err
		}
		return append(dst, ']'), nil
	}
	texts := make([][]byte, len(items))
	for i := range items {
		text, err := ordered.list(nil, []Value{items[i], others[i]}, args)
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	slices.SortFunc(texts, bytes.Compare)
	return append(append(append(dst, '['), bytes.Join(texts, []byte{','})...), ']'), nil
}

func (t autoType) list(dst []byte, items []Value, args Value) ([]byte, error) {
	var texts [][]byte
	for _, item := range items {
		text, err := t.of.Canon(nil, item, args)
		if err != nil {
			return nil, err
		}
		if string(text) != "null" {
			texts = append(texts, text)
		}
	}
	if t.how != autoList {
		slices.SortFunc(texts, bytes.Compare)
	}
	if t.how == autoSet {
		texts = slices.CompactFunc(texts, bytes.Equal)
	}
	if len(texts) == 0 {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	dst = append(dst, bytes.Join(texts, []byte{','})...)
	return append(dst, ']'), nil
}

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

// hostType reads a URL whose scheme was left out as one of http.
type hostType struct{}

func (hostType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	if strings.Contains(v.Text, "://") || !strings.Contains(v.Text, ".") {
		return nil, &Error{Reason: "is not a host", Remedy: "write it as https://example.com"}
	}
	v.Text = "http://" + trim(v.Text)
	return urlType{}.Canon(dst, v, args)
}

// restType reads the arguments that a schema does not name.
type restType struct{ known map[string]bool }

func (t restType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	return appendAuto(dst, t.unknown(&v)), nil
}

func (t restType) blank(v *Value) bool { return (autoType{}).blank(t.unknown(v)) }

func (t restType) unknown(v *Value) *Value {
	rest := &Value{Kind: Object}
	for _, m := range v.Members {
		if !t.known[m.Name] {
			rest.Members = append(rest.Members, m)
		}
	}
	return rest
}
