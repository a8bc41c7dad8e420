package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"agentgw"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
)

// house is a whole gateway over HTTP: a tool that counts, both listeners, metrics and a decision log.
type house struct {
	agents, operators *httptest.Server
	gateway           *Gateway
	metrics           *Metrics
	log               *bytes.Buffer
	answer            http.HandlerFunc // of the tool; nil: 201 and a number

	mu   sync.Mutex
	seen []seenRequest
}

type seenRequest struct {
	method, uri, body string
	header            http.Header
}

const housePolicy = `
version: 1
operations:
  invoice.issue:
    tools: [create_invoice]
    http: ["POST /billing/customers/{customer_id}/invoices"]
    key: {customer_id: id, period: month}
    must_match: {amount: money(JPY|grouped)}
    repeat: offer
  order.ship:
    tools: [ship_order]
    key: {order: code}
`

func openHouse(t *testing.T, principals Principals) *house {
	t.Helper()
	h := &house{log: new(bytes.Buffer)}
	tool := httptest.NewServer(http.HandlerFunc(h.serveTool))
	t.Cleanup(tool.Close)
	u, err := url.Parse(tool.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*Tool{
		"create_invoice": {Name: "create_invoice", Upstream: "billing", Path: "/customers/{customer_id}/invoices"},
		"ship_order":     {Name: "ship_order", Upstream: "billing", Path: "/ship", Body: "xml"},
		"find_invoice":   {Name: "find_invoice", Upstream: "billing", Method: "GET", Path: "/invoices/{id}", ReadOnly: true},
	}
	upstreams := map[string]*Upstream{"billing": {Name: "billing", URL: u, IdempotencyHeader: "Idempotency-Key",
		Headers: []agentgw.Header{{Name: "Authorization", Value: "Bearer the-tool's"}}}}
	store := memstore.New(memstore.Options{})
	l := ledger.New(store)
	t.Cleanup(func() { l.Close() })
	h.metrics = NewMetrics(l)
	sender := NewHTTP(tools, upstreams)
	t.Cleanup(sender.Close)
	h.gateway = New(Options{Policy: loadPolicy(t, housePolicy), Ledger: l, Sender: h.metrics.Time(sender, tools), Tools: tools, Upstreams: upstreams,
		Allowed: principals.Allowed, Observe: Observers{h.metrics, NewLog(h.log)}})
	h.agents = httptest.NewServer(h.gateway.Doors(DoorConfig{Principals: principals}))
	t.Cleanup(h.agents.Close)
	h.operators = httptest.NewServer(h.gateway.Admin(AdminConfig{Operators: Principals{{Name: "ops", Secret: "ops"}}, Metrics: h.metrics.Handler()}))
	t.Cleanup(h.operators.Close)
	return h
}

func (h *house) serveTool(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.seen = append(h.seen, seenRequest{r.Method, r.RequestURI, string(b), r.Header})
	n, answer := len(h.seen), h.answer
	h.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Set-Cookie", "session=1")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"invoice": %d}`, n)
}

// effects is how often the tool was called.
func (h *house) effects() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen)
}

type heard struct {
	Decision, Outcome, Reason, Detail string
	Effect                            struct {
		ID, State string
		Version   uint64
	}
	Fence       json.Number
	RepeatToken string `json:"repeat_token"`
	Fields      []string
	Result      struct{ Body json.RawMessage }
	Ignored     map[string][2]json.RawMessage
}

func (h *house) call(t *testing.T, path, body string, header ...string) (*http.Response, heard) {
	t.Helper()
	method := "POST"
	if strings.HasPrefix(path, "PUT ") || strings.HasPrefix(path, "GET ") {
		method, path, _ = strings.Cut(path, " ")
	}
	res, text := ask(t, method, h.agents.URL+path, body, header...)
	var v heard
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return res, v
}

// One invoice, asked for at every door in other words: one effect.
func TestOneEffectThroughAllDoors(t *testing.T) {
	h := openHouse(t, nil)
	res, v := h.call(t, "/v1/calls", `{"tool": "create_invoice", "arguments": {"customer_id": 7, "period": "2026-04", "amount": 250000, "memo": "April"}}`)
	if res.StatusCode != 200 || v.Decision != "executed" || v.Outcome != "succeeded" || string(v.Result.Body) != `{"invoice":1}` {
		t.Fatalf("%d %+v", res.StatusCode, v)
	}
	first := h.seen[0]
	if first.method != "POST" || first.uri != "/base/customers/7/invoices" || first.body != `{"period":"2026-04","amount":250000,"memo":"April"}` ||
		first.header.Get("Authorization") != "Bearer the-tool's" || !strings.HasPrefix(first.header.Get("Idempotency-Key"), "agentgw-") {
		t.Errorf("%+v", first)
	}
	effect := v.Effect.ID
	res, v = h.call(t, "/v1/calls", `{"tool": "create_invoice", "arguments": "{\"customer_id\": \" 7 \", \"period\": \"2026/4/30\", \"amount\": \"250,000\", \"memo\": \"again\"}"}`)
	if res.StatusCode != 200 || v.Decision != "replayed" || v.Effect.ID != effect || string(v.Ignored["memo"][0]) != `"April"` || v.RepeatToken == "" {
		t.Errorf("%d %+v", res.StatusCode, v)
	}
	proxied, body := ask(t, "POST", h.agents.URL+"/proxy/billing/customers/7/invoices/", "period=2026-04-01&amount=25%E4%B8%87", "Content-Type: application/x-www-form-urlencoded")
	if proxied.StatusCode != 201 || body != `{"invoice": 1}` || proxied.Header.Get("Idempotent-Replayed") != "true" || proxied.Header.Get("Agentgw-Effect") != effect ||
		proxied.Header.Get("Set-Cookie") != "" || proxied.Header.Get("Agentgw-Operation") != "invoice.issue" || proxied.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", proxied.StatusCode, body, proxied.Header)
	}
	_, body = ask(t, "POST", h.agents.URL+"/v1/openai/tool_calls", `{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function":
		{"name": "create_invoice", "arguments": "{\"amount\": \"¥250,000\", \"period\": \"2026-04\", \"customer_id\": \"7\"}"}}]}`)
	if !strings.Contains(body, `\"decision\":\"replayed\"`) || !strings.Contains(body, effect) {
		t.Error(body)
	}
	_, body = ask(t, "POST", h.agents.URL+"/v1/anthropic/tool_uses", `[{"type": "tool_use", "id": "u1", "name": "create_invoice", "input":
		{"amount": 250001, "period": "2026-04", "customer_id": 7}}]`)
	if !strings.Contains(body, `\"decision\":\"conflict\"`) || !strings.Contains(body, `\"fields\":[\"amount\"]`) || !strings.Contains(body, `"is_error":true`) {
		t.Error(body)
	}
	res, v = h.call(t, "GET /v1/effects/"+effect, "")
	if res.StatusCode != 200 || v.Effect.State != "succeeded" || string(v.Result.Body) != `{"invoice":1}` {
		t.Errorf("%d %+v", res.StatusCode, v)
	}
	if n := h.effects(); n != 1 {
		t.Errorf("%d effects", n)
	}
}

func TestRepeatByToken(t *testing.T) {
	h := openHouse(t, nil)
	const call = `{"tool": "create_invoice", "arguments": {"customer_id": 7, "period": "2026-04", "amount": 1}`
	h.call(t, "/v1/calls", call+`}`)
	_, v := h.call(t, "/v1/calls", call+`}`)
	quoted, _ := json.Marshal(v.RepeatToken)
	_, body := ask(t, "POST", h.agents.URL+"/v1/anthropic/tool_uses", `[{"type": "tool_use", "id": "u", "name": "agentgw_call", "input": `+call+`, "repeat_token": `+string(quoted)+`}}]`)
	if !strings.Contains(body, `{\"invoice\": 2}`) {
		t.Error(body)
	}
	_, v = h.call(t, "/v1/calls", call+`, "repeat_token": `+string(quoted)+`}`)
	if v.Decision != "replayed" || h.effects() != 2 {
		t.Errorf("%+v, %d effects", v, h.effects())
	}
}

// The proxy shows the tool's own answer the first time too, live headers included, and forwards the request as it came.
func TestProxyExecutes(t *testing.T) {
	h := openHouse(t, nil)
	const xml = "<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><o><period>2026-04</period><amount currency=\"JPY\">100</amount></o>"
	res, body := ask(t, "POST", h.agents.URL+"/proxy/billing/customers/%37/invoices?amount=100&x=%20", `{ "period": "2026-04" }`, "Content-Type: application/json", "X-Any: 1", "Idempotency-Key: mine")
	if res.StatusCode != 201 || body != `{"invoice": 1}` || res.Header.Get("Agentgw-Decision") != "executed" || res.Header.Get("Set-Cookie") != "session=1" ||
		res.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%d %s %v", res.StatusCode, body, res.Header)
	}
	got := h.seen[0]
	if got.uri != "/base/customers/%37/invoices?amount=100&x=%20" || got.body != `{ "period": "2026-04" }` || got.header.Get("X-Any") != "1" ||
		strings.Contains(fmt.Sprint(got.header), "mine") || got.header.Get("Authorization") != "Bearer the-tool's" {
		t.Errorf("%+v", got)
	}
	if res, body := ask(t, "POST", h.agents.URL+"/proxy/billing/customers/7/invoices", xml, "Content-Type: text/xml"); res.StatusCode != 400 || !strings.Contains(body, "amount") {
		t.Errorf("an amount with attributes is no money: %d %s", res.StatusCode, body)
	}
	if res, _ := ask(t, "GET", h.agents.URL+"/proxy/billing/anything?q=1", ""); res.StatusCode != 201 || res.Header.Get("Agentgw-Decision") != "passed" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	if res, _ := ask(t, "POST", h.agents.URL+"/proxy/billing/anything", ""); res.StatusCode != 403 || h.effects() != 2 {
		t.Errorf("%d", res.StatusCode)
	}
}

// Lost answers at both doors: the truth, and no second effect; then an operator's word.
func TestDoubtAndOperators(t *testing.T) {
	h := openHouse(t, nil)
	h.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	const path, arguments = "/proxy/billing/customers/7/invoices", `{"period": "2026-04", "amount": 1}`
	res, body := ask(t, "POST", h.agents.URL+path, arguments, "Content-Type: application/json")
	if res.StatusCode != 409 || !strings.Contains(body, `"decision":"executed","outcome":"indeterminate"`) || res.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	res, body = ask(t, "POST", h.agents.URL+path, arguments, "Content-Type: application/json")
	if res.StatusCode != 409 || !strings.Contains(body, `"decision":"indeterminate"`) || h.effects() != 1 {
		t.Errorf("%d %s, %d effects", res.StatusCode, body, h.effects())
	}
	id := res.Header.Get("Agentgw-Effect")

	admin := func(method, path, body string) (int, string) {
		t.Helper()
		res, text := ask(t, method, h.operators.URL+path, body, "Authorization: Bearer ops")
		return res.StatusCode, text
	}
	code, list := admin("GET", "/v1/effects?state=indeterminate&operation=invoice.issue&q="+id+"&limit=10", "")
	var page struct {
		Effects []struct {
			ID, State, Tenant, Operation string
			Version                      json.Number
			Fields                       []struct{ Name, Raw, Canonical string }
		}
	}
	if err := json.Unmarshal([]byte(list), &page); err != nil || code != 200 || len(page.Effects) != 1 || page.Effects[0].ID != id ||
		page.Effects[0].Tenant != "default" || len(page.Effects[0].Fields) != 3 {
		t.Fatalf("%d %s", code, list)
	}
	version := page.Effects[0].Version.String()
	for _, c := range []struct {
		path, body string
		code       int
		detail     string
	}{
		{"/v1/effects/" + id + "/resolve", `{"outcome": "succeeded", "reason": "found in the bank's list"}`, 400, "/version: is absent"},
		{"/v1/effects/" + id + "/resolve", `{"outcome": "maybe", "version": 1}`, 400, `/outcome: is "maybe"; send "succeeded" or "failed"`},
		{"/v1/effects/" + id + "/resolve", `{"outcome": "indeterminate", "version": 1}`, 400, `/outcome: is "indeterminate"; send "succeeded" or "failed"`},
		{"/v1/effects/" + id + "/resolve", `{"outcome": "succeeded", "version": 1, "reson": ""}`, 400, "did you mean reason?"},
		{"/v1/effects/" + id + "/resolve", `{"outcome": "succeeded", "version": 1}`, 409, `"reason":"stale"`},
		{"/v1/effects/" + id + "/void", `{"version": ` + version + `}`, 409, `"reason":"state"`},
		{"/v1/effects/" + someID(9).String() + "/void", `{"version": 1}`, 404, "no such effect"},
		{"/v1/effects/x/void", `{"version": 1}`, 404, "no such effect"},
	} {
		if code, text := admin("POST", c.path, c.body); code != c.code || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), c.detail) {
			t.Errorf("%s %s: %d %s", c.path, c.body, code, text)
		}
	}
	code, text := admin("POST", "/v1/effects/"+id+"/resolve", `{"outcome": "succeeded", "version": `+version+`, "reason": "found in the bank's list",
		"result": {"status": 201, "headers": {"Content-Type": "application/json"}, "body": {"invoice": 81}}}`)
	if code != 200 || !strings.Contains(text, `"state":"succeeded"`) || !strings.Contains(text, "found in the bank's list") || !strings.Contains(text, "ops") {
		t.Errorf("%d %s", code, text)
	}
	res, body = ask(t, "POST", h.agents.URL+path, arguments, "Content-Type: application/json")
	if res.StatusCode != 201 || body != `{"invoice": 81}` || res.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	code, text = admin("GET", "/v1/effects/"+id, "")
	var now struct{ Version json.Number }
	if err := json.Unmarshal([]byte(text), &now); err != nil || code != 200 {
		t.Fatal(text)
	}
	if code, text := admin("POST", "/v1/effects/"+id+"/void", `{"version": `+now.Version.String()+`, "reason": "wrong customer"}`); code != 200 || !strings.Contains(text, `"state":"voided"`) {
		t.Errorf("%d %s", code, text)
	}
	h.answer = nil
	if res, _ := ask(t, "POST", h.agents.URL+path, arguments, "Content-Type: application/json"); res.Header.Get("Agentgw-Decision") != "executed" || h.effects() != 2 {
		t.Errorf("%v, %d effects", res.Header, h.effects())
	}
	if h.seen[0].header.Get("Idempotency-Key") == h.seen[1].header.Get("Idempotency-Key") {
		t.Error("after a void the upstream's key must be another")
	}
}

func TestOperatorsOnly(t *testing.T) {
	h := openHouse(t, nil)
	for _, path := range []string{"/v1/effects", "/v1/effects/" + someID(1).String(), "/metrics"} {
		if res, _ := ask(t, "GET", h.operators.URL+path, ""); res.StatusCode != 401 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if res, body := ask(t, "GET", h.operators.URL+path, ""); res.StatusCode != 200 || body != "ok\n" {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if res, body := ask(t, "GET", h.operators.URL+"/v1/effects?limit=0", "", "Agentgw-Key: ops"); res.StatusCode != 400 {
		t.Error(body)
	}
	if res, body := ask(t, "GET", h.operators.URL+"/v1/effects", "", "Agentgw-Key: ops"); res.StatusCode != 200 || body != `{"effects":[]}`+"\n" {
		t.Error(body)
	}
}

func TestBeginRenewComplete(t *testing.T) {
	h := openHouse(t, nil)
	const call = `{"tool": "ship_order", "arguments": {"order": "A-1"}, "nonce": "click-1"}`
	res, v := h.call(t, "/v1/effects", call)
	if res.StatusCode != 200 || v.Decision != "claimed" || v.Fence == "" {
		t.Fatalf("%d %+v", res.StatusCode, v)
	}
	if _, again := h.call(t, "/v1/effects", call); again.Decision != "claimed" || again.Fence != v.Fence || again.Effect.ID != v.Effect.ID {
		t.Errorf("the same nonce: %+v", again)
	}
	if res, other := h.call(t, "/v1/effects", strings.Replace(call, "click-1", "click-2", 1)); res.StatusCode != 409 || other.Decision != "in_flight" || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %+v", res.StatusCode, other)
	}
	at := "PUT /v1/effects/" + v.Effect.ID
	if res, _ := h.call(t, at+"/lease", `{"fence": `+v.Fence.String()+`}`); res.StatusCode != 200 {
		t.Errorf("lease: %d", res.StatusCode)
	}
	if res, stale := h.call(t, at+"/lease", `{"fence": 1}`); res.StatusCode != 409 || stale.Reason != "stale" {
		t.Errorf("lease under another fence: %d", res.StatusCode)
	}
	outcome := `{"fence": ` + v.Fence.String() + `, "outcome": "succeeded", "result": {"body": {"slip": "S-1"}}}`
	for range 2 {
		if res, done := h.call(t, at+"/outcome", outcome); res.StatusCode != 200 || done.Effect.State != "succeeded" {
			t.Errorf("%d %+v", res.StatusCode, done)
		}
	}
	if res, _ := h.call(t, at+"/outcome", strings.Replace(outcome, "succeeded", "failed", 1)); res.StatusCode != 409 {
		t.Errorf("another outcome: %d", res.StatusCode)
	}
	_, v = h.call(t, "/v1/calls", `{"tool": "ship_order", "arguments": {"order": "a-1"}}`)
	if v.Decision != "replayed" || string(v.Result.Body) != `{"slip":"S-1"}` || h.effects() != 0 {
		t.Errorf("%+v, %d effects", v, h.effects())
	}
}

// Who could name a nonce for what the gateway sends could also say how it ended.
func TestNonceIsForOwnActions(t *testing.T) {
	h := openHouse(t, nil)
	args := `{"tool": "ship_order", "arguments": {"order": "A-1"}, "nonce": "mine"}`
	if res, v := h.call(t, "/v1/calls", args); res.StatusCode != 400 || v.Decision != "rejected" || h.effects() != 0 {
		t.Errorf("%d %+v, %d effects", res.StatusCode, v, h.effects())
	}
}

// Arguments must not lead an unguarded tool to a route that is guarded.
func TestToolStraysToAGuardedRoute(t *testing.T) {
	h := openHouse(t, nil)
	h.gateway.Unmatched = "pass"
	h.gateway.Tools["any_action"] = &Tool{Name: "any_action", Upstream: "billing", Path: "/customers/7/{action}"}
	if res, v := h.call(t, "/v1/calls", `{"tool": "any_action", "arguments": {"action": "invoices"}}`); res.StatusCode != 400 || !strings.Contains(v.Detail, "invoice.issue") || h.effects() != 0 {
		t.Errorf("%d %+v, %d effects", res.StatusCode, v, h.effects())
	}
	if res, v := h.call(t, "/v1/calls", `{"tool": "any_action", "arguments": {"action": "notes"}}`); res.StatusCode != 200 || v.Decision != "passed" {
		t.Errorf("%d %+v", res.StatusCode, v)
	}
}

// The URL of an upstream may hold a secret.
func TestNoAnswerTellsTheURL(t *testing.T) {
	h := openHouse(t, nil)
	u := h.gateway.Upstreams["billing"].URL
	u.Host, u.RawQuery = "127.0.0.1:1", "api_key=hush"
	if res, v := h.call(t, "/v1/calls", `{"tool": "ship_order", "arguments": {"order": "A-1"}}`); res.StatusCode != 424 || strings.Contains(v.Detail+h.log.String(), "hush") {
		t.Errorf("%d %+v\n%s", res.StatusCode, v, h.log)
	}
}

func TestTenantsAndPrincipals(t *testing.T) {
	h := openHouse(t, Principals{{Name: "red", Secret: "r", Tenant: "red"}, {Name: "blue", Secret: "b", Tenant: "blue"},
		{Name: "clerk", Secret: "c", Tenant: "red", Operations: []string{"order.*"}}})
	const call = `{"tool": "create_invoice", "arguments": {"customer_id": 7, "period": "2026-04", "amount": 1}}`
	_, red := h.call(t, "/v1/calls", call, "Agentgw-Key: r")
	_, blue := h.call(t, "/v1/calls", call, "Agentgw-Key: b")
	if red.Decision != "executed" || blue.Decision != "executed" || red.Effect.ID == blue.Effect.ID {
		t.Errorf("%+v %+v", red, blue)
	}
	if res, _ := h.call(t, "GET /v1/effects/"+red.Effect.ID, "", "Agentgw-Key: b"); res.StatusCode != 404 {
		t.Errorf("another tenant's effect: %d", res.StatusCode)
	}
	if res, v := h.call(t, "/v1/calls", call, "Agentgw-Key: c"); res.StatusCode != 403 || v.Decision != "denied" {
		t.Errorf("%d %+v", res.StatusCode, v)
	}
	res, body := ask(t, "POST", h.agents.URL+"/proxy/billing/customers/7/invoices", `{"period": "2026-04", "amount": 1}`, "Content-Type: application/json", "Authorization: Bearer c")
	if res.StatusCode != 403 || h.effects() != 2 {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for _, s := range h.seen {
		if strings.Contains(fmt.Sprint(s.header), "Agentgw") {
			t.Errorf("%v", s.header)
		}
	}
}

func TestMetricsAndLog(t *testing.T) {
	h := openHouse(t, nil)
	const call = `{"tool": "create_invoice", "arguments": {"customer_id": 7, "period": "2026-04", "amount": 1}, "context": {"task": "t1", "call_id": "c9"}}`
	h.call(t, "/v1/calls", call)
	h.call(t, "/v1/calls", call)
	h.call(t, "/v1/calls", `{"tool": "nothing"}`)
	ask(t, "GET", h.agents.URL+"/proxy/billing/x?q=1", "", "Authorization: Bearer hush")
	h.metrics.Doubts(map[string]int{"invoice.issue": 3})
	_, text := ask(t, "GET", h.operators.URL+"/metrics", "", "Agentgw-Key: ops")
	for _, want := range []string{
		`agentgw_decisions_total{decision="executed",operation="invoice.issue",outcome="succeeded"} 1`,
		`agentgw_decisions_total{decision="replayed",operation="invoice.issue",outcome="succeeded"} 1`,
		`agentgw_decisions_total{decision="rejected",operation="",outcome=""} 1`,
		`agentgw_decision_seconds_count{decision="executed"} 1`,
		`agentgw_upstream_seconds_count{result="answered",upstream="billing"} 2`,
		`agentgw_effects_in_doubt{operation="invoice.issue"} 3`,
		fmt.Sprintf("agentgw_ledger_round_trips_total %d", h.gateway.Ledger.Trips()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	h.metrics.Doubts(nil)
	if _, text := ask(t, "GET", h.operators.URL+"/metrics", "", "Agentgw-Key: ops"); strings.Contains(text, "agentgw_effects_in_doubt{") {
		t.Error("a doubt that is resolved is still counted")
	}
	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	var first, read struct {
		Time, Decision, Outcome, Operation, Effect, Tool, Task, ID, Request string
		Args, Fields                                                        map[string]any
	}
	if len(lines) != 4 || json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[3]), &read) != nil {
		t.Fatalf("%s", h.log)
	}
	if first.Time == "" || first.Decision != "executed" || first.Outcome != "succeeded" || first.Operation != "invoice.issue" || first.Effect == "" ||
		first.Tool != "create_invoice" || first.Task != "t1" || first.ID != "c9" || first.Args["period"] != "2026-04" || first.Fields["customer_id"] == "" {
		t.Errorf("%s", lines[0])
	}
	if read.Request != "GET /billing/x" || strings.Contains(h.log.String(), "hush") {
		t.Errorf("%s", lines[3])
	}
}
