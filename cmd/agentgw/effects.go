package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentgw/policy"
)

type effectsCmd struct {
	List    effectsListCmd    `cmd:"" help:"List effects, page by page; each page newest first."`
	Show    effectsShowCmd    `cmd:"" help:"Show one effect."`
	Resolve effectsResolveCmd `cmd:"" help:"Say how an effect in doubt ended."`
	Void    effectsVoidCmd    `cmd:"" help:"Free a success: the next call executes."`
}

// ledgerFlags say whose effects are meant.
type ledgerFlags struct {
	Admin  string `help:"Operators' address of a running gateway. Without it, the one that --config tells of; where that does not run, its ledger is opened." placeholder:"URL"`
	Ledger string `help:"Open this ledger instead: file:PATH, redis://… or env:NAME." placeholder:"URL"`
	Config string `short:"c" default:"agentgw.yaml" help:"Configuration file." placeholder:"FILE"`
	Key    string `help:"Operator's secret; env:NAME reads it from the environment. AGENTGW_KEY is used without it."`
}

// ask asks the operators' door once.
func (f *ledgerFlags) ask(a *app, method, path string, body, v any) ([]byte, error) {
	door, err := a.toOperators(f.Admin, f.Ledger, f.Config, f.Key)
	if err != nil {
		return nil, err
	}
	defer door.end()
	return door.ask(a.ctx, method, path, body, v)
}

// effect is an effect as operators see it.
type effect struct {
	ID        string          `json:"id"`
	State     string          `json:"state"`
	Version   uint64          `json:"version"`
	Attempt   int             `json:"attempt"`
	FirstSeen *time.Time      `json:"first_seen"`
	Updated   *time.Time      `json:"updated"`
	Settled   *time.Time      `json:"settled"`
	Expires   *time.Time      `json:"expires"`
	Lease     *time.Time      `json:"lease_expires"`
	Operation string          `json:"operation"`
	Tenant    string          `json:"tenant"`
	Principal string          `json:"principal"`
	Context   *callContext    `json:"context"`
	Why       string          `json:"why"`
	Fields    []field         `json:"fields"`
	Arguments json.RawMessage `json:"arguments"`
	Result    *result         `json:"result"`
	Evidence  []string        `json:"evidence"`
	Holds     []string        `json:"holds"`

	Near *policy.NearMiss `json:"near"` // why it was not a duplicate of the nearest earlier one
}

// effectsPage is one page of a list.
type effectsPage struct {
	Effects []effect `json:"effects"`
	Cursor  string   `json:"cursor"` // of the next one; "" at the end
}

type field struct {
	Name      string `json:"name"`
	Raw       string `json:"raw"`
	Canonical string `json:"canonical"`
}

type effectsListCmd struct {
	ledgerFlags
	State     string `enum:",claimed,in_flight,succeeded,failed,indeterminate,voided" default:"" help:"Only effects in this state; those in doubt are indeterminate."`
	Operation string `help:"Only effects of this operation."`
	Tenant    string `help:"Only effects of this tenant."`
	Query     string `short:"q" help:"Only effects whose id, fields, principal or context hold this text." placeholder:"TEXT"`
	Limit     int    `default:"50" help:"How many at most."`
	Cursor    string `help:"Where the page before ended."`
}

// Run lists one page.
func (c *effectsListCmd) Run(a *app) error {
	q := url.Values{}
	for name, value := range map[string]string{"state": c.State, "operation": c.Operation, "tenant": c.Tenant, "q": c.Query, "cursor": c.Cursor, "limit": strconv.Itoa(c.Limit)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var page effectsPage
	text, err := c.ask(a, http.MethodGet, "/v1/effects?"+q.Encode(), nil, &page)
	if err != nil {
		return err
	}
	if a.json {
		_, err = a.stdout.Write(text)
		return err
	}
	if len(page.Effects) == 0 {
		fmt.Fprintln(a.stdout, "There are no such effects.")
		return nil
	}
	a.table(effectRows(page.Effects))
	if page.Cursor != "" {
		fmt.Fprintf(a.stdout, "There are more: --cursor %s\n", page.Cursor)
	}
	return nil
}

// effectRows are effects for people. Their tenant is said where there is more than one.
func effectRows(all []effect) [][]string {
	rows := [][]string{{"STATE", "OPERATION", "FIELDS", "UPDATED", "BY", "ID"}}
	for _, e := range all {
		rows = append(rows, []string{e.State, e.Operation, shorten(e.fields(), 48), ago(e.Updated), e.who(), e.ID})
	}
	if !slices.ContainsFunc(all, func(e effect) bool { return e.Tenant != all[0].Tenant }) {
		return rows
	}
	rows[0] = append([]string{"TENANT"}, rows[0]...)
	for i, e := range all {
		rows[i+1] = append([]string{e.Tenant}, rows[i+1]...)
	}
	return rows
}

func (e *effect) fields() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Name + "=" + f.Canonical
	}
	return strings.Join(parts, " ")
}

func (e *effect) who() string {
	parts := []string{e.Principal}
	if e.Context != nil {
		parts = append(parts, e.Context.Agent, e.Context.Run, e.Context.Task)
	}
	return strings.ReplaceAll(words(parts...), " ", "/")
}

type effectsShowCmd struct {
	ledgerFlags
	ID string `arg:"" help:"Effect id (eff_…)."`
}

// Run shows one effect.
func (c *effectsShowCmd) Run(a *app) error {
	var e effect
	text, err := c.ask(a, http.MethodGet, "/v1/effects/"+url.PathEscape(c.ID), nil, &e)
	if err != nil {
		return err
	}
	return a.showEffect(text, &e)
}

type effectsResolveCmd struct {
	ledgerFlags
	ID      string `arg:"" help:"Effect id (eff_…)."`
	Outcome string `arg:"" enum:"succeeded,failed" help:"succeeded: it happened, and duplicates are told so. failed: it did not, and the next call executes."`
	Reason  string `required:"" help:"How you know; it is recorded."`
	Version uint64 `help:"Version of the effect that you looked at: refused where it has moved on since. Without it, the one that stands there."`
	Result  string `help:"Body of the answer that duplicates get, as JSON." placeholder:"JSON"`
}

// resolution is what an operator says of an effect.
type resolution struct {
	Outcome string           `json:"outcome,omitempty"`
	Version uint64           `json:"version"`
	Reason  string           `json:"reason"`
	Result  *operatorsAnswer `json:"result,omitempty"`
}

// operatorsAnswer is the answer that duplicates get.
type operatorsAnswer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func jsonAnswer(body string) *operatorsAnswer {
	return &operatorsAnswer{http.StatusOK, map[string]string{"Content-Type": "application/json"}, json.RawMessage(body)}
}

// Run settles a doubt.
func (c *effectsResolveCmd) Run(a *app) error {
	said := resolution{Outcome: c.Outcome, Version: c.Version, Reason: c.Reason}
	if c.Result != "" {
		if !json.Valid([]byte(c.Result)) {
			return usagef("--result is not JSON: %s", c.Result)
		}
		said.Result = jsonAnswer(c.Result)
	}
	return c.change(a, c.ID, "resolve", said)
}

type effectsVoidCmd struct {
	ledgerFlags
	ID      string `arg:"" help:"Effect id (eff_…)."`
	Reason  string `required:"" help:"Why; it is recorded."`
	Version uint64 `help:"Version of the effect that you looked at: refused where it has moved on since."`
}

// Run frees a success.
func (c *effectsVoidCmd) Run(a *app) error {
	return c.change(a, c.ID, "void", resolution{Version: c.Version, Reason: c.Reason})
}

// change says something of an effect, and writes how it stands then. Without a version, it is of the one that stands there.
func (f *ledgerFlags) change(a *app, id, verb string, said resolution) error {
	door, err := a.toOperators(f.Admin, f.Ledger, f.Config, f.Key)
	if err != nil {
		return err
	}
	defer door.end()
	path := "/v1/effects/" + url.PathEscape(id)
	var e effect
	if said.Version == 0 {
		if _, err := door.ask(a.ctx, http.MethodGet, path, nil, &e); err != nil {
			return err
		}
		said.Version = e.Version
	}
	e = effect{}
	text, err := door.ask(a.ctx, http.MethodPost, path+"/"+verb, said, &e)
	if err != nil {
		return err
	}
	return a.showEffect(text, &e)
}

// showEffect writes one effect.
func (a *app) showEffect(text []byte, e *effect) error {
	if a.json {
		_, err := a.stdout.Write(text)
		return err
	}
	rows := [][]string{{"Effect", e.ID}, {"State", words(e.State, ago(e.Updated))}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("Why", e.Why)
	add("Operation", e.Operation)
	for _, f := range e.Fields {
		add("  "+f.Name, f.Canonical)
	}
	add("Tenant", e.Tenant)
	add("By", e.who())
	add("Attempts", strconv.Itoa(e.Attempt))
	add("First seen", stamp(e.FirstSeen))
	add("Settled", stamp(e.Settled))
	add("Expires", stamp(e.Expires))
	add("Lease until", stamp(e.Lease))
	add("Holds", strings.Join(e.Holds, ", "))
	add("Arguments", string(e.Arguments))
	if e.Result != nil {
		add("Answer", words(strconv.Itoa(e.Result.Status), string(e.Result.Body)))
	}
	if e.Near != nil {
		add("Near", e.Near.Effect)
		for _, line := range e.Near.Lines() {
			add("", line)
		}
	}
	for _, line := range e.Evidence {
		add("Evidence", line)
	}
	add("Version", strconv.FormatUint(e.Version, 10))
	a.table(rows)
	return nil
}

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// ago is how long ago something was, as people say it.
func ago(t *time.Time) string {
	if t == nil {
		return ""
	}
	d := time.Since(*t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
