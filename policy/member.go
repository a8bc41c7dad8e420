package policy

import (
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v4"

	"agentgw"
	"agentgw/canonicalize"
)

// member is one member that an operation may have. This table is the policy language: reading, proposals for slips of the pen, refusals
// of members without effect, and the JSON Schema all come from it.
type member struct {
	name     string
	doc      string
	schema   any
	patterns []agentgw.Pattern                      // with which it has an effect
	read     func(o *operationReader, n *yaml.Node) // nil: not supported yet
}

var (
	everyPattern = []agentgw.Pattern{agentgw.Once, agentgw.Transition, agentgw.Overwrite, agentgw.Read, agentgw.Unguarded}
	keyed        = []agentgw.Pattern{agentgw.Once, agentgw.Transition, agentgw.Overwrite}
	effects      = []agentgw.Pattern{agentgw.Once, agentgw.Transition}
	onceOnly     = []agentgw.Pattern{agentgw.Once}
	transitions  = []agentgw.Pattern{agentgw.Transition}
	overwrites   = []agentgw.Pattern{agentgw.Overwrite}

	patternWords = []string{"once", "transition", "overwrite", "read", "unguarded"}
)

// notYet are the words of members whose other words are supported.
var notYet = map[string]bool{
	"repeat: approval": true,
	"limit: sum":       true,
	"limit: max":       true,
}

// members in the order in which they are read: fields before the expressions that may refer to them.
var members []member

func init() { members = operationMembers() } // the readers refer to the table's names

func operationMembers() []member {
	return []member{
		{"tools", "Tools that this operation guards, by name; also their own routes at the proxy door.", listOfTexts, everyPattern, (*operationReader).readTools},
		{"http", "HTTP routes that this operation guards, as POST /upstream/path/{param}.", listOfTexts, everyPattern, (*operationReader).readHTTP},
		{"pattern", "How repeats are prevented: by a key, by the state of an object, not at all because overwriting is harmless, or not guarded.", enumOf(patternWords...), everyPattern, func(*operationReader, *yaml.Node) {}},
		{"side_effects", "What the operation does to the world. An overwrite with email, message, invoice, payment or order does not load.", listOfTexts, everyPattern, (*operationReader).readSideEffects},
		{"each", "A batch: every element of this list is an effect of its own; key and must_match refer to it as item.", typeText, onceOnly, (*operationReader).readEach},
		{"key", "Identity, with tenant, operation and scope: fields and their types.", fieldMap, keyed, func(o *operationReader, n *yaml.Node) { o.op.Spec.Key = o.fields(n, "key") }},
		{"must_match", "Fields that must be equal for the same identity, else the call is a conflict; all: every argument not in key.", anyOf(enumOf("all"), fieldMap), effects, (*operationReader).readMustMatch},
		{"entity", "The business object whose state changes: {order: {order_id: id}}.", mapOf(fieldMap), transitions, (*operationReader).readEntity},
		{"lock", "One attempt at a time for each value of these fields.", fieldMap, keyed, func(o *operationReader, n *yaml.Node) { o.op.Spec.Lock = o.fields(n, "lock") }},
		{"newer", "One field that grows: an older value than the last one done or in doubt is refused.", fieldMap, overwrites, (*operationReader).readNewer},
		{"from", "States in which the transition may begin, or any.", anyOf(enumOf("any"), listOfTexts), transitions, (*operationReader).readFrom},
		{"to", "The state that success leads to.", typeText, transitions, (*operationReader).readTo},
		{"state", "Where the object's state is read, instead of from the ledger: a tool, its arguments and the state in its answer, both as CEL.", stateSchema, transitions, (*operationReader).readState},
		{"when", "CEL: the operation guards only calls for which this is true. An error rejects the call.", celText, everyPattern, (*operationReader).readWhen},
		{"outcomes", "What an answer means, judged in order before the defaults: {\"503\": failed}, or a list of {status, when, is}.", outcomesSchema, everyPattern, (*operationReader).readOutcomes},
		{"scope", "Where the identity holds: within the tenant, the principal, or the task.", enumOf("tenant", "principal", "task"), keyed, words(func(r *agentgw.Rule) *string { return &r.Scope }, "scope", "tenant", "principal", "task")},
		{"ttl", "How long a success answers duplicates, from its settling. Default 24h.", durationType, keyed, span(func(r *agentgw.Rule) *time.Duration { return &r.TTL }, "ttl", time.Second, longest)},
		{"sliding", "Whether a replay starts ttl again. Default false.", booleanType, effects, func(o *operationReader, n *yaml.Node) { o.op.Sliding = o.boolean(n, "sliding") }},
		{"tombstone", "After ttl: how long duplicates are told expired instead of starting a new effect. Default: not at all.", durationType, effects, span(func(r *agentgw.Rule) *time.Duration { return &r.Tombstone }, "tombstone", time.Second, longest)},
		{"lease", "How long a claim outlives its gateway; renewed while the attempt runs. Default 60s.", durationType, keyed, span(func(r *agentgw.Rule) *time.Duration { return &r.Lease }, "lease", time.Second, 24*time.Hour)},
		{"wait", "How long a duplicate waits for the answer of the running attempt. Default 0s.", durationType, effects, span(func(r *agentgw.Rule) *time.Duration { return &r.Wait }, "wait", 0, time.Hour)},
		{"repeat", "How a caller asks for the effect once more, on purpose.", enumOf("token", "offer", "never", "approval", "new_key"), effects, words(func(r *agentgw.Rule) *string { return &r.Repeat }, "repeat", "token", "offer", "never", "approval", "new_key")},
		{"idempotency_key", "The caller's own key: checked beside the derived one, used as the identity, or ignored.", enumOf("check", "use", "ignore"), effects, words(func(r *agentgw.Rule) *string { return &r.IdempotencyKey }, "idempotency_key", "check", "use", "ignore")},
		{"missing", "What happens to a call without a key field.", enumOf("reject", "pass"), keyed, words(func(r *agentgw.Rule) *string { return &r.Missing }, "missing", "reject", "pass")},
		{"on_indeterminate", "What happens to a repeat whose first attempt is in doubt; retry loads only where the upstream has an idempotency_header.", enumOf("block", "probe", "retry"), effects, words(func(r *agentgw.Rule) *string { return &r.OnIndeterminate }, "on_indeterminate", "block", "probe", "retry")},
		{"probe", "How a doubt is settled: a tool is asked, not before after, and two expressions say what its answer means.", probeSchema, effects, (*operationReader).readProbe},
		{"attempts", "How often one effect may be sent: {count: 3, per: 10m}.", budgetSchema, effects, func(o *operationReader, n *yaml.Node) { o.op.Attempts = o.budget(n, "attempts", 1000) }},
		{"limit", "How many effects of the operation there may be: {count: 100, per: 1d}; by: a budget for each value of these fields.", limitSchema, effects, func(o *operationReader, n *yaml.Node) { o.op.Limit = o.budget(n, "limit", 1e6) }},
		{"durability", "Whether a replica of the ledger must have the claim before anything is sent, else unavailable. Default: as the configuration says of all operations; one may only ask for more.", enumOf("local", "replicated"), keyed, (*operationReader).readDurability},
		{"timeout", "How long to wait for the tool's answer. Default: the upstream's.", durationType, everyPattern, span(func(r *agentgw.Rule) *time.Duration { return &r.Timeout }, "timeout", time.Millisecond, 24*time.Hour)},
		{"max_answer", "The largest answer that is kept, as 4MiB.", sizeType, everyPattern, (*operationReader).readMaxAnswer},
		{"keep", "Whether the answer is kept for duplicates, or only the decision.", enumOf("answer", "nothing"), effects, words(func(r *agentgw.Rule) *string { return &r.Keep }, "keep", "answer", "nothing")},
		{"judge", "Whether the configured judge model may answer similar for the caller. Default false.", booleanType, onceOnly, func(o *operationReader, n *yaml.Node) { o.op.Judge = o.boolean(n, "judge") }},
		{"repair", "What may be repaired in the text of the arguments; the repaired text is what is forwarded.", listOf(enumOf(canonicalize.Repairs...)), everyPattern, func(o *operationReader, n *yaml.Node) {
			o.op.Repair = o.wordList(n, "repair", canonicalize.Repairs...)
		}},
		{"decode", "What may be decoded in the texts of the arguments; the decoded text is what is forwarded.", listOf(enumOf(canonicalize.Decodings...)), everyPattern, func(o *operationReader, n *yaml.Node) {
			o.op.Decode = o.wordList(n, "decode", canonicalize.Decodings...)
		}},

		{"approval", "CEL: true holds the call until an operator approves it.", nil, effects, nil},
		{"observe", "Decide and log, never refuse.", nil, everyPattern, nil},
		{"previous", "Earlier keys, until the retention of their effects ends.", nil, effects, nil},
		{"formerly", "Earlier names of the operation.", nil, effects, nil},
	}
}

func memberNames() []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	return names
}

func patternsOf(m member) []string {
	words := make([]string, len(m.patterns))
	for i, p := range m.patterns {
		words[i] = string(p)
	}
	return words
}

// words reads a member that is one of some words.
func words(at func(*agentgw.Rule) *string, name string, all ...string) func(*operationReader, *yaml.Node) {
	return func(o *operationReader, n *yaml.Node) {
		word := at(&o.op.Rule)
		*word = o.word(n, name, *word, all...)
		if notYet[name+": "+*word] {
			o.fault(n, "leave it out", "%s: %s is not yet supported", name, *word)
		}
	}
}

// span reads a member that is a duration between two bounds.
func span(at func(*agentgw.Rule) *time.Duration, name string, least, most time.Duration) func(*operationReader, *yaml.Node) {
	return func(o *operationReader, n *yaml.Node) {
		if d, ok := o.duration(n, name, least, most); ok {
			*at(&o.op.Rule) = d
		}
	}
}

func (r *reader) duration(n *yaml.Node, what string, least, most time.Duration) (time.Duration, bool) {
	s, ok := r.text(n, what, example)
	if !ok {
		return 0, false
	}
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		r.fault(n, "", "%s: %v", what, err)
	case d < least:
		r.fault(n, "make it at least "+formatDuration(least), "%s: %s is too short", what, s)
	case d > most:
		r.fault(n, "make it at most "+formatDuration(most), "%s: %s is too long", what, s)
	default:
		return d, true
	}
	return 0, false
}

func (o *operationReader) readTools(n *yaml.Node) {
	o.op.Tools, o.tools = o.texts(n, "tools", "[create_invoice]")
	for i, name := range o.op.Tools {
		o.tool(o.tools[i], name)
	}
}

// tool refuses a tool that the configuration does not have.
func (o *operationReader) tool(n *yaml.Node, name string) {
	if o.env.AllowAll || o.env.Tools == nil || o.env.Tools[name] {
		return
	}
	known := make([]string, 0, len(o.env.Tools))
	for t := range o.env.Tools {
		known = append(known, t)
	}
	slices.Sort(known)
	o.fault(n, DidYouMean(name, known), "there is no tool %q", name)
}

func (o *operationReader) readHTTP(n *yaml.Node) {
	texts, nodes := o.texts(n, "http", `["POST /billing/invoices/{id}"]`)
	for i, s := range texts {
		route, err := ParseRoute(s)
		if err != nil {
			o.fault(nodes[i], "write it as POST /billing/invoices/{id}", "%v", err)
			continue
		}
		if _, ok := o.env.Upstreams[route.Upstream]; !ok && o.env.Upstreams != nil && !o.env.AllowAll {
			known := make([]string, 0, len(o.env.Upstreams))
			for u := range o.env.Upstreams {
				known = append(known, u)
			}
			slices.Sort(known)
			o.fault(nodes[i], DidYouMean(route.Upstream, known), "there is no upstream %q", route.Upstream)
		}
		o.op.Routes, o.routes = append(o.op.Routes, route), append(o.routes, nodes[i])
	}
}

func (o *operationReader) readSideEffects(n *yaml.Node) {
	o.op.SideEffects, _ = o.texts(n, "side_effects", "[invoice, email]")
}

func (o *operationReader) readEach(n *yaml.Node) {
	s, ok := o.text(n, "each", "lines")
	if !ok {
		return
	}
	path, err := canonicalize.ParsePath(s)
	if err != nil {
		o.fault(n, "write a name, a dotted path or a JSON Pointer", "each: %v", err)
		return
	}
	o.op.Spec.Each = &path
}

func (o *operationReader) readMustMatch(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "all" {
		o.op.Spec.MatchAll = true
		return
	}
	o.op.Spec.Match = o.fields(n, "must_match")
}

func (o *operationReader) readEntity(n *yaml.Node) {
	found := o.pairs(n, "entity", "{order: {order_id: id}}")
	for i, p := range found {
		switch e := o.entities[p.name]; {
		case i > 0:
			o.fault(p.key, "a composite identity is {order: {shop: id, order_id: id}}", "entity names more than one object")
		case e == nil:
			o.fault(p.key, DidYouMean(p.name, o.known), "there is no entity %q", p.name)
		default:
			o.op.Spec.Entity, o.op.Initial = e.Name, e.Initial
			o.op.Spec.EntityBy = o.fields(p.value, "entity")
		}
	}
}

// entityType is the entity of the operation; nil where it names none.
func (o *operationReader) entityType() *EntityType { return o.entities[o.op.Spec.Entity] }

func (o *operationReader) readNewer(n *yaml.Node) {
	fields := o.fields(n, "newer")
	switch {
	case len(fields) == 0:
	case len(fields) > 1:
		o.fault(n, "write it as {updated_at: instant}", "newer compares one field, not %d", len(fields))
	case !fields[0].Ordered():
		o.fault(n, "choose instant, date, month, year, int or decimal", "newer: values of type %s are not older or newer", fields[0].Type)
	case fields[0].Optional:
		o.fault(n, "leave the ? out", "newer: an absent value is neither older nor newer")
	default:
		o.op.Spec.Newer = fields[0]
	}
}

func (o *operationReader) readFrom(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "any" {
		o.op.FromAny = true
		return
	}
	states, nodes := o.texts(n, "from", "[pending], or any")
	for i, s := range states {
		if _, ok := o.state(nodes[i], "from", o.entityType()); ok {
			o.op.From = append(o.op.From, s)
		}
	}
}

func (o *operationReader) readTo(n *yaml.Node) {
	o.op.To, _ = o.state(n, "to", o.entityType())
}

func (o *operationReader) readState(n *yaml.Node) {
	const example = "{tool: get_order, arguments: {id: args.order_id}, value: result.body.state}"
	m := o.members(n, "state", example, "tool", "arguments", "value")
	if m["tool"] == nil || m["value"] == nil {
		o.fault(n, "write it as "+example, "state needs tool and value")
		return
	}
	s := &StateRead{}
	if name, ok := o.text(m["tool"], "state.tool", "get_order"); ok {
		s.Tool = name
		o.tool(m["tool"], name)
	}
	s.arguments = o.arguments(m["arguments"], "state.arguments")
	s.value = o.expression(m["value"], "state.value", cel.StringType, sight{result: true, fields: o.fieldNames()})
	o.op.StateTool = s
}

func (o *operationReader) readWhen(n *yaml.Node) {
	o.op.when = o.expression(n, "when", cel.BoolType, sight{fields: o.fieldNames()})
}

// readDurability: an operation asks for more than the configuration does of all, not for less, and not for what the ledger cannot do.
func (o *operationReader) readDurability(n *yaml.Node) {
	o.op.Durability = o.word(n, "durability", agentgw.DurabilityLocal, agentgw.DurabilityLocal, agentgw.DurabilityReplicated)
	switch replicated := o.op.Durability == agentgw.DurabilityReplicated; {
	case replicated && o.env.Unreplicated != "":
		o.fault(n, "leave it out, or choose a Redis with a replica", "durability: the ledger %s has no replicas", o.env.Unreplicated)
	case !replicated && o.env.Replicated:
		o.fault(n, "leave it out, or ask for less there and for replicated where it is needed", "durability: the configuration has all claims replicated, and an operation cannot ask for less")
	}
}

func (o *operationReader) readMaxAnswer(n *yaml.Node) {
	s, ok := o.text(n, "max_answer", sizeForm)
	if !ok {
		return
	}
	size, err := parseSize(s)
	if err != nil {
		o.fault(n, "", "max_answer: %v", err)
		return
	}
	o.op.MaxAnswer = size
}

func (o *operationReader) wordList(n *yaml.Node, what string, known ...string) []string {
	words, nodes := o.texts(n, what, "["+strings.Join(known, ", ")+"]")
	for i, w := range words {
		if !slices.Contains(known, w) {
			o.fault(nodes[i], DidYouMean(w, known), "%s has no %q", what, w)
		}
	}
	return words
}
