package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

type callCmd struct {
	Tool string `arg:"" help:"Name of the tool."`
	Args string `arg:"" help:"Its arguments as JSON; - reads them from standard input."`

	URL    string `name:"url" help:"Address of a running gateway. Without it, the one that --config tells of; where that does not run, the call is made in this process."`
	Config string `short:"c" default:"agentgw.yaml" help:"Configuration file." placeholder:"FILE"`
	Key    string `help:"Secret to present; env:NAME reads it from the environment. AGENTGW_KEY is used without it."`

	Mode           string `enum:"execute,check,redeliver" default:"execute" help:"check says what would be decided and sends nothing; redeliver does only what is missing."`
	IdempotencyKey string `help:"The caller's own key."`
	RepeatToken    string `help:"From an earlier answer: do it once more on purpose."`
	SameAs         string `help:"From an earlier answer: it is that effect."`
	Task           string `help:"The task this belongs to."`
	AgentRun       string `name:"run" help:"The run of the agent."`
	Agent          string `help:"The agent."`
}

// callBody is the native body of a call.
type callBody struct {
	Tool           string          `json:"tool"`
	Arguments      json.RawMessage `json:"arguments"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	RepeatToken    string          `json:"repeat_token,omitempty"`
	SameAs         string          `json:"same_as,omitempty"`
	Context        callContext     `json:"context,omitzero"`
	Mode           string          `json:"mode,omitempty"`
}

type callContext struct {
	Agent string `json:"agent,omitempty"`
	Run   string `json:"run,omitempty"`
	Task  string `json:"task,omitempty"`
}

// Help is shown by `agentgw call --help`.
func (callCmd) Help() string {
	return `Example:

    agentgw call create_invoice '{"customer_id": "C-17", "month": "2026-11", "amount": "120.00", "currency": "EUR"}'

The exit code is 0 where the call is done (now or before), 1 where it is refused, has failed, or is in doubt.`
}

// Run makes the call and shows the decision.
func (c *callCmd) Run(a *app) error {
	args, err := c.arguments(a)
	if err != nil {
		return err
	}
	door, err := a.toAgents(c.URL, c.Config, c.Key)
	if err != nil {
		return err
	}
	defer door.end()
	body := callBody{Tool: c.Tool, Arguments: args, IdempotencyKey: c.IdempotencyKey, RepeatToken: c.RepeatToken, SameAs: c.SameAs,
		Context: callContext{c.Agent, c.AgentRun, c.Task}, Mode: c.Mode}
	r, err := door.do(a.ctx, http.MethodPost, "/v1/calls", body)
	if err != nil {
		return err
	}
	if a.json {
		fmt.Fprintln(a.stdout, strings.TrimSpace(string(r.body)))
	} else if err := a.showDecision(r); err != nil {
		return err
	}
	if r.status != http.StatusOK {
		return &checkFailed{r.hint}
	}
	return nil
}

// arguments are sent as a JSON string, so that the gateway, and not this command, reads the text that was given.
func (c *callCmd) arguments(a *app) (json.RawMessage, error) {
	text := c.Args
	if text == "-" {
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return nil, usage(err)
		}
		text = string(b)
	}
	return json.Marshal(text)
}

// decision is what the native door answers, as far as it is shown here.
type decision struct {
	Decision    string                        `json:"decision"`
	Outcome     string                        `json:"outcome"`
	Reason      string                        `json:"reason"`
	Detail      string                        `json:"detail"`
	Operation   string                        `json:"operation"`
	Effect      *effectLine                   `json:"effect"`
	Result      *result                       `json:"result"`
	Fields      []string                      `json:"fields"`
	Ignored     map[string][2]json.RawMessage `json:"ignored"`
	RepeatToken string                        `json:"repeat_token"`
}

// effectLine is an effect as callers see it.
type effectLine struct {
	ID        string     `json:"id"`
	State     string     `json:"state"`
	Attempt   int        `json:"attempt"`
	FirstSeen *time.Time `json:"first_seen"`
	Expires   *time.Time `json:"expires"`
}

// say is the effect in words: "succeeded, 4m ago, attempt 1".
func (e *effectLine) say() string {
	if e.State == "" {
		return "nothing is remembered"
	}
	return fmt.Sprintf("%s, %s, attempt %d", e.State, ago(e.FirstSeen), e.Attempt)
}

type result struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// showDecision writes a decision for people.
func (a *app) showDecision(r *reply) error {
	var d decision
	if err := json.Unmarshal(r.body, &d); err != nil || d.Decision == "" {
		return r.problem()
	}
	rows := [][]string{{"Decision", words(d.Decision, d.Outcome, d.Reason)}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("Operation", d.Operation)
	if d.Effect != nil {
		add("Effect", words(d.Effect.ID, d.Effect.State))
	}
	if d.Result != nil {
		add("Answer", words(fmt.Sprint(d.Result.Status), string(d.Result.Body)))
	}
	add("Differs", strings.Join(d.Fields, ", "))
	for _, name := range names(d.Ignored) {
		add("Ignored", fmt.Sprintf("%s: first %s, now %s", name, d.Ignored[name][0], d.Ignored[name][1]))
	}
	add("Once more", d.RepeatToken)
	add("", d.Detail)
	a.table(rows)
	return nil
}

// nonEmpty leaves out what is "".
func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// words joins what is not "".
func words(all ...string) string {
	return strings.Join(nonEmpty(all...), " ")
}
