package simulate

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"agentgw"
	"agentgw/policy"
)

// Members of steps, by what they do.
var (
	callMembers = []string{"tenant", "principal", "context", "idempotency_key", "mode", "upstream", "hang_up", "repeat_of", "same_as", "expect"}
	toolMembers = []string{"arguments", "raw", "nonce"}
	stepKinds   = map[string][]string{
		"tool":    append(slices.Clone(callMembers), toolMembers...),
		"http":    callMembers,
		"event":   {"step", "expect"},
		"policy":  nil,
		"answers": nil,
	}
	stepMembers = append([]string{"at", "id", "tool", "http", "event", "step", "policy", "answers"}, stepKinds["tool"]...)
)

// step reads one step; ids are those of the steps before it.
func (r *reader) step(c *testCase, n *yaml.Node, ids map[string]*step) *step {
	s := &step{line: n.Line}
	m := r.Members(n, "a step", exampleStep, stepMembers...)
	s.at = r.moment(m["at"], n)
	s.id = r.optional(m["id"], "id")
	kind := r.kindOf(n, m)
	switch kind {
	case "tool":
		s.call = r.toolCall(m, ids)
	case "http":
		s.call = r.httpCall(m, ids)
	case "event":
		s.event = r.event(m, ids)
	case "policy":
		env := r.env
		env.AllowAll = true
		env.Upstreams = map[string]policy.UpstreamFacts{upstream: {IdempotencyHeader: c.dedups}}
		s.policy = r.policyFile(m["policy"], env)
	case "answers":
		s.answers = r.answers(m["answers"])
	}
	return s
}

func (r *reader) moment(n, at *yaml.Node) time.Duration {
	if n == nil {
		r.Fault(at, "write it as "+exampleAt+" after the beginning", "the step does not say when: at")
		return 0
	}
	return r.Duration(n, "at", 0, longest)
}

// kindOf finds what a step does, and refuses members that say nothing there.
func (r *reader) kindOf(n *yaml.Node, m map[string]*yaml.Node) string {
	kind := ""
	for _, word := range []string{"tool", "http", "event", "policy", "answers"} {
		switch {
		case m[word] == nil:
		case kind != "":
			r.Fault(m[word], "make two steps of it", "a step with %s and %s", kind, word)
		default:
			kind = word
		}
	}
	if kind == "" {
		r.Fault(n, "write it as "+exampleStep, "the step does nothing: it has no tool, http, event, policy or answers")
	}
	for name, member := range m {
		if _, isKind := stepKinds[name]; kind != "" && !isKind && name != "at" && name != "id" && !slices.Contains(stepKinds[kind], name) {
			r.Fault(member, "leave it out", "%s says nothing in a step with %s", name, kind)
		}
	}
	return kind
}

func (r *reader) optional(n *yaml.Node, what string) string {
	if n == nil {
		return ""
	}
	text, _ := r.Text(n, what, "a text")
	return text
}

// reference is the id of an earlier step.
func (r *reader) reference(n *yaml.Node, what string, ids map[string]*step) string {
	id := r.optional(n, what)
	if id == "" {
		return ""
	}
	if s := ids[id]; s == nil || s.call == nil {
		r.Fault(n, policy.DidYouMean(id, known(ids)), "%s: there is no call with the id %s before this step", what, id)
		return ""
	}
	return id
}

// toolCall reads a call by the name of a tool.
func (r *reader) toolCall(m map[string]*yaml.Node, ids map[string]*step) *callStep {
	c := r.caller(m, ids)
	c.call.Tool, _ = r.Text(m["tool"], "tool", "create_invoice")
	c.call.Arguments = []byte("{}")
	switch raw, args := m["raw"], m["arguments"]; {
	case raw != nil && args != nil:
		r.Fault(raw, "keep one of them", "arguments and raw")
	case raw != nil && raw.Kind != yaml.ScalarNode:
		r.Fault(raw, `write the exact bytes as a text: '{"order": 7}'`, "raw is not a text")
	case raw != nil:
		c.call.Arguments = []byte(raw.Value)
	case args != nil:
		c.call.Arguments = r.json(args)
	}
	if c.call.Nonce = r.optional(m["nonce"], "nonce"); c.call.Nonce != "" && m["upstream"] != nil {
		r.Fault(m["upstream"], "leave it out", "a call with a nonce is done by the caller, not sent to an upstream")
	}
	return c
}

// httpCall reads a call through the proxy door.
func (r *reader) httpCall(m map[string]*yaml.Node, ids map[string]*step) *callStep {
	const form = "{method: POST, path: /billing/invoices, headers: {…}, body: {…}}"
	c := r.caller(m, ids)
	h := r.Members(m["http"], "http", form, "method", "path", "headers", "body")
	if h["method"] == nil || h["path"] == nil {
		r.Fault(m["http"], "write it as "+form, "http needs method and path")
		return c
	}
	header := r.headers(h["headers"])
	if n := h["body"]; n != nil {
		c.body = r.body(n, header)
	}
	for name, value := range map[string]string{"Idempotency-Key": c.call.IdempotencyKey, "Agentgw-Task": c.call.Context.Task,
		"Agentgw-Run": c.call.Context.Run, "Agentgw-Agent": c.call.Context.Agent, "Agentgw-Call-Id": c.call.Context.CallID,
		"Agentgw-Mode": string(c.call.Mode)} {
		if value != "" {
			header.Set(name, value)
		}
	}
	req, err := http.NewRequest(h["method"].Value, "http://gateway/proxy"+h["path"].Value, bytes.NewReader(c.body))
	if err != nil {
		r.Fault(h["path"], "write it as "+form, "%v", err)
		return c
	}
	req.Header, req.RemoteAddr = header, "127.0.0.1:1"
	c.request = req
	return c
}

// caller reads what all calls have.
func (r *reader) caller(m map[string]*yaml.Node, ids map[string]*step) *callStep {
	c := &callStep{script: r.script(m["upstream"])}
	c.call = agentgw.Call{Tenant: "default", Mode: agentgw.Execute, Principal: r.optional(m["principal"], "principal"),
		IdempotencyKey: r.optional(m["idempotency_key"], "idempotency_key")}
	if m["tenant"] != nil {
		c.call.Tenant = r.optional(m["tenant"], "tenant")
	}
	if n := m["mode"]; n != nil {
		c.call.Mode = agentgw.Mode(r.Word(n, "mode", "execute", "execute", "check", "redeliver"))
	}
	if n := m["context"]; n != nil {
		about := r.Members(n, "context", "{task: t-1, run: r-1}", "agent", "run", "task", "call_id")
		c.call.Context = agentgw.Context{Agent: r.optional(about["agent"], "agent"), Run: r.optional(about["run"], "run"),
			Task: r.optional(about["task"], "task"), CallID: r.optional(about["call_id"], "call_id")}
	}
	if n := m["hang_up"]; n != nil {
		c.hangUp = r.Duration(n, "hang_up", time.Millisecond, longest)
	}
	c.repeatOf = r.reference(m["repeat_of"], "repeat_of", ids)
	c.sameAs = r.reference(m["same_as"], "same_as", ids)
	c.expect = r.expectation(m["expect"], ids)
	return c
}

var (
	verdictWords = []string{"executed", "passed", "replayed", "in_flight", "conflict", "indeterminate", "blocked", "similar", "held", "denied",
		"expired", "rejected", "unavailable", "claimed"}
	reasonWords  = []string{"running", "locked", "state", "stale", "limit", "too_large"}
	outcomeWords = []string{"succeeded", "failed", "indeterminate"}
	stateWords   = []string{"claimed", "in_flight", "succeeded", "failed", "indeterminate", "voided", "held", "approved", "denied"}
)

// expectation reads a decision, or a map around it.
func (r *reader) expectation(n *yaml.Node, ids map[string]*step) expectation {
	e := expectation{sends: -1}
	if n == nil {
		return e
	}
	if n.Kind == yaml.ScalarNode {
		e.decision = agentgw.Verdict(r.Word(n, "expect", "", verdictWords...))
		return e
	}
	m := r.Members(n, "expect", "{decision: conflict, fields: [amount]}", "decision", "distinct", "same_answer_as", "answer", "fields",
		"reason", "outcome", "state", "sends")
	word := func(name string, words []string) string {
		if m[name] == nil {
			return ""
		}
		return r.Word(m[name], name, "", words...)
	}
	e.decision = agentgw.Verdict(word("decision", verdictWords))
	e.reason = word("reason", reasonWords)
	e.outcome = agentgw.Outcome(word("outcome", outcomeWords))
	e.state = agentgw.State(word("state", stateWords))
	e.noAnswer = word("answer", []string{"none"}) != ""
	e.sameAnswerAs = r.reference(m["same_answer_as"], "same_answer_as", ids)
	if n := m["distinct"]; n != nil {
		e.distinct = r.Bool(n, "distinct")
	}
	if n := m["fields"]; n != nil {
		e.fields, _ = r.Texts(n, "fields", "[amount]")
	}
	if n := m["sends"]; n != nil {
		e.sends = r.count(n, "sends")
	}
	return e
}

// event reads something that happens.
func (r *reader) event(m map[string]*yaml.Node, ids map[string]*step) *eventStep {
	e := &eventStep{name: r.Word(m["event"], "event", "", eventNames()...)}
	if e.name != "" && events[e.name] == nil {
		r.Fault(m["event"], "leave it out", "event: %s is not supported yet", e.name)
	}
	e.step = r.reference(m["step"], "step", ids)
	if n := m["expect"]; n != nil {
		e.refused = r.Word(n, "expect", "done", "done", "refused") == "refused"
	}
	return e
}
