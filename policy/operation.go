package policy

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"agentgw"
	"agentgw/canonicalize"
)

// Defaults of a rule that are no zero values.
const (
	defaultTTL       = 24 * time.Hour
	defaultLease     = time.Minute
	defaultMaxAnswer = 4 << 20
)

// operationReader reads one operation.
type operationReader struct {
	*reader
	op       *Operation
	key      *yaml.Node            // its name
	nodes    map[string]*yaml.Node // its members
	entities map[string]*EntityType
	known    []string // entities, in order
	tools    []*yaml.Node
	routes   []*yaml.Node
}

// operation reads the members in the order of their table, so that expressions come when all fields are known.
func (r *reader) operation(p pair, entities map[string]*EntityType, known []string) *operationReader {
	o := &operationReader{reader: r, key: p.key, entities: entities, known: known}
	o.op = &Operation{Place: r.mark(p.key).String(), Rule: agentgw.Rule{
		Name: p.name, Pattern: agentgw.Once, TTL: defaultTTL, Lease: defaultLease, Repeat: agentgw.RepeatToken,
		IdempotencyKey: agentgw.KeyCheck, Missing: agentgw.MissingReject, OnIndeterminate: agentgw.DoubtBlock,
		Scope: agentgw.ScopeTenant, Keep: agentgw.KeepAnswer, Durability: agentgw.DurabilityLocal, MaxAnswer: defaultMaxAnswer,
	}}
	o.op.marks = map[string]mark{"": r.mark(p.key)}
	o.nodes = r.members(p.value, "operation "+p.name, "{tools: [create_invoice], key: {order: id}}", memberNames()...)
	if n := o.nodes["pattern"]; n != nil {
		o.op.Pattern = agentgw.Pattern(r.word(n, "pattern", string(agentgw.Once), patternWords...))
	}
	for _, m := range members {
		n := o.nodes[m.name]
		if n != nil {
			o.op.marks[m.name] = r.mark(n)
		}
		switch {
		case n == nil:
		case m.read == nil:
			r.fault(n, "leave it out", "%s is not yet supported", m.name)
		case !slices.Contains(m.patterns, o.op.Pattern):
			r.fault(n, "leave it out, or choose pattern "+oneOf(patternsOf(m)), "%s has no effect with pattern %s", m.name, o.op.Pattern)
		default:
			m.read(o, n)
		}
	}
	o.check()
	return o
}

// entityType reads one entity.
func (r *reader) entityType(p pair) *EntityType {
	const example = "{states: [pending, shipped], initial: pending}"
	e := &EntityType{Name: p.name, at: r.mark(p.key)}
	m := r.members(p.value, "entity "+p.name, example, "states", "initial")
	if states := m["states"]; states != nil {
		var nodes []*yaml.Node
		e.States, nodes = r.texts(states, "states", "[pending, shipped]")
		if i := slices.Index(e.States, "any"); i >= 0 {
			r.fault(nodes[i], "from: any means all states", "a state cannot be called any")
		}
	} else {
		r.fault(p.value, "write it as "+example, "entity %s lacks states", p.name)
	}
	switch initial := m["initial"]; {
	case initial != nil:
		e.Initial, _ = r.state(initial, "initial", e)
	default:
		r.fault(p.value, "say in which state an object is before its first transition", "entity %s lacks initial", p.name)
	}
	return e
}

// state reads the name of a state of an entity; where the entity has none, that has been said.
func (r *reader) state(n *yaml.Node, what string, e *EntityType) (string, bool) {
	s, ok := r.text(n, what, "a state")
	if ok && e != nil && len(e.States) > 0 && !slices.Contains(e.States, s) {
		r.fault(n, DidYouMean(s, e.States), "%s: entity %s has no state %q", what, e.Name, s)
		return s, false
	}
	return s, ok
}

// fields reads typed fields, {customer_id: id, period: {type: month, arg: [period, 対象月]}}, in their order.
func (o *operationReader) fields(n *yaml.Node, member string) []*canonicalize.Field {
	var fields []*canonicalize.Field
	for _, p := range o.pairs(n, member, "{customer_id: id}") {
		if f := o.field(p, member); f != nil {
			fields = append(fields, f)
		}
	}
	return fields
}

func (o *operationReader) field(p pair, member string) *canonicalize.Field {
	spec := canonicalize.FieldSpec{Name: p.name, Type: p.value.Value}
	at := p.value
	if p.value.Kind == yaml.MappingNode {
		const example = "{type: enum, arg: [kind, 種別], default: std, aliases: {ガス: gas}}"
		m := o.members(p.value, "field "+p.name, example, "type", "arg", "default", "aliases")
		if at = m["type"]; at == nil {
			o.fault(p.value, "write it as "+example, "field %s has no type", p.name)
			return nil
		}
		spec.Type = at.Value
		o.longForm(m, &spec)
	}
	if _, ok := o.text(at, "the type of field "+p.name, "id, text, money(currency)"); !ok {
		return nil
	}
	f, err := canonicalize.Compile(spec, o.env.Defaults)
	if err != nil {
		reason, remedy := err.Error(), ""
		if e, ok := err.(*canonicalize.Error); ok {
			reason, remedy = e.Reason, e.Remedy
		}
		o.fault(at, remedy, "field %s: %s", p.name, reason)
		return nil
	}
	if f.Meaning && member != "key" {
		o.fault(at, "put it in key, or choose text", "field %s: meaning belongs in key", p.name)
	}
	return f
}

// longForm reads what a field has beside its type.
func (o *operationReader) longForm(m map[string]*yaml.Node, spec *canonicalize.FieldSpec) {
	if n := m["arg"]; n != nil && n.Kind == yaml.SequenceNode {
		spec.Arg, _ = o.texts(n, "arg", "[order_kind, 種別]")
	} else if n != nil {
		if s, ok := o.text(n, "arg", "a name, a dotted path or a JSON Pointer"); ok {
			spec.Arg = []string{s}
		}
	}
	if n := m["default"]; n != nil {
		v, ok := o.json(n, 0)
		if ok {
			spec.Default = &v
		}
	}
	if n := m["aliases"]; n != nil {
		spec.Aliases = map[string]string{}
		for _, p := range o.pairs(n, "aliases", "{ガス: gas}") {
			if s, ok := o.text(p.value, "the alias "+p.name, "the value it stands for"); ok {
				spec.Aliases[p.name] = s
			}
		}
	}
}

// json reads a value as JSON does: plain null, true, false and numbers are JSON with their own digits, all other scalars are strings.
func (r *reader) json(n *yaml.Node, depth int) (canonicalize.Value, bool) {
	switch {
	case depth > 16:
		r.fault(n, "keep it flat", "a default this deep")
		return canonicalize.Value{}, false
	case n.Kind == yaml.SequenceNode:
		list := canonicalize.Value{Kind: canonicalize.List}
		for _, item := range n.Content {
			v, ok := r.json(item, depth+1)
			if !ok {
				return v, false
			}
			list.Items = append(list.Items, v)
		}
		return list, true
	case n.Kind == yaml.MappingNode:
		object := canonicalize.Value{Kind: canonicalize.Object}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, ok := r.json(n.Content[i+1], depth+1)
			if !ok {
				return v, false
			}
			object.Members = append(object.Members, canonicalize.Member{Name: n.Content[i].Value, Value: v})
		}
		return object, true
	}
	return scalarJSON(n), true
}

// scalarJSON is a scalar as JSON.
func scalarJSON(n *yaml.Node) canonicalize.Value {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if plain && strings.IndexFunc(n.Value, unicode.IsSpace) < 0 {
		if v, err := canonicalize.Parse([]byte(n.Value)); err == nil && v.Kind != canonicalize.List && v.Kind != canonicalize.Object {
			return v
		}
	}
	return canonicalize.Value{Kind: canonicalize.String, Text: n.Value}
}

// isName reports whether s can name an operation or an entity: letters and digits of any script, dots, dashes, underscores.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune("._-", c)
	})
}
