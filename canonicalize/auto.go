package canonicalize

import (
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
	autoAny   autoHow = iota // canonical JSON with folded texts, blank members left out
	autoText                 // folded text
	autoID                   // one width, no outer spaces, its own case
	autoList                 // in order
	autoSet                  // order and repeats do not count
	autoBag                  // order does not count, repeats do
	autoPairs                // a bag of pairs, each with the item at the same place of another list
)

var autoHows = map[string]autoHow{"list": autoList, "set": autoSet, "bag": autoBag, "pairs": autoPairs}

func newAuto(params []string, d Defaults) (Type, error) {
	t, err := makeAuto(params, d)
	if err != nil {
		return nil, err
	}
	return *t, nil
}

// makeAuto reads the words between the brackets: a reading, and what it takes.
func makeAuto(params []string, d Defaults) (*autoType, error) {
	if len(params) == 0 {
		return &autoType{}, nil
	}
	name, rest := params[0], params[1:]
	switch name {
	case "meaning":
		return autoMeaning(rest, d)
	case "object":
		return autoObject(rest)
	case "list", "set", "bag", "pairs":
		return autoLists(name, rest, d)
	}
	return strictAuto(name, rest, d)
}

// autoMeaning makes a reading whose values are also compared as free text.
func autoMeaning(params []string, d Defaults) (*autoType, error) {
	if len(params) == 0 {
		return &autoType{how: autoText, compared: true}, nil
	}
	t, err := makeAuto(params, d)
	if err != nil {
		return nil, err
	}
	if t.how == autoAny || t.how == autoPairs || t.compared {
		return nil, &Error{Reason: "compares a structure as free text", Remedy: "write auto(meaning), or auto(meaning|date)"}
	}
	t.compared = true
	return t, nil
}

// autoLists makes the readings of lists; what follows the word is the reading of the items.
func autoLists(name string, params []string, d Defaults) (*autoType, error) {
	t := &autoType{how: autoHows[name]}
	if t.how == autoPairs {
		if len(params) == 0 {
			return nil, &Error{Reason: "names no other list", Remedy: "write auto(pairs|new_item_ids)"}
		}
		with, err := ParsePath(params[0])
		if err != nil {
			return nil, err
		}
		t.with, params = &with, params[1:]
	}
	of, err := makeAuto(params, d)
	if err != nil {
		return nil, err
	}
	if of.compared {
		return nil, &Error{Reason: "has a list of `meaning`, which cannot be compared", Remedy: "write auto(meaning|" + name + "|text)"}
	}
	t.of = of
	return t, nil
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
	case "text", "enum":
	case "id":
		t.how = autoID
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
