package canonicalize

import (
	"errors"
	"strings"
	"sync"

	"agentgw"
)

// Spec is a compiled reading: which arguments are identity, which must match, and where the entity, lock and list of elements stand.
type Spec struct {
	Key      []*Field // empty: the entity is the key, or the caller's key where that is the identity
	Match    []*Field
	MatchAll bool   // `must_match: all`: every argument not in Key, as json
	Entity   string // the entity's type; "" without one
	EntityBy []*Field
	Lock     []*Field
	Newer    *Field
	LimitBy  []string // names of fields: each combination of their values has a budget of its own
	Each     *Path    // the list whose elements are effects; nil without
}

// Operation reads a call as one operation of a rule. args are the call's arguments, parsed; they are what is forwarded. The error is an
// *Error; errors.Is finds ErrMissing in it where all that is wrong is that a part of the identity is absent.
func (s *Spec) Operation(rule *agentgw.Rule, call *agentgw.Call, args Value) (*agentgw.Operation, error) {
	if args.Kind != Object {
		return nil, notObject(args.Kind)
	}
	scope, err := scopeOf(rule, call)
	if err != nil {
		return nil, err
	}
	r := buffers.Get().(*reading)
	defer r.release()
	r.spec, r.rule, r.call, r.scope = s, rule, call, scope
	var op agentgw.Operation
	if s.Each != nil {
		err = r.batch(&op, args)
	} else {
		err = r.single(&op, args)
	}
	if err != nil {
		return nil, err
	}
	r.text = appendCanonical(r.text[:0], &args)
	op.ArgDigest, _ = digests(r.text)
	for i := range op.Elements {
		op.Elements[i].ArgDigest = op.ArgDigest
	}
	op.Arguments = call.Arguments
	if args.raw != "" && args.raw != string(call.Arguments) {
		op.Arguments = []byte(args.raw)
	}
	return &op, nil
}

func notObject(k Kind) *Error {
	return &Error{Reason: "the arguments are " + k.String() + ", not an object", Remedy: "send a JSON object, {} where there are none"}
}

// scopeOf is the part of the identity that the rule's scope adds; principals and tasks are told apart by a prefix.
func scopeOf(rule *agentgw.Rule, call *agentgw.Call) (string, error) {
	if rule.IdempotencyKey == agentgw.KeyUse && call.IdempotencyKey == "" {
		return "", &Error{Reason: "the call carries no idempotency key, which is its identity", Remedy: "send one (Idempotency-Key), the same on every retry", Err: ErrMissing}
	}
	switch {
	case rule.Scope == agentgw.ScopePrincipal:
		return "p:" + call.Principal, nil
	case rule.Scope == agentgw.ScopeTask && call.Context.Task == "":
		return "", &Error{Reason: "the call names no task, and the operation is kept apart by task", Remedy: "send context.task, at the proxy the header Agentgw-Task, over MCP that header or _meta[\"agentgw/task\"]", Err: ErrMissing}
	case rule.Scope == agentgw.ScopeTask:
		return "t:" + call.Context.Task, nil
	}
	return "", nil
}

// reading is the work on one call; its buffers are used again.
type reading struct {
	spec  *Spec
	rule  *agentgw.Rule
	call  *agentgw.Call
	scope string

	canon  []byte // canonical texts of all fields of one operation, one after the other
	ends   []int  // where each ends
	fields []agentgw.Field
	text   []byte // what is hashed
}

var buffers = sync.Pool{New: func() any { return new(reading) }}

func (r *reading) release() {
	clear(r.fields)
	*r = reading{canon: r.canon[:0], ends: r.ends[:0], fields: r.fields[:0], text: r.text[:0]}
	if cap(r.canon)+cap(r.text) < 1<<20 { // a huge call must not hold its memory for ever
		buffers.Put(r)
	}
}

// parts are the fields of one operation, by what they are for.
type parts struct {
	key, match, entity, lock, newer []agentgw.Field
}

// single reads an operation that is one effect.
func (r *reading) single(op *agentgw.Operation, args Value) error {
	op.Rule, op.Tenant, op.Scope = r.rule, r.call.Tenant, r.scope
	p, err := r.read(op, &args)
	if err != nil {
		return err
	}
	r.name(op, p)
	if r.rule.IdempotencyKey != agentgw.KeyUse {
		r.callerKey(op)
	}
	return nil
}

// read reads all fields of the spec into op and says what they are for.
func (r *reading) read(op *agentgw.Operation, args *Value) (parts, error) {
	s := r.spec
	r.canon, r.ends, r.fields = r.canon[:0], r.ends[:0], r.fields[:0]
	keys := s.Key
	if len(keys) == 0 {
		keys = s.EntityBy
	}
	var counts [6]int
	groups := [...]struct {
		fields []*Field
		role   agentgw.Role
	}{{keys, agentgw.RoleKey}, {s.Match, agentgw.RoleMatch}, {s.EntityBy, agentgw.RoleOther}, {s.Lock, agentgw.RoleOther}, {newerOf(s), agentgw.RoleOther}}
	for i, g := range groups {
		if err := r.group(g.fields, g.role, args); err != nil {
			return parts{}, err
		}
		if i == 1 && s.MatchAll {
			r.matchAll(keys, args)
		}
		counts[i+1] = len(r.fields)
	}
	text, start := string(r.canon), 0
	op.Fields = append(make([]agentgw.Field, 0, len(r.fields)), r.fields...)
	for i, end := range r.ends {
		op.Fields[i].Canon = text[start:end]
		start = end
	}
	f := op.Fields
	return parts{f[:counts[1]], f[counts[1]:counts[2]], f[counts[2]:counts[3]], f[counts[3]:counts[4]], f[counts[4]:counts[5]]}, nil
}

func newerOf(s *Spec) []*Field {
	if s.Newer == nil {
		return nil
	}
	return []*Field{s.Newer}
}

// group reads fields of one role. A field that cannot be read outweighs one that is missing, which a policy may let pass.
func (r *reading) group(fields []*Field, role agentgw.Role, args *Value) error {
	var missing error
	for _, f := range fields {
		canon, raw, err := f.read(r.canon, args)
		switch {
		case err == nil:
			r.canon = canon
			r.add(f.Name, roleOf(f, role), raw)
		case !errors.Is(err, ErrMissing):
			return err
		case missing == nil:
			missing = err
		}
	}
	if missing != nil && role != agentgw.RoleKey {
		missing = withoutMissing(missing)
	}
	return missing
}

// withoutMissing keeps the words of an error, but not ErrMissing: `missing` is about the identity only.
func withoutMissing(err error) error {
	e := asError(err)
	e.Err = nil
	return e
}

func roleOf(f *Field, role agentgw.Role) agentgw.Role {
	if f.Meaning && role == agentgw.RoleKey {
		return agentgw.RoleMeaning
	}
	return role
}

func (r *reading) add(name string, role agentgw.Role, raw string) {
	r.fields = append(r.fields, agentgw.Field{Name: name, Role: role, Raw: raw})
	r.ends = append(r.ends, len(r.canon))
}

// matchAll adds every argument that no key field used, as json; of one used in part, the rest. Null is the same as absent.
func (r *reading) matchAll(keys []*Field, args *Value) {
	rest := *args
	take := func(steps []string) {
		if len(steps) > 0 {
			rest = rest.without(steps)
		}
	}
	var steps []string
	for _, f := range keys {
		steps = steps[:0]
		f.find(args, &steps)
		take(steps)
		for _, p := range f.Siblings() {
			steps = steps[:0]
			p.find(args, &steps)
			take(steps)
		}
	}
	var few [32]int
	taken := len(r.fields)
	for _, i := range sortedMembers(few[:0], rest.Members) {
		m := &rest.Members[i]
		if m.Value.Kind == Null {
			continue
		}
		name := m.Name
		if hasField(r.fields[:taken], name) {
			name = "/" + escapeToken(name) // a key field of this name reads another argument
		}
		r.canon = appendCanonical(r.canon, &m.Value)
		r.add(name, agentgw.RoleMatch, m.Value.Raw())
	}
}

func hasField(fields []agentgw.Field, name string) bool {
	for i := range fields {
		if fields[i].Name == name {
			return true
		}
	}
	return false
}

// inWords is how people write fields: their values without quotes.
func inWords(fields []agentgw.Field, names bool) string {
	var b strings.Builder
	for i := range fields {
		if fields[i].Canon == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if names {
			b.WriteString(fields[i].Name)
			b.WriteByte(' ')
		}
		word := fields[i].Canon
		if word[0] == '"' && !strings.Contains(word, `\`) {
			word = word[1 : len(word)-1]
		}
		b.WriteString(word)
	}
	return b.String()
}
