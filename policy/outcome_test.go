package policy_test

import (
	"strings"
	"testing"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/policy"
)

func TestOutcome(t *testing.T) {
	p := mustLoad(t, `
plain: {tools: [plain], key: {x: id}}
short: {tools: [short], key: {x: id}, outcomes: {"503": failed, 4xx: indeterminate, 404: failed, 200-201: failed}}
long:
  tools: [long]
  key: {x: id}
  outcomes:
    - {status: "503", is: failed}
    - {when: "result.status == 200 && result.body.status == 'NG'", is: failed}
    - {status: 2xx, when: "result.headers['X-State'] == 'queued'", is: indeterminate}
body: {tools: [body], key: {x: id}, outcomes: [{when: "result.body.done", is: succeeded}]}
args: {tools: [args], key: {x: id}, outcomes: [{when: "result.body.echo != args.x", is: failed}]}
`)
	retry := []agentgw.Header{{Name: "retry-after", Value: "5"}}
	for _, c := range []struct {
		operation string
		result    policy.ResultView
		want      agentgw.Outcome
	}{
		{"plain", policy.ResultView{Status: 200}, agentgw.Succeeded},
		{"plain", policy.ResultView{Status: 299}, agentgw.Succeeded},
		{"plain", policy.ResultView{Status: 200, IsError: true}, agentgw.Failed},
		{"plain", policy.ResultView{Status: 302}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 400}, agentgw.Failed},
		{"plain", policy.ResultView{Status: 408}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 429}, agentgw.Failed},
		{"plain", policy.ResultView{Status: 499}, agentgw.Failed},
		{"plain", policy.ResultView{Status: 500}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 501}, agentgw.Failed},
		{"plain", policy.ResultView{Status: 502}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 503}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 503, Headers: retry}, agentgw.Failed},
		{"plain", policy.ResultView{Status: 504, Headers: retry}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 199}, agentgw.Indeterminate},
		{"plain", policy.ResultView{Status: 0}, agentgw.Indeterminate},
		{"short", policy.ResultView{Status: 503}, agentgw.Failed},
		{"short", policy.ResultView{Status: 404}, agentgw.Indeterminate}, // the first that fits
		{"short", policy.ResultView{Status: 200}, agentgw.Failed},
		{"short", policy.ResultView{Status: 201}, agentgw.Failed},
		{"short", policy.ResultView{Status: 202}, agentgw.Succeeded},
		{"short", policy.ResultView{Status: 502}, agentgw.Indeterminate},
		{"long", policy.ResultView{Status: 503}, agentgw.Failed},
		{"long", policy.ResultView{Status: 200, Body: []byte(`{"status":"NG"}`)}, agentgw.Failed},
		{"long", policy.ResultView{Status: 200, Body: []byte(`{"status":"OK"}`)}, agentgw.Indeterminate}, // no such header
		{"long", policy.ResultView{Status: 200, Body: []byte(`{"status":"OK"}`), Headers: []agentgw.Header{{Name: "x-state", Value: "done"}}}, agentgw.Succeeded},
		{"long", policy.ResultView{Status: 200, Body: []byte(`<html>`)}, agentgw.Indeterminate},
		{"long", policy.ResultView{Status: 200}, agentgw.Indeterminate},
		{"long", policy.ResultView{Status: 404}, agentgw.Failed},
		{"body", policy.ResultView{Status: 409, Body: []byte(`{"done":true}`)}, agentgw.Succeeded},
		{"body", policy.ResultView{Status: 500, Body: []byte(`{"done":true}`)}, agentgw.Indeterminate}, // no 5xx succeeds
		{"body", policy.ResultView{Status: 409, Body: []byte(`{"done":false}`)}, agentgw.Failed},
		{"body", policy.ResultView{Status: 409, Body: []byte(`{"done":1}`)}, agentgw.Indeterminate},
		{"body", policy.ResultView{Status: 409, Body: []byte(`{"done":true,"done":true}`)}, agentgw.Indeterminate},
		{"args", policy.ResultView{Status: 200, Body: []byte(`{"echo":"8"}`)}, agentgw.Failed},
		{"args", policy.ResultView{Status: 200, Body: []byte(`{"echo":"7"}`)}, agentgw.Succeeded},
	} {
		c.result.Args = parse(t, `{"x":"7"}`)
		got, why := p.Operation(c.operation).Outcome(&c.result)
		if got != c.want || why == "" {
			t.Errorf("%s, %d %s: got %s (%s), want %s", c.operation, c.result.Status, c.result.Body, got, why, c.want)
		}
	}
}

func TestState(t *testing.T) {
	p := mustLoad(t, `
a:
  tools: [approve]
  pattern: transition
  entity: {order: {no: id}}
  from: [pending]
  to: approved
  state:
    tool: get_order
    arguments: {id: args.no, fields: "['state']", page: 1, deep: "{'of': principal}"}
    value: result.body.state
`)
	o := p.Operation("a")
	got, err := o.StateArguments(&agentgw.Call{Principal: "bot"}, parse(t, `{"no":9007199254740993}`))
	if want := `{"deep":{"of":"bot"},"fields":["state"],"id":9007199254740993,"page":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := o.StateArguments(&agentgw.Call{}, parse(t, `{}`)); err == nil || !strings.Contains(err.Error(), "no such key: no") {
		t.Errorf("an argument that is not there: %v", err)
	} else if _, ok := err.(*canonicalize.Error); !ok {
		t.Errorf("the error is a %T", err)
	}
	for body, want := range map[string]string{`{"state":"pending"}`: "pending", `{"state":1}`: "", `{"state":""}`: "", `{}`: "", ``: ""} {
		got, err := o.StateValue(&policy.ResultView{Status: 200, Body: []byte(body)})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", body, got, err)
		}
	}
	if _, err := o.StateValue(&policy.ResultView{Status: 404, Body: []byte(`{"state":"pending"}`)}); err == nil {
		t.Error("a failed answer tells a state")
	}
}
