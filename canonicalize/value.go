package canonicalize

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the JSON kind of a Value.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// String is the kind's name with its article, for messages: "a number".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Value is one JSON value as it was written: numbers keep their digits, members their order. The zero Value is null. A Value is not
// changed once made; it is safe for concurrent use.
type Value struct {
	Kind    Kind
	Text    string // String: the decoded text. Number: its literal. Bool: "true" or "false"
	Items   []Value
	Members []Member

	raw string // the JSON text it was read from; "" where it was made otherwise
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// Member finds a member of an object by its exact name.
func (v Value) Member(name string) (Value, bool) {
	if m := v.member(name); m != nil {
		return *m, true
	}
	return Value{}, false
}

// member is Member without the copy; nil where there is none.
func (v *Value) member(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}

// Raw is the JSON text the value was read from, as it came; for a value that was made otherwise, its compact JSON.
func (v Value) Raw() string {
	if v.raw != "" {
		return v.raw
	}
	return string(v.AppendJSON(nil))
}

// AppendJSON appends the value as compact JSON: members in their order, numbers with their own digits.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.Kind {
	case Bool, Number:
		return append(dst, v.Text...)
	case String:
		return appendQuoted(dst, v.Text)
	case List:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Items[i].AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, v.Members[i].Name), ':')
			dst = v.Members[i].Value.AppendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// AppendCanonical appends the value as canonical JSON: members sorted by the bytes of their names, numbers as exact decimals in one
// spelling, strings with the fewest escapes. Equal values have equal text and different values different text. It differs from RFC 8785
// in its numbers, which that standard rounds to a float.
func (v Value) AppendCanonical(dst []byte) []byte { return appendCanonical(dst, &v) }

func appendCanonical(dst []byte, v *Value) []byte {
	switch v.Kind {
	case Number:
		return appendDecimal(dst, v.Text)
	case List:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, &v.Items[i])
		}
		return append(dst, ']')
	case Object:
		var few [32]int
		dst = append(dst, '{')
		for n, i := range sortedMembers(few[:0], v.Members) {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, v.Members[i].Name), ':')
			dst = appendCanonical(dst, &v.Members[i].Value)
		}
		return append(dst, '}')
	}
	return v.AppendJSON(dst)
}

// appendQuoted appends s as a JSON string. Only what JSON demands is escaped, so that equal texts have one spelling.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// plainZeros is how many zeros a canonical number may gain over its digits before it is written with an exponent, so that a few bytes
// of input never grow to megabytes.
const plainZeros = 30

// appendDecimal appends a JSON number literal as an exact decimal in its one spelling: 100 for 1E+2 and 100.000, 0 for -0.0.
func appendDecimal(dst []byte, literal string) []byte {
	s, negative := literal, false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	start := len(dst)
	if negative {
		dst = append(dst, '-')
	}
	first, exponent, point := len(dst), 0, false
scan:
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.':
			point = true
		case c == 'e' || c == 'E':
			e, _ := strconv.Atoi(s[i+1:])
			exponent += e
			break scan
		default:
			if point {
				exponent--
			}
			if c != '0' || len(dst) > first {
				dst = append(dst, c)
			}
		}
	}
	for len(dst) > first && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
		exponent++
	}
	if len(dst) == first {
		return append(dst[:start], '0')
	}
	return appendScaled(dst, first, exponent)
}

// appendScaled finishes a number whose digits are dst[first:], without zeros at either end, times ten to the exponent.
func appendScaled(dst []byte, first, exponent int) []byte {
	point := len(dst) - first + exponent // digits before the decimal point
	switch {
	case exponent > plainZeros || point < -plainZeros:
		return strconv.AppendInt(append(dst, 'e'), int64(exponent), 10)
	case exponent >= 0:
		for range exponent {
			dst = append(dst, '0')
		}
		return dst
	}
	lead := 1 // what goes in front of the digits after the point: the point, or "0.00"
	at := first + point
	if point <= 0 {
		lead, at = 2-point, first
	}
	for range lead {
		dst = append(dst, '0')
	}
	copy(dst[at+lead:], dst[at:])
	for i := range lead {
		dst[at+i] = '0'
	}
	if point > 0 {
		dst[at] = '.'
	} else {
		dst[at+1] = '.'
	}
	return dst
}

// sortedMembers appends to order the indices of members in the order of their names.
func sortedMembers(order []int, members []Member) []int {
	if len(members) > cap(order) {
		for i := range members {
			order = append(order, i)
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(members[a].Name, members[b].Name) })
		return order
	}
	for i := range members { // an insertion sort: objects are small and often sorted already
		order = append(order, i)
		for j := i; j > 0 && members[order[j]].Name < members[order[j-1]].Name; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return order
}
