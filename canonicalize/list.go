package canonicalize

import (
	"bytes"
	"slices"
	"strconv"
)

// listType reads lists of values of one type, also where they come as a string that holds a JSON array.
type listType struct {
	of  Type
	set bool // order and repeats do not count
}

func (t listType) siblings() []Path {
	if s, ok := t.of.(sibling); ok {
		return s.siblings()
	}
	return nil
}

func (t listType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	if v.Kind == String {
		inner, err := Parse([]byte(v.Text))
		if err != nil || inner.Kind != List {
			return nil, &Error{Reason: "is a string that holds no JSON array", Remedy: `send a list, ["a", "b"]`}
		}
		v = inner
	}
	if v.Kind != List {
		return nil, &Error{Reason: "is " + v.Kind.String() + ", not a list", Remedy: `send a list, ["a", "b"]`}
	}
	if t.set {
		return t.canonSet(dst, v.Items, args)
	}
	dst = append(dst, '[')
	for i := range v.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		out, err := t.of.Canon(dst, v.Items[i], args)
		if err != nil {
			return nil, within(asError(err), strconv.Itoa(i))
		}
		dst = out
	}
	return append(dst, ']'), nil
}

// canonSet writes each item once, sorted by the bytes of its canonical text.
func (t listType) canonSet(dst []byte, items []Value, args Value) ([]byte, error) {
	texts := make([][]byte, len(items))
	buf := make([]byte, 0, 32*len(items))
	for i := range items {
		out, err := t.of.Canon(buf, items[i], args)
		if err != nil {
			return nil, within(asError(err), strconv.Itoa(i))
		}
		texts[i] = out[len(buf):]
		buf = out
	}
	slices.SortFunc(texts, bytes.Compare)
	texts = slices.CompactFunc(texts, bytes.Equal)
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text...)
	}
	return append(dst, ']'), nil
}

// jsonType reads any JSON value: the order of members and the spelling of numbers do not count.
type jsonType struct{}

func (jsonType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	return appendCanonical(dst, &v), nil
}

// exactType takes a value as it was sent: strings character by character, numbers digit by digit, members in their order.
type exactType struct{}

func (exactType) Canon(dst []byte, v Value, _ Value) ([]byte, error) { return v.AppendJSON(dst), nil }
