package policy

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reader takes one file's YAML apart and collects what is wrong with it.
type reader struct {
	src   Source // Text is nil where only nodes are at hand
	env   *Env
	found *[]Finding
}

// pair is one member of a mapping.
type pair struct {
	name       string
	key, value *yaml.Node
}

// fault notes what is wrong with n and what to do about it.
func (r *reader) fault(n *yaml.Node, remedy, format string, args ...any) {
	r.faultAt(n.Line, n.Column, remedy, format, args...)
}

func (r *reader) faultAt(line, col int, remedy, format string, args ...any) {
	*r.found = append(*r.found, Finding{r.src.Name, line, col, fmt.Sprintf(format, args...), remedy})
}

// mark is the place of n.
func (r *reader) mark(n *yaml.Node) mark { return mark{r.src.Name, n.Line, n.Column} }

// strict refuses, in the whole tree below n, what YAML offers and a policy does not need: tags, merges, duplicate and composite keys,
// aliases to oneself. It puts the target in place of every alias and reports whether the tree may be read at all.
func (r *reader) strict(n *yaml.Node) bool {
	return r.strictBelow(n, map[*yaml.Node]bool{})
}

// strictBelow: seen holds false for a node that is being looked at, true for one that is done.
func (r *reader) strictBelow(n *yaml.Node, seen map[*yaml.Node]bool) bool {
	if done, known := seen[n]; known {
		if !done {
			r.fault(n, "write the value out", "the anchor &%s holds an alias to itself", n.Anchor)
		}
		return done
	}
	seen[n] = false
	if n.Style&yaml.TaggedStyle != 0 {
		remedy := quoteIt
		if strings.HasPrefix(n.Tag, "!!") {
			remedy = "leave the tag out: texts are read as they are written"
		}
		r.fault(n, remedy, "the YAML tag %s", n.Tag)
	}
	ok := true
	if n.Kind == yaml.MappingNode {
		r.strictKeys(n)
	}
	for i, child := range n.Content {
		if child.Kind == yaml.AliasNode {
			n.Content[i] = child.Alias
		}
		ok = r.strictBelow(n.Content[i], seen) && ok
	}
	seen[n] = true
	return ok
}

func (r *reader) strictKeys(n *yaml.Node) {
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch was := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.fault(key, "names are plain words", "a name that is a list, a map or an alias")
		case key.ShortTag() == "!!merge":
			r.fault(key, "write the members out", "merging with << is not read")
		case was != nil:
			r.fault(key, "keep one of them", "%q stands here a second time; the first is in line %d", key.Value, was.Line)
		default:
			first[key.Value] = key
		}
	}
}

// pairs are the members of a mapping; what is none is a fault, and so is an empty one.
func (r *reader) pairs(n *yaml.Node, what, example string) []pair {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.fault(n, "write it as "+example, "%s must be a map, not %s", what, kindOf(n))
		return nil
	}
	found := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode { // else it has been refused
			found = append(found, pair{n.Content[i].Value, n.Content[i], n.Content[i+1]})
		}
	}
	return found
}

// members are the members of a mapping by name. A name that is not among known is a fault.
func (r *reader) members(n *yaml.Node, what, example string, known ...string) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for _, p := range r.pairs(n, what, example) {
		if !slices.Contains(known, p.name) {
			r.fault(p.key, DidYouMean(p.name, known), "%s has no member %q", what, p.name)
			continue
		}
		found[p.name] = p.value
	}
	return found
}

// text is the text of a scalar as it is written, so that 007 stays 007. Null is no text.
func (r *reader) text(n *yaml.Node, what, example string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || strings.TrimSpace(n.Value) == "" {
		r.fault(n, "write it as "+example, "%s must be a text, not %s", what, kindOf(n))
		return "", false
	}
	return n.Value, true
}

// word is a scalar that is one of words; def where it is none of them.
func (r *reader) word(n *yaml.Node, what, def string, words ...string) string {
	s, ok := r.text(n, what, oneOf(words))
	if !ok {
		return def
	}
	if !slices.Contains(words, s) {
		r.fault(n, DidYouMean(s, words), "%s cannot be %q", what, s)
		return def
	}
	return s
}

// texts are the texts of a list, without repetition.
func (r *reader) texts(n *yaml.Node, what, example string) (texts []string, nodes []*yaml.Node) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.fault(n, "write it as "+example, "%s must be a list, not %s", what, kindOf(n))
		return nil, nil
	}
	for _, item := range n.Content {
		s, ok := r.text(item, "an element of "+what, example)
		switch {
		case !ok:
		case slices.Contains(texts, s):
			r.fault(item, "keep one of them", "%s names %q twice", what, s)
		default:
			texts, nodes = append(texts, s), append(nodes, item)
		}
	}
	return texts, nodes
}

// boolean is true or false, and nothing else that YAML 1.1 takes for one.
func (r *reader) boolean(n *yaml.Node, what string) bool {
	return r.word(n, what, "false", "true", "false") == "true"
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		return "an empty map"
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return "an empty list"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null" || strings.TrimSpace(n.Value) == "":
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}
