package policy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Route is an HTTP route that an operation guards: method ("" or "*" for any), upstream, and path pattern below the upstream.
type Route struct {
	Method, Upstream, Path string
}

// ParseRoute reads "METHOD /upstream/path/{param}". ANY and * stand for every method.
func ParseRoute(s string) (Route, error) {
	method, rest, ok := strings.Cut(strings.TrimSpace(s), " ")
	rest = strings.TrimSpace(rest)
	if !ok || method == "" || !strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, " \t?#") {
		return Route{}, fmt.Errorf("%q is not a route like POST /billing/invoices/{id}", s)
	}
	if strings.ToUpper(method) != method || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-*") != "" {
		return Route{}, fmt.Errorf("%q is not a method: write it in capitals, or ANY", method)
	}
	if method == "ANY" {
		method = "*"
	}
	upstream, path, _ := strings.Cut(rest[1:], "/")
	if upstream == "" || strings.ContainsAny(upstream, "{}%") {
		return Route{}, fmt.Errorf("the route %q must begin with the name of an upstream", s)
	}
	if _, err := ParsePattern("/" + path); err != nil {
		return Route{}, err
	}
	return Route{method, upstream, "/" + path}, nil
}

// String is what ParseRoute reads.
func (r Route) String() string { return r.Method + " /" + r.Upstream + r.Path }

func (r Route) anyMethod() bool { return r.Method == "" || r.Method == "*" }

// Pattern is a path with parameters: "/customers/{id}/invoices", "/orders/{id}:cancel". A parameter stands for one segment or a part of
// one, at least one character long.
type Pattern struct {
	text     string
	segments []segment
}

// segment is a literal (name is ""), or a parameter between two literals.
type segment struct{ prefix, name, suffix string }

// ParsePattern reads a path with {param} in its segments, at most one in each. Literals are read as URLs are: %20 is a space.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	literal, err := splitPath(s, false)
	if err != nil {
		return p, err
	}
	seen := map[string]bool{}
	for _, text := range literal {
		before, rest, has := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case !has && !strings.Contains(text, "}"):
			p.segments = append(p.segments, segment{prefix: text})
			continue
		case !closed || name == "" || strings.ContainsAny(before+name+after, "{}"):
			return p, fmt.Errorf("%q in %s is not a parameter like {id}, one a segment", text, s)
		case seen[name]:
			return p, fmt.Errorf("%s has two parameters {%s}", s, name)
		}
		seen[name] = true
		p.segments = append(p.segments, segment{before, name, after})
	}
	return p, nil
}

// String is the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Params are the names of the parameters, in order.
func (p Pattern) Params() []string {
	var names []string
	for _, s := range p.segments {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	return names
}

// Match reports whether the pattern stands for an escaped path as it came, and with which parameters, decoded. A path can be read in
// two ways, and a guard must not be passed by either: as RFC 3986 says (escapes decoded within a segment, dot segments resolved), and as
// lenient servers do (%2F and backslash are slashes, ;parameters are dropped). Double and trailing slashes never matter. Where both
// readings match, the parameters are those of the first. A path that is no path matches nothing; MatchRoute refuses it.
func (p Pattern) Match(path string) (params map[string]string, ok bool) {
	readings, err := readPath(path)
	if err != nil {
		return nil, false
	}
	read, ok := p.match(readings)
	return p.params(read), ok
}

// match is the first reading of a path that the pattern stands for.
func (p Pattern) match(readings [][]string) (path []string, ok bool) {
	for _, path := range readings {
		if p.matchSegments(path) {
			return path, true
		}
	}
	return nil, false
}

func (p Pattern) matchSegments(path []string) bool {
	if len(path) != len(p.segments) {
		return false
	}
	for i, s := range p.segments {
		if s.name == "" && path[i] != s.prefix {
			return false
		}
		if s.name != "" {
			if _, ok := s.value(path[i]); !ok {
				return false
			}
		}
	}
	return true
}

// params are what the parameters stand for in a path that matches; nil without any.
func (p Pattern) params(path []string) map[string]string {
	var params map[string]string
	for i := range path {
		if s := &p.segments[i]; s.name != "" {
			if params == nil {
				params = make(map[string]string, 2)
			}
			params[s.name], _ = s.value(path[i])
		}
	}
	return params
}

// value is what a parameter stands for in the text of a segment.
func (s segment) value(text string) (string, bool) {
	if len(text) <= len(s.prefix)+len(s.suffix) || !strings.HasPrefix(text, s.prefix) || !strings.HasSuffix(text, s.suffix) {
		return "", false
	}
	return text[len(s.prefix) : len(text)-len(s.suffix)], true
}

// overlaps reports whether some path matches both patterns.
func (p Pattern) overlaps(q Pattern) bool {
	if len(p.segments) != len(q.segments) {
		return false
	}
	for i := range p.segments {
		if !p.segments[i].overlaps(q.segments[i]) {
			return false
		}
	}
	return true
}

func (s segment) overlaps(t segment) bool {
	switch {
	case s.name == "" && t.name == "":
		return s.prefix == t.prefix
	case s.name == "":
		_, ok := t.value(s.prefix)
		return ok
	case t.name == "":
		return t.overlaps(s)
	}
	return (strings.HasPrefix(s.prefix, t.prefix) || strings.HasPrefix(t.prefix, s.prefix)) &&
		(strings.HasSuffix(s.suffix, t.suffix) || strings.HasSuffix(t.suffix, s.suffix))
}

// covers reports whether every path that q matches is matched by p.
func (p Pattern) covers(q Pattern) bool {
	if len(p.segments) != len(q.segments) {
		return false
	}
	for i, s := range p.segments {
		t := q.segments[i]
		if s.name == "" && (t.name != "" || s.prefix != t.prefix) {
			return false
		}
		if s.name != "" && t.name == "" {
			if _, ok := s.value(t.prefix); !ok {
				return false
			}
		}
		if s.name != "" && t.name != "" && !(strings.HasPrefix(t.prefix, s.prefix) && strings.HasSuffix(t.suffix, s.suffix)) {
			return false
		}
	}
	return true
}

// readPath gives the readings of an escaped path: one, or two where they differ.
func readPath(path string) ([][]string, error) {
	strict, err := splitPath(path, false)
	if err != nil {
		return nil, err
	}
	if !strings.ContainsAny(path, `%\;`) && !strings.Contains(path, "//") {
		return [][]string{strict}, nil
	}
	lenient, err := splitPath(path, true)
	if err != nil {
		return nil, err
	}
	return [][]string{strict, lenient}, nil
}

// splitPath gives the decoded segments of an escaped path, dot segments resolved and empty ones dropped: lenient servers drop the empty
// ones first, so that /a//../b is /b for them and /a/b for the others.
func splitPath(path string, lenient bool) ([]string, error) {
	decoded := path
	var err error
	if lenient {
		if decoded, err = url.PathUnescape(path); err != nil {
			return nil, notAPath(path)
		}
		decoded = strings.ReplaceAll(decoded, `\`, "/")
	}
	segments := make([]string, 0, 8)
	for rest, more := decoded, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		if lenient {
			part, _, _ = strings.Cut(part, ";")
		} else if strings.Contains(part, "%") {
			if part, err = url.PathUnescape(part); err != nil {
				return nil, notAPath(path)
			}
		}
		switch {
		case part == "" && lenient, part == ".":
		case part == "..":
			segments = segments[:max(0, len(segments)-1)]
		default:
			if !utf8.ValidString(part) || strings.ContainsFunc(part, func(c rune) bool { return c < ' ' || c == 0x7f }) {
				return nil, notAPath(path)
			}
			segments = append(segments, part)
		}
	}
	return slices.DeleteFunc(segments, func(s string) bool { return s == "" }), nil
}

func notAPath(path string) error {
	return fmt.Errorf("%.200q is not a path in UTF-8 with whole percent escapes", path)
}
