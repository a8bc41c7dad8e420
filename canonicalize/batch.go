package canonicalize

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"agentgw"
)

// Item is the name under which the fields of a batch see one element of its list.
const Item = "item"

// batch reads an operation whose list holds many effects: one operation an element, and around them the batch, whose identity is the
// set of theirs.
func (r *reading) batch(op *agentgw.Operation, args Value) error {
	items, err := r.elements(&args)
	if err != nil {
		return err
	}
	whole, outer := r.spec, r.spec.outer()
	op.Rule, op.Tenant, op.Scope = r.rule, r.call.Tenant, r.scope
	op.Elements = make([]agentgw.Operation, len(items))
	keys := make([]agentgw.Digest, len(items))
	inner := whole.inner()
	r.spec = &inner
	var steps []string
	whole.Each.find(&args, &steps)
	rest := args.without(steps)
	for i := range items {
		element := &op.Elements[i]
		element.Rule, element.Tenant, element.Scope = r.rule, r.call.Tenant, r.scope
		with := withItem(rest, items[i])
		p, err := r.read(element, &with)
		if err != nil {
			return inList(err, whole.Each, i)
		}
		r.name(element, p)
		keys[i] = element.ID.Key
	}
	if err := noTwins(whole.Each, keys); err != nil {
		return err
	}
	slices.SortFunc(keys, func(a, b agentgw.Digest) int { return bytes.Compare(a[:], b[:]) })
	r.spec = &outer
	p, err := r.read(op, &args)
	if err != nil {
		return err
	}
	r.name(op, p)
	id := r.effect(p.key)
	id.elements = keys
	op.ID.Key, op.Digest = r.digests(id)
	op.ID.Partition = agentgw.NewPartition(agentgw.PartitionEffect, op.ID.Key)
	if r.rule.IdempotencyKey != agentgw.KeyUse {
		r.callerKey(op)
	}
	return nil
}

// elements finds the list of a batch.
func (r *reading) elements(args *Value) ([]Value, error) {
	each := r.spec.Each
	fail := func(e *Error) ([]Value, error) {
		e.Place = each.pointer()
		return nil, e
	}
	v := each.find(args, nil)
	if v != nil && v.Kind == String {
		if inner, err := parseString(v.Text); err == nil {
			v = &inner
		}
	}
	switch {
	case v == nil || v.Kind == Null:
		return fail(&Error{Reason: "is missing", Remedy: "send the list whose elements are to be done", Err: ErrMissing})
	case v.Kind != List:
		return fail(&Error{Reason: "is " + v.Kind.String() + ", not a list", Remedy: "send a list, one element for each thing to be done"})
	case len(v.Items) == 0:
		return fail(&Error{Reason: "is an empty list", Remedy: "send at least one element, or do not call"})
	}
	return v.Items, nil
}

// withItem is the arguments as one element sees them.
func withItem(args Value, item Value) Value {
	members := make([]Member, 0, len(args.Members)+1)
	for _, m := range args.Members {
		if m.Name != Item {
			members = append(members, m)
		}
	}
	return Value{Kind: Object, Members: append(members, Member{Name: Item, Value: item})}
}

// inList puts the place of an element's error into the list it came from.
func inList(err error, each *Path, i int) error {
	e := asError(err)
	if inner, ok := strings.CutPrefix(e.Place, "/"+Item); ok && (inner == "" || inner[0] == '/') {
		e.Place = each.pointer() + "/" + strconv.Itoa(i) + inner
	}
	return e
}

// noTwins refuses a batch that asks twice for one effect: whether that is meant cannot be known.
func noTwins(each *Path, keys []agentgw.Digest) error {
	seen := make(map[agentgw.Digest]int, len(keys))
	for i, key := range keys {
		first, twice := seen[key]
		if !twice {
			seen[key] = i
			continue
		}
		list := each.pointer()
		return &Error{Place: list + "/" + strconv.Itoa(i), Reason: "is the same element as " + list + "/" + strconv.Itoa(first),
			Remedy: "send each element once, or call twice"}
	}
	return nil
}

// outer is what a batch reads of the call around its elements; inner is the rest.
func (s *Spec) outer() Spec {
	out := *s
	out.MatchAll = false
	out.Key, out.Match = ofItem(s.Key, false), ofItem(s.Match, false)
	if len(ofItem(s.EntityBy, true)) > 0 {
		out.Entity, out.EntityBy = "", nil
	}
	if len(ofItem(s.Lock, true)) > 0 {
		out.Lock = nil
	}
	if s.Newer != nil && s.Newer.ofItem() {
		out.Newer = nil
	}
	return out
}

func (s *Spec) inner() Spec {
	in := *s
	if len(ofItem(s.Lock, true)) == 0 {
		in.Lock = nil // one lock for the whole batch, not one for each element
	}
	return in
}

// ofItem picks the fields that read from the element, or those that do not.
func ofItem(fields []*Field, want bool) []*Field {
	var out []*Field
	for _, f := range fields {
		if f.ofItem() == want {
			out = append(out, f)
		}
	}
	return out
}

func (f *Field) ofItem() bool {
	return slices.ContainsFunc(f.args, func(p Path) bool { return p.Root() == Item })
}
