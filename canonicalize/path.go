package canonicalize

import (
	"strconv"
	"strings"
)

// Path names a place in the arguments: a member's name ("amount"), a dotted path ("customer.id", "lines.0.sku"), or a JSON Pointer
// (RFC 6901, "/customer/id"). Where an object has a member whose name itself holds the dots, that member is meant.
type Path struct {
	text   string
	tokens []string // of a JSON Pointer; nil for names and dotted paths
	dotted bool
}

// ParsePath reads a path as a policy writes it.
func ParsePath(s string) (Path, error) {
	bad := func(reason string) (Path, error) {
		return Path{}, &Error{Reason: strconv.Quote(s) + " is not a path: " + reason,
			Remedy: "write a name, a dotted path (customer.id) or a JSON Pointer (/customer/id)"}
	}
	if s == "" {
		return bad("it is empty")
	}
	p := Path{text: s}
	if s[0] != '/' {
		p.dotted = strings.Contains(s, ".")
		if strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
			return bad("a name is missing beside a dot")
		}
		return p, nil
	}
	for token := range strings.SplitSeq(s[1:], "/") {
		name, ok := unescapeToken(token)
		if !ok {
			return bad("after ~ comes 0 (for ~) or 1 (for /)")
		}
		p.tokens = append(p.tokens, name)
	}
	return p, nil
}

// String is the path as it was written.
func (p Path) String() string { return p.text }

// Root is the name of the argument the path begins in.
func (p Path) Root() string {
	if len(p.tokens) > 0 {
		return p.tokens[0]
	}
	root, _, _ := strings.Cut(p.text, ".")
	return root
}

// Find returns the value at the path, and false where there is none. A value that is null is found.
func (p Path) Find(v Value) (Value, bool) {
	if found := p.find(&v, nil); found != nil {
		return *found, true
	}
	return Value{}, false
}

// find is Find without the copy. It appends to at, where given, the names and indices of the steps it took.
func (p *Path) find(v *Value, at *[]string) *Value {
	if p.tokens == nil {
		if !p.dotted && at == nil {
			return v.member(p.text)
		}
		return findDotted(v, p.text, at)
	}
	for _, token := range p.tokens {
		if v = v.step(token); v == nil {
			return nil
		}
		if at != nil {
			*at = append(*at, token)
		}
	}
	return v
}

// findDotted tries the longest literal name first, so that a member "a.b" wins over b in a.
func findDotted(v *Value, rest string, at *[]string) *Value {
	for end := len(rest); end > 0; end = strings.LastIndexByte(rest[:end], '.') {
		next := v.step(rest[:end])
		if next == nil {
			continue
		}
		var taken int
		if at != nil {
			taken = len(*at)
			*at = append(*at, rest[:end])
		}
		if end == len(rest) {
			return next
		}
		if found := findDotted(next, rest[end+1:], at); found != nil {
			return found
		}
		if at != nil {
			*at = (*at)[:taken]
		}
	}
	return nil
}

// step goes from an object to a member, or from a list to an item by its index.
func (v *Value) step(token string) *Value {
	switch v.Kind {
	case Object:
		return v.member(token)
	case List:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.Items) && strconv.Itoa(i) == token {
			return &v.Items[i]
		}
	}
	return nil
}

// without returns v with the value at the steps taken out. Objects on the way stay, even when nothing is left in them.
func (v Value) without(steps []string) Value {
	v.raw = ""
	switch v.Kind {
	case Object:
		members := make([]Member, 0, len(v.Members))
		for _, m := range v.Members {
			if m.Name != steps[0] {
				members = append(members, m)
			} else if len(steps) > 1 {
				members = append(members, Member{Name: m.Name, Value: m.Value.without(steps[1:])})
			}
		}
		v.Members = members
	case List:
		items := make([]Value, len(v.Items))
		for i, item := range v.Items {
			switch {
			case strconv.Itoa(i) != steps[0]:
				items[i] = item
			case len(steps) > 1:
				items[i] = item.without(steps[1:])
			default:
				items[i] = Value{} // null keeps the places of the others
			}
		}
		v.Items = items
	}
	return v
}

// pointer is the place that the path means in an error: a JSON Pointer.
func (p Path) pointer() string {
	if p.tokens != nil {
		return p.text
	}
	if !p.dotted {
		return "/" + escapeToken(p.text)
	}
	return "/" + strings.ReplaceAll(escapeToken(p.text), ".", "/")
}

func escapeToken(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

func unescapeToken(s string) (string, bool) {
	bare := strings.ReplaceAll(strings.ReplaceAll(s, "~0", ""), "~1", "")
	if strings.Contains(bare, "~") {
		return "", false
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~"), true
}
