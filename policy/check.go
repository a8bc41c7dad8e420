package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"agentgw"
	"agentgw/canonicalize"
)

// irreversible are side effects that a repeat does to the world again, whatever the record says afterwards.
var irreversible = []string{"email", "message", "invoice", "payment", "order"}

// check refuses what each member allows and the operation as a whole does not.
func (o *operationReader) check() {
	op := o.op
	if o.nodes["tools"] == nil && o.nodes["http"] == nil && len(o.nodes) > 0 {
		o.fault(o.key, "name its tools, tools: [create_invoice], or its routes, http: [\"POST /billing/invoices\"]", "operation %s guards nothing", op.Name)
	}
	switch op.Pattern {
	case agentgw.Once:
		if o.nodes["key"] == nil && op.IdempotencyKey != agentgw.KeyUse {
			o.fault(o.key, "declare key: {order: id}, or idempotency_key: use", "operation %s has no key", op.Name)
		}
	case agentgw.Transition:
		o.checkTransition()
	case agentgw.Overwrite:
		o.checkOverwrite()
	}
	if op.OnIndeterminate == agentgw.DoubtRetry {
		o.checkRetry()
	}
	o.checkProbe()
	if op.Repeat == agentgw.RepeatNewKey && op.IdempotencyKey == agentgw.KeyIgnore {
		o.fault(o.nodes["repeat"], "choose idempotency_key: check", "repeat: new_key needs the caller's key, which is ignored here")
	}
	if op.Spec.Each != nil && !slices.ContainsFunc(op.Spec.Key, ofItem) {
		o.fault(o.nodes["each"], "add a field like sku: {type: id, arg: item.sku}", "each: no key field tells the elements apart")
	}
	o.checkFieldNames()
}

func ofItem(f *canonicalize.Field) bool {
	return slices.ContainsFunc(f.Args(), func(p canonicalize.Path) bool { return p.Root() == canonicalize.Item })
}

func (o *operationReader) checkTransition() {
	for _, name := range []string{"entity", "from", "to"} {
		if o.nodes[name] == nil {
			o.fault(o.key, "a transition is entity: {order: {order_id: id}}, from: [pending], to: approved",
				"operation %s is a transition without %s", o.op.Name, name)
		}
	}
	if o.nodes["key"] == nil {
		o.op.Spec.Key = o.op.Spec.EntityBy
	}
}

func (o *operationReader) checkOverwrite() {
	if n := o.nodes["side_effects"]; n != nil {
		for i, name := range o.op.SideEffects {
			if isIrreversible(name) {
				o.fault(n.Content[i], "choose pattern once", "an overwrite repeats freely, and %s must not happen twice", name)
			}
		}
	}
	if n := o.nodes["durability"]; n != nil && o.nodes["newer"] == nil && o.nodes["lock"] == nil {
		o.fault(n, "leave it out", "durability has no effect on an overwrite without newer or lock: nothing is claimed")
	}
	if n := o.nodes["newer"]; n != nil && o.nodes["key"] == nil {
		o.fault(n, "declare key: {id: id}", "newer needs a key: what is the value newer of?")
	}
}

// isIrreversible also knows the words in capitals and in the plural, and with a slip of the pen.
func isIrreversible(name string) bool {
	return slices.ContainsFunc(irreversible, func(word string) bool { return canonicalize.Edits(strings.ToLower(name), word) <= 1 })
}

// checkRetry: sending again what may have happened is safe only under a key that the upstream knows.
func (o *operationReader) checkRetry() {
	refuse := func(n *yaml.Node, what string) {
		o.fault(n, "give the upstream an idempotency_header, or choose block",
			"on_indeterminate: retry would repeat a lost effect: %s has no idempotency_header", what)
	}
	for _, route := range o.op.Routes {
		if !o.env.dedups(route.Upstream) {
			refuse(o.nodes["on_indeterminate"], "upstream "+route.Upstream)
			return
		}
	}
	for _, tool := range o.op.Tools {
		if !o.env.dedups(o.env.Routes[tool].Upstream) {
			refuse(o.nodes["on_indeterminate"], "the upstream of tool "+tool)
			return
		}
	}
}

// dedups reports whether an upstream honours our key. Of an unknown one it is true only where all upstreams do.
func (e *Env) dedups(upstream string) bool {
	if facts, ok := e.Upstreams[upstream]; ok {
		return facts.IdempotencyHeader
	}
	if len(e.Upstreams) == 0 {
		return e.AllowAll && e.Upstreams == nil
	}
	for _, facts := range e.Upstreams {
		if !facts.IdempotencyHeader {
			return false
		}
	}
	return true
}

// checkFieldNames: a field has one place in the identity.
func (o *operationReader) checkFieldNames() {
	n := o.nodes["must_match"]
	for i, f := range o.op.Spec.Match {
		if slices.ContainsFunc(o.op.Spec.Key, func(k *canonicalize.Field) bool { return k.Name == f.Name }) {
			o.fault(n.Content[2*i], "keep it in one of them", "field %s stands in key and in must_match", f.Name)
		}
	}
	if newer := o.op.Spec.Newer; newer != nil {
		for _, k := range o.op.Spec.Key {
			if k.Name == newer.Name {
				o.fault(o.nodes["newer"], "take it out of key", "field %s stands in key: then every value is a new identity", k.Name)
			}
		}
	}
}

// fieldNames are the names that `fields` has in expressions, those of a batch's elements excepted; nil where they are not known
// beforehand.
func (o *operationReader) fieldNames() []string {
	if o.op.Spec.MatchAll {
		return nil
	}
	all := []string{}
	for f := range o.op.fields() {
		if o.op.Spec.Each == nil || !ofItem(f) {
			all = append(all, f.Name)
		}
	}
	return all
}

// budget reads {count, per}.
func (o *operationReader) budget(n *yaml.Node, what string, most int) *agentgw.Budget {
	form := "{count: 3, per: 10m}"
	known := []string{"count", "per"}
	if what == "limit" {
		known = append(known, "by", "sum", "max")
	}
	m := o.members(n, what, form, known...)
	for _, name := range known {
		if m[name] != nil && notYet[what+": "+name] {
			o.fault(m[name], "write "+what+": "+form, "%s: %s is not yet supported", what, name)
			return nil
		}
	}
	if m["count"] == nil || m["per"] == nil {
		o.fault(n, "write it as "+form, "%s needs count and per", what)
		return nil
	}
	count, err := strconv.Atoi(m["count"].Value)
	if err != nil || count < 1 || count > most {
		o.fault(m["count"], "write a whole number from 1 to "+strconv.Itoa(most), "%s.count cannot be %s", what, kindOf(m["count"]))
		return nil
	}
	per, ok := o.duration(m["per"], what+".per", time.Second, 400*24*time.Hour)
	if !ok {
		return nil
	}
	if by := m["by"]; by != nil {
		o.limitBy(by)
	}
	return &agentgw.Budget{Count: count, Per: per}
}

// limitBy reads the fields whose values have a budget of their own: a name, or a list of names.
func (o *operationReader) limitBy(n *yaml.Node) {
	names, nodes := []string{n.Value}, []*yaml.Node{n}
	if n.Kind != yaml.ScalarNode {
		names, nodes = o.texts(n, "limit.by", "customer_id")
	}
	known := o.fieldNames()
	for i, name := range names {
		if known != nil && !slices.Contains(known, name) {
			o.fault(nodes[i], DidYouMean(name, known), "limit.by: there is no field %q", name)
			return
		}
	}
	o.op.Spec.LimitBy = names
}

// overlaps refuses two operations that plainly match the same call: the same tool or a common route, and no `when`, or the same, to tell
// them apart.
func (l *loader) overlaps() {
	for i, b := range l.operations {
		for _, a := range l.operations[:i] {
			if whenOf(a.op) != whenOf(b.op) {
				continue
			}
			if n, what := bothGuard(a, b, l.env.Routes); n != nil {
				b.fault(n, "tell them apart with when, or merge them",
					"operations %s (%s) and %s match the same calls: %s", a.op.Name, a.op.Place, b.op.Name, what)
			}
		}
	}
}

func whenOf(o *Operation) string {
	if o.when == nil {
		return ""
	}
	return o.when.text
}

// bothGuard finds what two operations both guard, and where the second says so.
func bothGuard(a, b *operationReader, toolRoutes map[string]Route) (*yaml.Node, string) {
	for i, tool := range b.op.Tools {
		if slices.Contains(a.op.Tools, tool) {
			return b.tools[i], "tool " + tool
		}
		for _, r := range a.op.Routes {
			if own, ok := toolRoutes[tool]; ok && r.overlaps(own) {
				return b.tools[i], fmt.Sprintf("tool %s is %s", tool, r)
			}
		}
	}
	for i, route := range b.op.Routes {
		for _, r := range a.op.Routes {
			if r.overlaps(route) {
				return b.routes[i], fmt.Sprintf("%s and %s", r, route)
			}
		}
		for _, tool := range a.op.Tools {
			if own, ok := toolRoutes[tool]; ok && route.overlaps(own) {
				return b.routes[i], fmt.Sprintf("tool %s is %s", tool, route)
			}
		}
	}
	return nil, ""
}

// overlaps reports whether some request matches both routes.
func (r Route) overlaps(s Route) bool {
	if r.Upstream != s.Upstream || !(r.anyMethod() || s.anyMethod() || r.Method == s.Method) {
		return false
	}
	p, err := ParsePattern(r.Path)
	q, err2 := ParsePattern(s.Path)
	return err == nil && err2 == nil && p.overlaps(q)
}
