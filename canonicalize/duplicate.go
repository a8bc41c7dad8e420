package canonicalize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// duplicate finds members of one object that some parser takes for the same one: encoding/json, for one, matches names without case.
func duplicate(members []Member) *Error {
	if len(members) > fewMembers {
		return duplicateOfMany(members)
	}
	for i := range members {
		for j := range i {
			if a, b := members[i].Name, members[j].Name; mayFold(a, b) && strings.EqualFold(a, b) {
				return occursTwice(b, a)
			}
		}
	}
	return nil
}

// mayFold is a quick no: two ASCII letters that differ begin names that differ.
func mayFold(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	return a[0] >= utf8.RuneSelf || b[0] >= utf8.RuneSelf || a[0]|0x20 == b[0]|0x20
}

func duplicateOfMany(members []Member) *Error {
	seen := make(map[string]string, len(members))
	for _, m := range members {
		folded := foldName(m.Name)
		if first, ok := seen[folded]; ok {
			return occursTwice(first, m.Name)
		}
		seen[folded] = m.Name
	}
	return nil
}

// foldName maps names that strings.EqualFold takes for equal to one text.
func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

func occursTwice(first, second string) *Error {
	e := &Error{Reason: "the member occurs twice", Remedy: "send each member once"}
	if first != second {
		e.Reason = "the member occurs twice, also as " + strconv.Quote(first)
		e.Remedy = "send one of the two: names that differ only in case are one member to some readers"
	}
	return within(e, second)
}
