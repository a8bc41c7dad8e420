package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/ledger"
	"agentgw/policy"
)

// scriptedFlow answers each call with the next decision and remembers what it was asked.
type scriptedFlow struct {
	say    []Response
	calls  []*agentgw.Call
	effect *agentgw.Effect
	err    error
	fence  uint64
	result agentgw.Result
}

func (f *scriptedFlow) Do(_ context.Context, call *agentgw.Call) Response {
	f.calls = append(f.calls, call)
	if len(f.say) == 0 {
		return Response{Decision: &agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Succeeded, Answer: &agentgw.Answer{Status: 200}}}
	}
	res := f.say[0]
	f.say = f.say[1:]
	return res
}

func (f *scriptedFlow) Begin(ctx context.Context, call *agentgw.Call) *agentgw.Decision {
	return f.Do(ctx, call).Decision
}

func (f *scriptedFlow) Renew(ctx context.Context, tenant string, _ agentgw.EffectID, fence uint64) (*agentgw.Effect, error) {
	return f.Complete(ctx, tenant, agentgw.EffectID{}, fence, agentgw.Result{})
}

func (f *scriptedFlow) Complete(_ context.Context, _ string, _ agentgw.EffectID, fence uint64, res agentgw.Result) (*agentgw.Effect, error) {
	f.fence, f.result = fence, res
	return f.effect, f.err
}

func (f *scriptedFlow) Effect(_ context.Context, tenant string, _ agentgw.EffectID) (*agentgw.Effect, error) {
	if f.effect == nil || f.effect.Tenant != tenant {
		return nil, ledger.ErrNotFound
	}
	return f.effect, f.err
}

const doorsPolicy = `
version: 1
operations:
  invoice.issue:
    tools: [create_invoice]
    http: ["POST /billing/customers/{customer_id}/invoices"]
    key: {customer_id: id}
  order.approve:
    tools: [approve_order]
    repeat: never
    key: {id: id}
`

var (
	doorsTools = map[string]*Tool{
		"create_invoice": {Name: "create_invoice", Upstream: "billing", Path: "/customers/{customer_id}/invoices", Description: "Issue an invoice",
			Input: json.RawMessage(`{"type":"object", "properties":{"b":{},"a":{}}}`)},
		"approve_order": {Name: "approve_order", Upstream: "erp", Path: "/orders/{order}/approve"},
		"search_orders": {Name: "search_orders", Upstream: "erp", Path: "/orders/search/approve", ReadOnly: true},
		"a":             {Name: "a", Upstream: "erp", Path: "/soap"},
		"b":             {Name: "b", Upstream: "erp", Path: "/soap"},
	}
	doorsUpstreams = map[string]*Upstream{"billing": {Name: "billing", URL: &url.URL{}}, "erp": {Name: "erp", URL: &url.URL{}}, "desk": {Name: "desk"}}
)

func loadPolicy(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load([]policy.Source{{Name: "p.yaml", Text: []byte(text)}}, policy.Env{AllowAll: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve opens the agents' doors over a scripted flow.
func serve(t *testing.T, f flow, cfg DoorConfig) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(newDoors(f, Options{Policy: loadPolicy(t, doorsPolicy), Tools: doorsTools, Upstreams: doorsUpstreams}, cfg).handler())
	t.Cleanup(s.Close)
	return s
}

// ask sends a request whose headers are "Name: value" lines, and reads the whole answer. It follows no redirect.
func ask(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func someID(n byte) agentgw.EffectID {
	d := agentgw.Digest{n}
	return agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, d), Key: d}
}

// Every verdict at both HTTP doors: status, headers, and a text that helps.
func TestVerdictsAtTheDoors(t *testing.T) {
	ok := &agentgw.Answer{Status: 201, Header: []agentgw.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(`{"n":1}`)}
	bad := &agentgw.Answer{Status: 422, Body: []byte("no")}
	odd := &agentgw.Answer{Status: 500, Body: []byte("?")}
	for _, c := range []struct {
		name          string
		d             agentgw.Decision
		native, proxy int
		retry         string // Retry-After, "" for x-should-retry: false
	}{
		{"succeeded", agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Succeeded, Answer: ok}, 200, 201, "-"},
		{"failed", agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Failed, Answer: bad}, 424, 422, ""},
		{"500", agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Indeterminate, Answer: odd}, 409, 500, ""},
		{"never sent", agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Failed, NeverSent: true}, 424, 502, ""},
		{"lost", agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Indeterminate}, 409, 409, ""},
		{"passed", agentgw.Decision{Verdict: agentgw.Passed, Outcome: agentgw.Succeeded, Answer: ok}, 200, 201, "-"},
		{"passed, failed", agentgw.Decision{Verdict: agentgw.Passed, Outcome: agentgw.Failed, Answer: bad}, 424, 422, ""},
		{"passed, lost", agentgw.Decision{Verdict: agentgw.Passed, Outcome: agentgw.Indeterminate}, 409, 409, ""},
		{"replayed", agentgw.Decision{Verdict: agentgw.Replayed, Answer: ok}, 200, 201, "-"},
		{"replayed, nothing kept", agentgw.Decision{Verdict: agentgw.Replayed}, 200, 200, "-"},
		{"running", agentgw.Decision{Verdict: agentgw.InFlight, Reason: agentgw.ReasonRunning, RetryAfter: 1500 * time.Millisecond}, 409, 409, "2"},
		{"locked", agentgw.Decision{Verdict: agentgw.InFlight, Reason: agentgw.ReasonLocked}, 409, 409, "1"},
		{"conflict", agentgw.Decision{Verdict: agentgw.Conflict, Fields: []string{"amount"}}, 422, 422, ""},
		{"in doubt", agentgw.Decision{Verdict: agentgw.InDoubt}, 409, 409, ""},
		{"holder in doubt", agentgw.Decision{Verdict: agentgw.InDoubt, Reason: agentgw.ReasonLocked}, 409, 409, ""},
		{"state", agentgw.Decision{Verdict: agentgw.Blocked, Reason: agentgw.ReasonState}, 409, 409, ""},
		{"stale", agentgw.Decision{Verdict: agentgw.Blocked, Reason: agentgw.ReasonStale}, 409, 409, ""},
		{"limit", agentgw.Decision{Verdict: agentgw.Blocked, Reason: agentgw.ReasonLimit, RetryAfter: time.Minute}, 409, 409, "60"},
		{"similar", agentgw.Decision{Verdict: agentgw.Similar, Token: "t"}, 409, 409, ""},
		{"held", agentgw.Decision{Verdict: agentgw.Held}, 409, 409, ""},
		{"denied", agentgw.Decision{Verdict: agentgw.Denied}, 403, 403, ""},
		{"expired", agentgw.Decision{Verdict: agentgw.Expired}, 410, 410, ""},
		{"rejected", agentgw.Decision{Verdict: agentgw.Rejected}, 400, 400, ""},
		{"too large", agentgw.Decision{Verdict: agentgw.Rejected, Reason: agentgw.ReasonTooLarge}, 413, 413, ""},
		{"unavailable", agentgw.Decision{Verdict: agentgw.Unavailable}, 503, 503, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.d.Operation, c.d.Effect = "invoice.issue", &agentgw.Effect{ID: someID(7)}
			f := &scriptedFlow{say: []Response{{Decision: &c.d}, {Decision: &c.d}}}
			s := serve(t, f, DoorConfig{})
			res, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice"}`)
			checkVerdict(t, res, body, c.native, c.retry, &c.d)
			problem := !c.d.Verdict.Sent() && c.native >= 400
			if kind := res.Header.Get("Content-Type"); (kind == "application/problem+json") != problem {
				t.Errorf("native: %s", kind)
			}
			res, body = ask(t, "POST", s.URL+"/proxy/billing/customers/7/invoices", ``)
			if c.d.Answer != nil {
				if res.StatusCode != c.proxy || body != string(c.d.Answer.Body) || res.Header.Get("Agentgw-Decision") != string(c.d.Verdict) {
					t.Errorf("proxy: %d %q %v", res.StatusCode, body, res.Header)
				}
				return
			}
			if c.d.Verdict == agentgw.Replayed {
				if res.StatusCode != 200 || body != "" || res.Header.Get("Agentgw-Answer") != "none" || res.Header.Get("Idempotent-Replayed") != "true" {
					t.Errorf("proxy: %d %q %v", res.StatusCode, body, res.Header)
				}
				return
			}
			checkVerdict(t, res, body, c.proxy, c.retry, &c.d)
		})
	}
}

func checkVerdict(t *testing.T, res *http.Response, body string, status int, retry string, d *agentgw.Decision) {
	t.Helper()
	var v struct{ Decision, Detail, Title, Type, Outcome string }
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if res.StatusCode != status || v.Decision != string(d.Verdict) || v.Outcome != string(d.Outcome) {
		t.Errorf("status %d, want %d: %s", res.StatusCode, status, body)
	}
	if status >= 400 && (len(v.Detail) < 30 || strings.Contains(v.Detail, "new key")) {
		t.Errorf("detail %q", v.Detail)
	}
	h := res.Header
	if h.Get("Agentgw-Decision") != string(d.Verdict) || h.Get("Agentgw-Operation") != d.Operation || h.Get("Agentgw-Effect") != d.Effect.ID.String() {
		t.Errorf("headers %v", h)
	}
	never := h.Get("x-should-retry")
	switch {
	case retry == "-" && (never != "" || h.Get("Retry-After") != ""),
		retry == "" && (never != "false" || h.Get("Retry-After") != ""),
		retry != "-" && retry != "" && (never != "" || h.Get("Retry-After") != retry):
		t.Errorf("Retry-After %q, x-should-retry %q, want %q", h.Get("Retry-After"), never, retry)
	}
	// 408, 429 and 5xx are retried silently by robots: only what is no duplicate may have one.
	if status >= 500 && d.Verdict != agentgw.Unavailable && !d.NeverSent {
		t.Errorf("status %d invites a silent retry", status)
	}
}

// Each verdict has words for each of its reasons, and none of them leads a model astray.
func TestWords(t *testing.T) {
	for verdict, w := range table {
		if w.status == 0 || w.title == "" || w.detail[""] == "" && !verdict.Sent() {
			t.Errorf("%s has no words", verdict)
		}
		for reason, text := range w.detail {
			if n := strings.Count(text, ". "); n > 2 || strings.Contains(text, "new key") || strings.Contains(strings.ToLower(text), "idempotency") {
				t.Errorf("%s %s: %q", verdict, reason, text)
			}
		}
	}
	if len(table) != 14 {
		t.Errorf("%d verdicts", len(table))
	}
}

func TestNativeCall(t *testing.T) {
	f := &scriptedFlow{}
	s := serve(t, f, DoorConfig{Principals: Principals{{Name: "billing-agent", Secret: "s3", Tenant: "acme"}}})
	const arguments = `{"amount": 1.50, "id":9007199254740993 , "x": "\u00e9<"}`
	res, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice", "arguments": `+arguments+`, "idempotency_key": "k", "repeat_token": "t",
		"same_as": "eff_x", "context": {"agent": "a", "run": "r", "task": "k", "call_id": "c"}, "mode": "redeliver", "batch": "b"}`, "Agentgw-Key: s3")
	if res.StatusCode != 200 || len(f.calls) != 1 {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	c := f.calls[0]
	if string(c.Arguments) != arguments || c.Tenant != "acme" || c.Principal != "billing-agent" || c.IdempotencyKey != "k" || c.RepeatToken != "t" ||
		c.SameAs != "eff_x" || c.Context != (agentgw.Context{Agent: "a", Run: "r", Task: "k", CallID: "c"}) || c.Mode != agentgw.Redeliver || c.Batch != "b" {
		t.Errorf("%+v %s", c, c.Arguments)
	}
	if _, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice", "arguments": "{\"a\": 1}", "mode": null}`, "Agentgw-Key: s3"); string(f.calls[1].Arguments) != `"{\"a\": 1}"` || f.calls[1].Mode != agentgw.Execute {
		t.Errorf("%+v %s", f.calls[1], body)
	}
}

func TestNativeRefusals(t *testing.T) {
	f := &scriptedFlow{}
	s := serve(t, f, DoorConfig{MaxBody: 1000})
	for _, c := range []struct {
		body   string
		status int
		detail string
	}{
		{``, 400, "is empty"},
		{`[]`, 400, "is a list; send an object with tool, arguments"},
		{`{"tool": "x"} {}`, 400, "text follows the value"},
		{`{"arguments": {}}`, 400, "/tool: is absent"},
		{`{"tool": 7}`, 400, "/tool: is a number; send a string"},
		{`{"tool": "x", "argument": {}}`, 400, "/argument: is not a member of this request; did you mean arguments?"},
		{`{"tool": "x", "idempotencyKey": "k"}`, 400, "did you mean idempotency_key?"},
		{`{"tool": "x", "zzz": 1}`, 400, "known are tool, arguments"},
		{`{"tool": "x", "arguments": {"a": 1}, "arguments": {"a": 2}}`, 400, "/arguments: the member occurs twice"},
		{`{"tool": "x", "arguments": {"a": 1, "A": 2}}`, 400, "/arguments/A: the member occurs twice"},
		{`{"tool": "x", "mode": "dry"}`, 400, `/mode: is "dry"; use execute, check or redeliver`},
		{`{"tool": "x", "context": {"taks": "1"}}`, 400, "/context/taks: is not a member of this request; did you mean task?"},
		{`{"tool": "x", "context": "t"}`, 400, "/context: is a string"},
		{"{\"tool\": \"\xff\"}", 400, "is not UTF-8"},
		{`{"tool": "x", "batch": "` + strings.Repeat("x", 1000) + `"}`, 413, "too large"},
	} {
		res, body := ask(t, "POST", s.URL+"/v1/calls", c.body)
		if res.StatusCode != c.status || !strings.Contains(body, `"decision":"rejected"`) || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), c.detail) {
			t.Errorf("%.60s: %d %s, want %s", c.body, res.StatusCode, body, c.detail)
		}
	}
	if len(f.calls) != 0 {
		t.Errorf("%d calls came through", len(f.calls))
	}
	if res, body := ask(t, "GET", s.URL+"/v1/nothing", ""); res.StatusCode != 404 || !strings.Contains(body, "There is nothing under GET /v1/nothing") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// The native answer has exactly the members of the contract.
func TestNativeAnswer(t *testing.T) {
	first := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	e := &agentgw.Effect{ID: someID(1), State: agentgw.StateSucceeded, Version: 9007199254740993, Attempt: 2, FirstSeen: first, Expires: first.Add(time.Hour)}
	d := &agentgw.Decision{Verdict: agentgw.Replayed, Outcome: agentgw.Succeeded, Operation: "invoice.issue", Effect: e, Token: "t",
		Ignored: map[string][2]json.RawMessage{"note": {json.RawMessage(`"a"`), json.RawMessage(`"<b>"`)}},
		Answer: &agentgw.Answer{Status: 201, Body: []byte(`{"n": 9007199254740993, "s": "<&>"}`),
			Header: []agentgw.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "X-Two", Value: "1"}, {Name: "X-Two", Value: "2"}}}}
	s := serve(t, &scriptedFlow{say: []Response{{Decision: d}}}, DoorConfig{})
	_, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice"}`)
	want := `{"decision":"replayed","outcome":"succeeded","operation":"invoice.issue","effect":{"id":"` + e.ID.String() + `","state":"succeeded",` +
		`"version":9007199254740993,"attempt":2,"first_seen":"2026-04-01T00:00:00Z","expires":"2026-04-01T01:00:00Z"},` +
		`"result":{"status":201,"headers":{"Content-Type":"application/json","X-Two":["1","2"]},"body":{"n":9007199254740993,"s":"<&>"}},` +
		`"ignored":{"note":["a","<b>"]},"repeat_token":"t"}`
	if got := regexpDetail.ReplaceAllString(strings.TrimSpace(body), ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

var regexpDetail = regexp.MustCompile(`"detail":"[^"]*",`)

func parsed(t *testing.T, s string) canonicalize.Value {
	t.Helper()
	v, err := canonicalize.Parse([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBodyInJSON(t *testing.T) {
	for _, c := range []struct{ body, kind, want, encoding string }{
		{`{"a":1}`, "application/json", `{"a":1}`, ""},
		{`{"a":1}`, "application/problem+json; charset=utf-8", `{"a":1}`, ""},
		{`{"a":1}`, "text/plain", `"{\"a\":1}"`, ""},
		{`{"a":`, "application/json", `"{\"a\":"`, ""},
		{"<p>é", "text/html", `"<p>é"`, ""},
		{"\xff\xfe", "", `"//4="`, "base64"},
		{"\"\xff\"", "application/json", `"Iv8i"`, "base64"},
		{"", "application/json", ``, ""},
	} {
		got, encoding := bodyView([]byte(c.body), c.kind)
		if string(got) != c.want || encoding != c.encoding {
			t.Errorf("%q %s: %s %s", c.body, c.kind, got, encoding)
		}
		if encoding == "" && len(got) > 0 && strings.Contains(c.kind, "json") && c.want == c.body {
			a, err := answerOf(parsed(t, fmt.Sprintf(`{"status": 200, "headers": {"Content-Type": %q}, "body": %s}`, c.kind, got)))
			if err != nil || string(a.Body) != c.body {
				t.Errorf("%q came back as %q, %v", c.body, a.Body, err)
			}
		}
	}
}

func TestLargeAnswerInJSON(t *testing.T) {
	big := func(n int) Response {
		return Response{Decision: &agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Succeeded, Answer: &agentgw.Answer{Status: 200, Body: []byte("ab")}},
			Rest: io.NopCloser(bytes.NewReader(bytes.Repeat([]byte("c"), n)))}
	}
	s := serve(t, &scriptedFlow{say: []Response{big(3), big(maxInline + 1)}}, DoorConfig{})
	if _, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice"}`); !strings.Contains(body, `"body":"abccc"`) {
		t.Error(body)
	}
	if _, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice"}`); strings.Contains(body, `"body"`) || !strings.Contains(body, "too large to be shown") {
		t.Errorf("%.300s", body)
	}
}

func TestBeginAndComplete(t *testing.T) {
	at := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	e := &agentgw.Effect{ID: someID(1), Tenant: "acme", State: agentgw.StateInFlight, Fence: 9, Updated: at, Lease: time.Minute, Operation: "o"}
	f := &scriptedFlow{effect: e, say: []Response{{Decision: &agentgw.Decision{Verdict: agentgw.ClaimedForCaller, Effect: e}}}}
	s := serve(t, f, DoorConfig{Principals: Principals{{Name: "p", Secret: "s3", Tenant: "acme"}, {Name: "q", Secret: "s4", Tenant: "other"}}})
	put := func(method, path, body, key string) (int, string) {
		res, text := ask(t, method, s.URL+path, body, "Authorization: Bearer "+key)
		return res.StatusCode, text
	}
	id := e.ID.String()
	if code, body := put("POST", "/v1/effects", `{"tool": "create_invoice"}`, "s3"); code != 400 || !strings.Contains(body, "nonce: is absent") {
		t.Errorf("%d %s", code, body)
	}
	code, body := put("POST", "/v1/effects", `{"tool": "create_invoice", "nonce": "n1"}`, "s3")
	if code != 200 || !strings.Contains(body, `"decision":"claimed"`) || !strings.Contains(body, `"fence":9,"lease_expires":"2026-04-01T00:01:00Z"`) || f.calls[0].Nonce != "n1" {
		t.Errorf("%d %s", code, body)
	}
	if code, body := put("PUT", "/v1/effects/"+id+"/lease", `{"fence": 9}`, "s3"); code != 200 || f.fence != 9 || !strings.Contains(body, `"lease_expires"`) {
		t.Errorf("%d %s", code, body)
	}
	code, body = put("PUT", "/v1/effects/"+id+"/outcome", `{"fence": "9", "outcome": "succeeded", "result": {"body": {"receipt": 1.0}}}`, "s3")
	if code != 200 || f.result.Outcome != agentgw.Succeeded || string(f.result.Answer.Body) != `{"receipt": 1.0}` || f.result.Answer.Status != 200 {
		t.Errorf("%d %s %+v", code, body, f.result.Answer)
	}
	for _, c := range []struct{ body, detail string }{
		{`{"outcome": "succeeded"}`, "/fence: is absent"},
		{`{"fence": 9}`, "/outcome: is null"},
		{`{"fence": 9.0, "outcome": "failed"}`, "/fence: is 9.0"},
		{`{"fence": 9, "outcome": "done"}`, `/outcome: is "done"; send "succeeded", "failed" or, where nobody knows, "indeterminate"`},
		{`{"fence": 9, "outcome": "failed", "result": {"stauts": 1}}`, "did you mean status?"},
		{`{"fence": 9, "outcome": "failed", "result": {"status": 99}}`, "/result/status: is 99"},
		{`{"fence": 9, "outcome": "failed", "result": {"headers": {"A": "b\r\nC: d"}}}`, "is no header"},
		{`{"fence": 9, "outcome": "failed", "result": {"body": "?", "encoding": "base64"}}`, "/result/body"},
	} {
		if code, body := put("PUT", "/v1/effects/"+id+"/outcome", c.body, "s3"); code != 400 || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), c.detail) {
			t.Errorf("%s: %d %s", c.body, code, body)
		}
	}
	f.err = ledger.ErrStale
	if code, body := put("PUT", "/v1/effects/"+id+"/outcome", `{"fence": 8, "outcome": "failed"}`, "s3"); code != 409 || !strings.Contains(body, `"reason":"stale"`) {
		t.Errorf("%d %s", code, body)
	}
	f.err = nil
	if code, body := put("GET", "/v1/effects/"+id, "", "s3"); code != 200 || !strings.Contains(body, `"state":"in_flight"`) {
		t.Errorf("%d %s", code, body)
	}
	// Another tenant's effect, one that never was, and no id at all look the same.
	_, others := put("GET", "/v1/effects/"+id, "", "s4")
	_, never := put("GET", "/v1/effects/"+someID(2).String(), "", "s4")
	code, none := put("GET", "/v1/effects/x", "", "s4")
	if others != never || never != none || code != 404 {
		t.Errorf("%s\n%s\n%d %s", others, never, code, none)
	}
}
