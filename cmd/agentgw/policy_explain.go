package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/canonicalize/meaning"
	"agentgw/policy"
)

type policyExplainCmd struct {
	policyFlags
	Tool           string `help:"Name of the tool."`
	Args           string `help:"Its arguments as JSON." default:"{}"`
	Tenant         string `help:"Tenant; default is the one of the configuration's first principal."`
	Task           string `help:"The task this belongs to."`
	AgentRun       string `name:"run" help:"The run of the agent."`
	Agent          string `help:"The agent."`
	IdempotencyKey string `help:"The caller's own key."`
	Calls          string `help:"Explain many calls: a file of lines {\"id\", \"tool\", \"args\", \"task\"}." placeholder:"FILE.jsonl"`
	Near           bool   `help:"Show also the earlier effect that comes nearest, and what keeps the two apart: in the ledger of --config or --ledger; with --calls, the earlier line."`
	Ledger         string `help:"With --near: look into this ledger: file:PATH, redis://… or env:NAME." placeholder:"URL"`
	Key            string `help:"Secret with which --config's gateway is asked; env:NAME reads it from the environment."`
}

// Help is shown by `agentgw policy explain --help`.
func (policyExplainCmd) Help() string {
	return `Example:

    agentgw policy explain --policy policies/ --tool create_invoice --args '{"customer_id": " C-17 ", "month": "2026-11", "amount": "120", "currency": "EUR"}'

With --config the ledger is asked as well: what it remembers, and what would be decided now. Nothing is sent.
With --near, why a call is no duplicate: the earlier effect that shares most fields with it, and those that differ.
The exit code is 1 where the call would be rejected.`
}

// Run explains one call, or many.
func (c *policyExplainCmd) Run(a *app) error {
	p, conf, err := c.load(a)
	if err != nil {
		return err
	}
	if c.Calls != "" {
		return a.explainMany(p, c.Calls, c.Near)
	}
	if c.Near && conf == nil && c.Ledger == "" {
		return usagef("--near looks into a ledger: add --config FILE or --ledger URL, or compare the calls of a file with --calls FILE.jsonl")
	}
	if c.Tool == "" {
		return usagef("say which call: --tool NAME --args JSON, or --calls FILE.jsonl")
	}
	if conf != nil {
		if known := conf.policyEnv().Tools; known != nil && !known[c.Tool] {
			return usagef("%s has no tool %q; %s", conf.file, c.Tool, policy.DidYouMean(c.Tool, names(known)))
		}
	}
	call := &agentgw.Call{Tenant: cmp.Or(c.Tenant, tenantOf(conf)), Principal: principalOf(conf), Tool: c.Tool, Arguments: []byte(c.Args), IdempotencyKey: c.IdempotencyKey,
		Context: agentgw.Context{Agent: c.Agent, Run: c.AgentRun, Task: c.Task}}
	said, rejected := explain(p, call)
	var now *decision
	if rejected == nil && conf != nil {
		if now, err = c.ask(a, conf); err != nil {
			return err
		}
	}
	var near *policy.NearMiss
	if rejected == nil && c.Near && said.Operation != "" {
		if near, err = c.nearest(a, call.Tenant, said); err != nil {
			return err
		}
	}
	if a.json {
		err = a.writeExplanation(said, now, near, rejected)
	} else {
		a.showExplanation(call.Tenant, said, now, near)
	}
	switch {
	case err != nil || rejected == nil:
		return err
	case a.json:
		return &checkFailed{}
	}
	return &checkFailed{"rejected: " + rejected.Error()}
}

// explain reads a call as the gateway would. The error says why it would be rejected; what was found until then is said all the same.
func explain(p *policy.Policy, call *agentgw.Call) (*policy.Explanation, error) {
	repair, decode := p.Reading(call)
	args, _, err := canonicalize.ParseArguments(call.Arguments, repair, decode)
	if err != nil {
		return &policy.Explanation{}, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	return p.Explain(call, args)
}

const defaultTenant = "default"

func tenantOf(c *config) string {
	if c != nil && len(c.principals) > 0 {
		return c.principals[0].Tenant
	}
	return defaultTenant
}

func principalOf(c *config) string {
	if c != nil && len(c.principals) > 0 {
		return c.principals[0].Name
	}
	return ""
}

// ask asks the gateway what it would decide now.
func (c *policyExplainCmd) ask(a *app, conf *config) (*decision, error) {
	door, err := a.toAgents("", conf.file, c.Key)
	if err != nil {
		return nil, err
	}
	defer door.end()
	args, _ := json.Marshal(c.Args) // a string can always be encoded
	r, err := door.do(a.ctx, http.MethodPost, "/v1/calls", callBody{Tool: c.Tool, Arguments: args, IdempotencyKey: c.IdempotencyKey,
		Context: callContext{c.Agent, c.AgentRun, c.Task}, Mode: string(agentgw.Check)})
	if err != nil {
		return nil, err
	}
	d := &decision{}
	if json.Unmarshal(r.body, d) != nil || d.Decision == "" {
		return nil, r.problem()
	}
	return d, nil
}

// nearest asks the operators' door for the nearest earlier effect.
func (c *policyExplainCmd) nearest(a *app, tenant string, said *policy.Explanation) (*policy.NearMiss, error) {
	door, err := a.toOperators("", c.Ledger, c.Config, "")
	if err != nil {
		return nil, err
	}
	defer door.end()
	return door.nearest(a.ctx, tenant, said)
}

func (a *app) writeExplanation(said *policy.Explanation, now *decision, near *policy.NearMiss, err error) error {
	out := struct {
		*policy.Explanation
		Effect   *effectLine      `json:"effect,omitempty"`
		Decision string           `json:"decision,omitempty"`
		Reason   string           `json:"reason,omitempty"`
		Near     *policy.NearMiss `json:"near,omitempty"`
		Error    string           `json:"error,omitempty"`
	}{Explanation: said, Near: near}
	if now != nil {
		out.Effect, out.Decision, out.Reason = now.Effect, now.Decision, now.Reason
	}
	if err != nil {
		out.Error = err.Error()
	}
	return a.writeJSON(out)
}

// showExplanation writes one call as data: the picture that the README shows.
func (a *app) showExplanation(tenant string, said *policy.Explanation, now *decision, near *policy.NearMiss) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	if said.Call == "" {
		return
	}
	line("Call", "%s", said.Call)
	if said.Operation == "" {
		line("Operation", "none guards this call")
		return
	}
	line("Operation", "%s {%s}%s", said.Operation, inline(said.Fields), ignoredWords(said.Ignored))
	for _, f := range said.Fields {
		line("", "%-20s %-10s %s -> %s", f.Name, f.Role, cmp.Or(f.Raw, "absent"), cmp.Or(f.Canon, "nothing"))
	}
	for i, e := range said.Elements {
		line("", "element %d {%s} %s", i, inline(e.Fields), e.Key)
	}
	if said.Key != "" {
		line("Key", "%s", strings.Join(nonEmpty(tenant, said.Scope, said.Operation, said.Key), " · "))
	}
	line("Rule", "%s (%s)", said.Rule, said.Place)
	if now != nil {
		if now.Effect != nil {
			line("Effect", "%s", now.Effect.say())
		}
		line("Decision", "%s", words(now.Decision, now.Reason))
		if now.Outcome != "" {
			line("Outcome", "%s", now.Outcome)
		}
	}
	if near != nil {
		line("Near", "%s", near.Effect)
		for _, differs := range near.Lines() {
			line("", "%s", differs)
		}
	}
}

func inline(fields []policy.Explained) string {
	parts := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.Canon != "" {
			parts = append(parts, f.Name+": "+f.Canon)
		}
	}
	return strings.Join(parts, ", ")
}

func ignoredWords(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "   " + names[0] + " is ignored"
	}
	return "   " + strings.Join(names, ", ") + " are ignored"
}

// explainMany explains a file of calls as if each had been executed before the next.
func (a *app) explainMany(p *policy.Policy, file string, nearMisses bool) error {
	calls, err := readCalls(file)
	if err != nil {
		return err
	}
	var alike meaning.Lexical
	near := func(query map[string]string, candidates []map[string]string) []int {
		var found []int
		for _, l := range alike.Nearest(a.ctx, query, candidates) {
			found = append(found, l.Index)
		}
		return found
	}
	var misses policy.NearMisses
	return policy.ExplainCalls(p, calls, near, func(e policy.ExplainedCall) error {
		if nearMisses {
			e.Near = misses.Next(e)
		}
		if a.json {
			return a.writeJSON(e)
		}
		what := cmp.Or(e.Key, "no key")
		if e.Error != "" {
			what = "rejected: " + e.Error
		}
		if len(e.SimilarTo) > 0 {
			what += " similar to " + strings.Join(e.SimilarTo, ", ")
		}
		fmt.Fprintf(a.stdout, "%s  %s  %s\n", e.ID, cmp.Or(e.Operation, "not guarded"), what)
		if e.Near != nil {
			fmt.Fprintf(a.stdout, "   near %s: %s\n", e.Near.Call, strings.Join(e.Near.Lines(), "; "))
		}
		return nil
	})
}
