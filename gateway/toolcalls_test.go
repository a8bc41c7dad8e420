package gateway

import (
	"strings"
	"testing"

	"agentgw"
	"agentgw/policy"
)

func said(v agentgw.Verdict, outcome agentgw.Outcome, body string) Response {
	d := &agentgw.Decision{Verdict: v, Outcome: outcome, Operation: "o", Effect: &agentgw.Effect{ID: someID(1), State: agentgw.StateSucceeded}}
	if body != "" {
		d.Answer = &agentgw.Answer{Status: 200, Body: []byte(body), Header: []agentgw.Header{{Name: "Content-Type", Value: "application/json"}}}
	}
	return Response{Decision: d}
}

func TestOpenAIChat(t *testing.T) {
	const calls = `"tool_calls": [
		{"id": "c1", "type": "function", "function": {"name": "create_invoice", "arguments": "{\"amount\": 1.50}"}},
		{"id": "c2", "type": "function", "function": {"name": "approve_order", "arguments": ""}}]`
	for name, body := range map[string]string{
		"the message itself": `{"role": "assistant", "content": null, "refusal": null, ` + calls + `}`,
		"with a context":     `{"message": {"role": "assistant", ` + calls + `}, "context": {"task": "t1", "agent": "a"}}`,
		"the calls alone":    `{` + calls + `}`,
	} {
		f := &scriptedFlow{say: []Response{said(agentgw.Executed, agentgw.Succeeded, `{"n": 1}`), said(agentgw.Denied, "", "")}}
		s := serve(t, f, DoorConfig{})
		res, got := ask(t, "POST", s.URL+"/v1/openai/tool_calls", body)
		want := `[{"role":"tool","tool_call_id":"c1","content":"{\"n\": 1}"},{"role":"tool","tool_call_id":"c2","content":"{\"decision\":\"denied\",` +
			`\"detail\":\"You are not allowed to do this, and nothing was done. Do not try it another way; tell the user.\",\"operation\":\"o\",` +
			`\"effect\":{\"id\":\"` + someID(1).String() + `\",\"state\":\"succeeded\",\"version\":0,\"attempt\":0}}"}]` + "\n"
		if res.StatusCode != 200 || got != want {
			t.Errorf("%s: %d\ngot  %s\nwant %s", name, res.StatusCode, got, want)
		}
		task := ""
		if name == "with a context" {
			task = "t1"
		}
		if len(f.calls) != 2 || f.calls[0].Tool != "create_invoice" || string(f.calls[0].Arguments) != `{"amount": 1.50}` || f.calls[0].Context.CallID != "c1" ||
			string(f.calls[1].Arguments) != "{}" || f.calls[1].Context.Task != task || f.calls[0].Tenant != "default" {
			t.Errorf("%s: %+v", name, f.calls)
		}
	}
	s := serve(t, &scriptedFlow{}, DoorConfig{})
	if res, got := ask(t, "POST", s.URL+"/v1/openai/tool_calls", `{"role": "assistant", "content": "Done."}`); res.StatusCode != 200 || got != "[]\n" {
		t.Errorf("%d %s", res.StatusCode, got)
	}
}

func TestOpenAIResponses(t *testing.T) {
	const items = `[{"type": "reasoning", "id": "rs_1", "summary": []},
		{"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "create_invoice", "arguments": "{\"a\":1}", "status": "completed"},
		{"type": "message", "role": "assistant", "content": []}]`
	for _, body := range []string{items, `{"output": ` + items + `, "context": {"task": "t"}}`,
		`{"type": "function_call", "call_id": "c1", "name": "create_invoice", "arguments": "{\"a\":1}"}`} {
		f := &scriptedFlow{say: []Response{said(agentgw.Passed, agentgw.Succeeded, `{"n":1}`)}}
		s := serve(t, f, DoorConfig{})
		res, got := ask(t, "POST", s.URL+"/v1/openai/tool_calls", body)
		if want := `[{"type":"function_call_output","call_id":"c1","output":"{\"n\":1}"}]` + "\n"; res.StatusCode != 200 || got != want || len(f.calls) != 1 {
			t.Errorf("%d %s", res.StatusCode, got)
		}
	}
}

func TestAnthropic(t *testing.T) {
	const content = `[{"type": "text", "text": "Let me"}, {"type": "tool_use", "id": "u1", "name": "create_invoice", "input": {"amount": 1.50, "x": "é"}},
		{"type": "tool_use", "id": "u2", "name": "approve_order", "input": {}}]`
	for _, body := range []string{`{"role": "assistant", "content": ` + content + `, "stop_reason": "tool_use"}`, content,
		`{"message": {"role": "assistant", "content": ` + content + `}, "context": {"run": "r"}}`} {
		f := &scriptedFlow{say: []Response{said(agentgw.Executed, agentgw.Succeeded, `{"n":1}`), said(agentgw.InDoubt, "", "")}}
		s := serve(t, f, DoorConfig{})
		res, got := ask(t, "POST", s.URL+"/v1/anthropic/tool_uses", body)
		if res.StatusCode != 200 || !strings.HasPrefix(got, `[{"type":"tool_result","tool_use_id":"u1","content":"{\"n\":1}"},{"type":"tool_result","tool_use_id":"u2","content":"{\"decision\":\"indeterminate\"`) ||
			!strings.HasSuffix(got, `","is_error":true}]`+"\n") || string(f.calls[0].Arguments) != `{"amount": 1.50, "x": "é"}` {
			t.Errorf("%d %s %s", res.StatusCode, got, f.calls[0].Arguments)
		}
	}
}

// What a model is told. A replay says that nothing was done now.
func TestModelText(t *testing.T) {
	for _, c := range []struct {
		res     Response
		want    string
		isError bool
	}{
		{said(agentgw.Executed, agentgw.Succeeded, `{"n":1}`), `{"n":1}`, false},
		{said(agentgw.Executed, agentgw.Succeeded, ""), `"detail":"It is done."`, false},
		{said(agentgw.Replayed, agentgw.Succeeded, `{"n":1}`), `"decision":"replayed","outcome":"succeeded","detail":"This was done before`, false},
		{said(agentgw.Replayed, agentgw.Succeeded, `{"n":1}`), `"result":{"status":200,"body":{"n":1}}`, false},
		{said(agentgw.Executed, agentgw.Failed, `{"why":"no"}`), `"detail":"The tool refused this and nothing was done.`, true},
		{said(agentgw.Executed, agentgw.Indeterminate, ""), `whether it was done is not known`, true},
		{said(agentgw.Conflict, "", ""), `"decision":"conflict"`, true},
		{said(agentgw.Executed, agentgw.Succeeded, "\xff"), `"body":"/w==","encoding":"base64"`, false},
	} {
		got, isError := modelText(c.res)
		if !strings.Contains(got, c.want) || isError != c.isError {
			t.Errorf("%s %v, want %s", got, isError, c.want)
		}
	}
}

func TestCallTool(t *testing.T) {
	f := &scriptedFlow{}
	s := serve(t, f, DoorConfig{})
	ask(t, "POST", s.URL+"/v1/anthropic/tool_uses", `{"message": {"content": [{"type": "tool_use", "id": "u1", "name": "agentgw_call",
		"input": {"tool": "create_invoice", "arguments": {"a": 1}, "repeat_token": "t"}}]}, "context": {"task": "k"}}`)
	ask(t, "POST", s.URL+"/v1/openai/tool_calls", `{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "agentgw_call",
		"arguments": "{\"tool\": \"create_invoice\", \"arguments\": \"{}\", \"mode\": \"check\"}"}}]}`)
	if len(f.calls) != 2 {
		t.Fatalf("%d calls", len(f.calls))
	}
	if c := f.calls[0]; c.Tool != "create_invoice" || string(c.Arguments) != `{"a": 1}` || c.RepeatToken != "t" || c.Context.Task != "k" || c.Context.CallID != "u1" {
		t.Errorf("%+v", c)
	}
	if c := f.calls[1]; c.Mode != agentgw.Check || c.Tenant != "default" {
		t.Errorf("%+v", c)
	}
	_, got := ask(t, "POST", s.URL+"/v1/openai/tool_calls", `{"tool_calls": [{"id": "c1", "function": {"name": "agentgw_call", "arguments": "{\"tol\": 1}"}}]}`)
	if !strings.Contains(got, "did you mean tool?") || len(f.calls) != 2 {
		t.Error(got)
	}
}

// A message that cannot be read runs nothing, not even what stands before the fault.
func TestToolCallRefusals(t *testing.T) {
	f := &scriptedFlow{}
	s := serve(t, f, DoorConfig{})
	const good = `{"id": "c1", "type": "function", "function": {"name": "create_invoice", "arguments": "{}"}}`
	for _, c := range []struct{ path, body, detail string }{
		{"openai/tool_calls", `{"tool_calls": [` + good + `, {"id": "c2", "type": "custom", "custom": {}}]}`, `/tool_calls/1/type: is "custom"`},
		{"openai/tool_calls", `{"tool_calls": [` + good + `, {"type": "function", "function": {"name": "x"}}]}`, "/tool_calls/1/function: has no id or no name"},
		{"openai/tool_calls", `{"tool_calls": [` + good + `, {"id": "c2", "function": {"name": "x", "arguments": {}}}]}`, "/tool_calls/1/function/arguments: is an object"},
		{"openai/tool_calls", `{"tool_calls": {}}`, "/tool_calls: is an object; send a list"},
		{"openai/tool_calls", `{"role": "user", "tool_calls": [` + good + `]}`, `/role: is "user"`},
		{"openai/tool_calls", `{"message": {"tool_calls": [` + good + `]}, "contxt": {}}`, "did you mean context?"},
		{"openai/tool_calls", `{"tool_calls": [` + good + `], "context": {"taks": "t"}}`, "did you mean task?"},
		{"openai/tool_calls", `{}`, "has no tool_calls"},
		{"openai/tool_calls", `7`, "is a number"},
		{"openai/tool_calls", `[{"type": "function_call", "name": "x"}]`, "/0: has no id or no name"},
		{"anthropic/tool_uses", `{"role": "assistant"}`, "has no content"},
		{"anthropic/tool_uses", `{"content": [{"type": "tool_use", "name": "x"}]}`, "/content/0: has no id or no name"},
		{"anthropic/tool_uses", `{"content": [{"type": "tool_use", "id": "a", "name": "x", "input": {"a": 1, "a": 2}}]}`, "/content/0/input/a: the member occurs twice"},
	} {
		res, got := ask(t, "POST", s.URL+"/v1/"+c.path, c.body)
		if res.StatusCode != 400 || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), c.detail) {
			t.Errorf("%s: %d %s", c.body, res.StatusCode, got)
		}
	}
	if len(f.calls) != 0 {
		t.Errorf("%d calls came through", len(f.calls))
	}
}

func TestListTools(t *testing.T) {
	s := serve(t, &scriptedFlow{}, DoorConfig{Principals: Principals{{Name: "all", Secret: "all"}, {Name: "approver", Secret: "some", Operations: []string{"order.*"}}}})
	for format, want := range map[string]string{
		"":                 `{"type":"function","function":{"name":"create_invoice","description":"Issue an invoice","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}`,
		"openai-responses": `{"type":"function","name":"create_invoice","description":"Issue an invoice","parameters":{"type":"object","properties":{"b":{},"a":{}}},"strict":false}`,
		"anthropic":        `{"name":"create_invoice","description":"Issue an invoice","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}`,
		"mcp":              `{"name":"create_invoice","description":"Issue an invoice","inputSchema":{"type":"object","properties":{"b":{},"a":{}}},"annotations":{"readOnlyHint":false}}`,
	} {
		res, got := ask(t, "GET", s.URL+"/v1/tools?format="+format, "", "Agentgw-Key: all")
		if res.StatusCode != 200 || !strings.Contains(got, want) || !strings.Contains(got, `"agentgw_call"`) || strings.HasPrefix(got, "[") == (format == "mcp") {
			t.Errorf("%s: %s", format, got)
		}
	}
	if _, got := ask(t, "GET", s.URL+"/v1/tools", "", "Agentgw-Key: some"); strings.Contains(got, "create_invoice") || !strings.Contains(got, "approve_order") || strings.Contains(got, "agentgw_call") {
		t.Error(got)
	}
	if res, got := ask(t, "GET", s.URL+"/v1/tools?format=x", "", "Agentgw-Key: all"); res.StatusCode != 400 || !strings.Contains(got, "openai-chat") {
		t.Error(got)
	}
}

// TestRepeats: agentgw_call is offered where an operation can be repeated or be like an earlier one, whichever way it guards the tool.
func TestRepeats(t *testing.T) {
	approve := &Tool{Name: "approve_order", Upstream: "erp", Path: "/orders/{order}/approve"}
	for _, c := range []struct {
		operation string
		want      bool
	}{
		{`{tools: [approve_order], key: {id: id}}`, true},
		{`{tools: [approve_order], key: {id: id}, repeat: never}`, false},
		{`{tools: [approve_order], key: {id: id, what: meaning}, repeat: never}`, true},
		{`{http: ["POST /erp/orders/{order}/approve"], key: {id: id}}`, true},
		{`{tools: [approve_order], pattern: overwrite}`, false},
		{`{tools: [another], key: {id: id}}`, false},
	} {
		p, err := policy.Load([]policy.Source{{Name: "p.yaml", Text: []byte("version: 1\noperations:\n  o: " + c.operation)}}, policy.Env{AllowAll: true,
			Routes: map[string]policy.Route{"approve_order": {Method: "POST", Upstream: "erp", Path: approve.Path}}})
		if err != nil {
			t.Fatal(err)
		}
		if d := newDoors(nil, Options{Policy: p}, DoorConfig{}); d.repeats(approve) != c.want {
			t.Errorf("%s: %v", c.operation, !c.want)
		}
	}
}
