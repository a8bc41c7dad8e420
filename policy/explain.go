package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
)

// Explanation is how a call is read: what `agentgw policy explain` prints.
type Explanation struct {
	Call      string      `json:"call"`                // tenant / agent / run / tool or route / arguments
	Operation string      `json:"operation,omitempty"` // its name; "" where no operation guards the call
	Place     string      `json:"place,omitempty"`     // where the policy says so
	Fields    []Explained `json:"fields,omitempty"`
	Ignored   []string    `json:"ignored,omitempty"` // arguments that no field looks at
	Scope     string      `json:"scope,omitempty"`
	Key       string      `json:"key,omitempty"` // the effect id; "" for what is not remembered
	Rule      string      `json:"rule,omitempty"`
	Elements  []Element   `json:"elements,omitempty"` // of `each`
}

// Explained is one field: as it came, and in canonical form.
type Explained struct {
	Name  string `json:"name"`
	Role  string `json:"role"` // "key", "must_match", "meaning", "other"
	Raw   string `json:"raw"`
	Canon string `json:"canonical"`
}

// Element is one element of a batch.
type Element struct {
	Fields []Explained `json:"fields"`
	Key    string      `json:"key"`
}

// Explain reads a call as Do would, and decides nothing. args are the call's arguments, parsed. Where the call would be rejected the
// error says why, and the explanation holds what was found until then. A call without the key fields that its policy lets pass has an
// operation and no key.
func (p *Policy) Explain(call *agentgw.Call, args canonicalize.Value) (*Explanation, error) {
	e := &Explanation{Call: callLine(call)}
	o, err := p.Match(call, args)
	if err != nil || o == nil {
		return e, err
	}
	e.Operation, e.Place, e.Rule = o.Name, o.Place, o.ruleLine()
	if o.Reads() {
		return e, nil
	}
	e.Ignored = o.ignored(args)
	op, err := o.Spec.Operation(&o.Rule, call, args)
	if errors.Is(err, canonicalize.ErrMissing) && o.Missing == agentgw.MissingPass {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	e.Scope, e.Fields = op.Scope, explained(op.Fields)
	if o.Pattern != agentgw.Overwrite {
		e.Key = op.ID.String()
	}
	for i := range op.Elements {
		e.Elements = append(e.Elements, Element{explained(op.Elements[i].Fields), op.Elements[i].ID.String()})
	}
	return e, nil
}

func callLine(c *agentgw.Call) string {
	what := c.Tool
	if what == "" && c.Request != nil {
		what = c.Request.Method + " /" + c.Request.Upstream + c.Request.Path
	}
	parts := []string{c.Tenant, c.Context.Agent, c.Context.Run, what, string(c.Arguments)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " / ")
}

func explained(fields []agentgw.Field) []Explained {
	said := make([]Explained, len(fields))
	for i, f := range fields {
		said[i] = Explained{f.Name, roleNames[f.Role], f.Raw, f.Canon}
	}
	return said
}

var roleNames = map[agentgw.Role]string{
	agentgw.RoleKey: "key", agentgw.RoleMatch: "must_match", agentgw.RoleMeaning: "meaning", agentgw.RoleOther: "other",
}

// ignored are the arguments in which no field looks for its value.
func (o *Operation) ignored(args canonicalize.Value) []string {
	if o.Spec.MatchAll {
		return nil
	}
	used := map[string]bool{}
	for f := range o.fields() {
		for _, p := range append(f.Args(), f.Siblings()...) {
			used[p.Root()] = true
		}
	}
	if o.Spec.Each != nil {
		used[o.Spec.Each.Root()] = true
	}
	var ignored []string
	for _, m := range args.Members {
		if !used[m.Name] {
			ignored = append(ignored, m.Name)
		}
	}
	return ignored
}

// ruleLine says in one line what the rule does.
func (o *Operation) ruleLine() string {
	parts := []string{string(o.Pattern)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if o.Pattern == agentgw.Transition {
		from := strings.Join(o.From, " or ")
		if o.FromAny {
			from = "any state"
		}
		add("%s from %s to %s", o.Spec.Entity, from, o.To)
	}
	if o.Pattern == agentgw.Once || o.Pattern == agentgw.Transition {
		add("a success answers for %s", formatDuration(o.TTL))
		if o.Tombstone > 0 {
			add("expired for %s more", formatDuration(o.Tombstone))
		}
		add("per %s", o.Scope)
		add("repeat: %s", o.Repeat)
		add("in doubt: %s", o.OnIndeterminate)
	}
	if o.Spec.Newer != nil {
		add("older %s is refused", o.Spec.Newer.Name)
	}
	if len(o.Spec.Lock) > 0 {
		add("one at a time per %s", o.Spec.Lock[0].Name)
	}
	if o.Durability == agentgw.DurabilityReplicated {
		add("a replica has the claim first")
	}
	if o.Attempts != nil {
		add("at most %d sends per %s", o.Attempts.Count, formatDuration(o.Attempts.Per))
	}
	if o.Limit != nil {
		add("at most %d effects per %s", o.Limit.Count, formatDuration(o.Limit.Per))
	}
	return strings.Join(parts, ", ")
}
