package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
)

// index finds the operations that may guard a call without looking at all of them.
type index struct {
	tools  map[string][]*Operation
	routes map[routeKey][]guarded
}

// routeKey: patterns match paths of their own length only.
type routeKey struct {
	upstream string
	segments int
}

type guarded struct {
	route     Route
	pattern   Pattern
	operation *Operation
}

// newIndex indexes operations by tool and by route. A route also guards the tools whose own route it covers: calling by the tool's name
// is no way around it.
func newIndex(operations []*Operation, toolRoutes map[string]Route) index {
	ix := index{map[string][]*Operation{}, map[routeKey][]guarded{}}
	for _, o := range operations {
		for _, name := range o.Tools {
			ix.tools[name] = append(ix.tools[name], o)
		}
		for _, route := range o.Routes {
			pattern, err := ParsePattern(route.Path)
			if err != nil {
				continue // the route has been refused already
			}
			key := routeKey{route.Upstream, len(pattern.segments)}
			ix.routes[key] = append(ix.routes[key], guarded{route, pattern, o})
			for name, own := range toolRoutes {
				p, err := ParsePattern(own.Path)
				if err != nil || own.Upstream != route.Upstream || !sameMethod(route, own.Method) || !pattern.covers(p) {
					continue
				}
				if !slices.Contains(ix.tools[name], o) {
					ix.tools[name] = append(ix.tools[name], o)
				}
			}
		}
	}
	return ix
}

func sameMethod(r Route, method string) bool { return r.anyMethod() || r.Method == method }

// MatchRoute finds the operations that guard an HTTP request, `when` not yet asked, and what their parameters stand for. path is the
// escaped path below the upstream as it came. A path that cannot be read is a *canonicalize.Error: the call is rejected.
func (p *Policy) MatchRoute(method, upstream, path string) ([]*Operation, map[string]string, error) {
	var params map[string]string
	found, err := p.routed(method, upstream, path, func(pattern Pattern, segments []string) error {
		values := pattern.params(segments)
		if params == nil {
			params = values
			return nil
		}
		for name, v := range values {
			if was, ok := params[name]; ok && was != v {
				return &canonicalize.Error{Reason: fmt.Sprintf("the path parameter %s reads as %q and as %q", name, was, v),
					Remedy: "give the parameters of overlapping routes names of their own"}
			}
		}
		maps.Copy(params, values)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return found, params, nil
}

// routed is MatchRoute without the parameters; took, where it is not nil, is told which pattern read which segments.
func (p *Policy) routed(method, upstream, path string, took func(pattern Pattern, segments []string) error) ([]*Operation, error) {
	readings, err := readPath(path)
	if err != nil {
		return nil, &canonicalize.Error{Reason: err.Error(), Remedy: "send a path in UTF-8, with a literal % written as %25"}
	}
	var found []*Operation
	seen := -1
	for _, segments := range readings {
		if len(segments) == seen {
			continue // both readings look among the same patterns
		}
		seen = len(segments)
		for _, g := range p.index.routes[routeKey{upstream, seen}] {
			read, ok := g.pattern.match(readings)
			if !ok || !sameMethod(g.route, method) || slices.Contains(found, g.operation) {
				continue
			}
			found = append(found, g.operation)
			if took == nil {
				continue
			}
			if err := took(g.pattern, read); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// Candidates are the operations that may guard a call, by its tool's name and by its HTTP request where it has one, `when` not yet asked.
// The error is MatchRoute's.
func (p *Policy) Candidates(call *agentgw.Call) ([]*Operation, error) {
	var candidates []*Operation
	if call.Tool != "" {
		candidates = p.index.tools[call.Tool]
	}
	if call.Request == nil {
		return candidates, nil
	}
	routed, err := p.routed(call.Request.Method, call.Request.Upstream, call.Request.Path, nil)
	return union(candidates, routed), err
}

// Match finds the operation that guards a call; nil where none does.
//
// Operations whose `when` is true win over those without one. Two that are left, a `when` that cannot be decided, and a path that cannot
// be read are a *canonicalize.Error that names the operations: the call is rejected, for "no match" would be a way past the guard.
func (p *Policy) Match(call *agentgw.Call, args canonicalize.Value) (*Operation, error) {
	candidates, err := p.Candidates(call)
	if err != nil {
		return nil, err
	}
	if len(candidates) == 1 && candidates[0].when == nil {
		return candidates[0], nil
	}
	var plain, chosen []*Operation
	sees := evaluation{call: call, args: args}
	for _, o := range candidates {
		if o.when == nil {
			plain = append(plain, o)
			continue
		}
		holds, err := o.when.holds(sees.of(o))
		if err != nil {
			return nil, &canonicalize.Error{
				Reason: fmt.Sprintf("it cannot be decided whether operation %s guards this call: %v", o.Name, err),
				Remedy: "send what the condition looks at",
			}
		}
		if holds {
			chosen = append(chosen, o)
		}
	}
	if len(chosen) == 0 {
		chosen = plain
	}
	switch len(chosen) {
	case 0:
		return nil, nil
	case 1:
		return chosen[0], nil
	}
	return nil, &canonicalize.Error{
		Reason: "more than one operation guards this call: " + names(chosen),
		Remedy: "their policies must tell them apart with when",
	}
}

// union appends what is not there yet, without writing into a, which belongs to the index.
func union(a, b []*Operation) []*Operation {
	if len(a) == 0 {
		return b
	}
	all := slices.Clip(a)
	for _, o := range b {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

func names(operations []*Operation) string {
	said := make([]string, len(operations))
	for i, o := range operations {
		said[i] = o.Name
	}
	return strings.Join(said, " and ")
}
