package canonicalize

import (
	"bytes"
	"strings"
)

// Uses reports whether a typed field of the spec reads the member of that name, or something below it.
func (s *Spec) Uses(name string) bool {
	if s.Each != nil && s.Each.first() == name {
		return true
	}
	for _, fields := range [][]*Field{s.Key, s.Match, s.EntityBy, s.Lock, {s.Newer}} {
		for _, f := range fields {
			if f == nil {
				continue
			}
			for _, paths := range [][]Path{f.Args(), f.Siblings()} {
				for _, p := range paths {
					if p.text == name || p.first() == name || p.whole() {
						return true
					}
				}
			}
		}
	}
	return s.MatchAll
}

// whole reports whether the path leads to all arguments, as that of the members that a schema does not name does.
func (p Path) whole() bool { return p.tokens != nil && len(p.tokens) == 0 }

// first is the member at which the path begins.
func (p Path) first() string {
	if p.tokens != nil {
		if len(p.tokens) == 0 {
			return "" // the whole
		}
		return p.tokens[0]
	}
	name, _, _ := strings.Cut(p.text, ".")
	return name
}

// Same reports whether two values are one JSON value: member order and the spelling of numbers do not count.
func (v Value) Same(w Value) bool { return bytes.Equal(v.AppendCanonical(nil), w.AppendCanonical(nil)) }
