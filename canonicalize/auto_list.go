package canonicalize

import (
	"bytes"
	"slices"
)

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
