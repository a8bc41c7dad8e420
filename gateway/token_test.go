package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const repeatShip = `{"tool": "ship_order", "arguments": %s, "mode": %q, "repeat_token": %q}`

// A repeat token is of all arguments as values, not as bytes. One that does not fit repeats nothing, and every door says so.
func TestRepeatTokenThatDoesNotFit(t *testing.T) {
	h := openHouse(t, nil)
	const args, spelt, other = `{"order": "A-1", "memo": {"a": 1.0, "b": 2}}`, "{\n\"memo\": {\"b\": 2, \"a\": 1}, \"order\":\"A-1\"}", `{"order": "A-1", "memo": "else"}`
	say := func(args, mode, token string) heard {
		t.Helper()
		_, v := h.call(t, "/v1/calls", fmt.Sprintf(repeatShip, args, mode, token))
		return v
	}
	say(args, "execute", "")
	token := say(args, "check", "").RepeatToken
	if token == "" {
		t.Fatal("mode check gives no token")
	}
	last := "A"
	if strings.HasSuffix(token, last) {
		last = "Q"
	}
	for _, c := range []struct{ args, token string }{{other, token}, {args, token[:len(token)-1] + last}, {args, "x"}} {
		v := say(c.args, "execute", c.token)
		if v.Decision != "replayed" || !strings.Contains(v.Detail, "repeat_token does not fit") || !strings.Contains(v.Detail, "Nothing was repeated") || !strings.Contains(v.Detail, "mode check") {
			t.Errorf("%s %s: %s %q", c.args, c.token, v.Decision, v.Detail)
		}
	}
	_, text := ask(t, "POST", h.agents.URL+"/v1/anthropic/tool_uses", `[{"type": "tool_use", "id": "u", "name": "agentgw_call", "input": `+fmt.Sprintf(repeatShip, args, "execute", "x")+`}]`)
	if !strings.Contains(text, "repeat_token does not fit") {
		t.Errorf("tool call: %s", text)
	}
	if h.effects() != 1 {
		t.Fatalf("%d effects", h.effects())
	}
	if v := say(spelt, "execute", token); v.Decision != "executed" {
		t.Errorf("the same arguments in another order and spacing: %s %q", v.Decision, v.Detail)
	}
	if v := say(args, "execute", token); v.Decision != "replayed" || v.Detail != "" {
		t.Errorf("the same token again is a retry: %s %q", v.Decision, v.Detail)
	}
	if h.effects() != 2 {
		t.Errorf("%d effects", h.effects())
	}
}

// At the proxy the first answer stays as it was, and a header says it.
func TestRepeatTokenThatDoesNotFitAtTheProxy(t *testing.T) {
	h := openHouse(t, nil)
	at, body := h.agents.URL+"/proxy/billing/customers/7/invoices", `{"period": "2026-04", "amount": 1}`
	_, first := ask(t, "POST", at, body, "Content-Type: application/json")
	res, again := ask(t, "POST", at, body, "Content-Type: application/json", "Agentgw-Repeat-Token: x")
	if again != first || res.StatusCode != 201 || !strings.Contains(res.Header.Get("Agentgw-Detail"), "repeat_token does not fit") {
		t.Errorf("%d %s %v", res.StatusCode, again, res.Header)
	}
	if res, _ := ask(t, "POST", at, body, "Content-Type: application/json"); res.Header["Agentgw-Detail"] != nil {
		t.Errorf("a replay without a token: %v", res.Header)
	}
}

// Over MCP the result stays as it was but for its _meta.
func TestRepeatTokenThatDoesNotFitOverMCP(t *testing.T) {
	h := openHouse(t, nil)
	say := func(token string) (result struct {
		Content []struct{ Text string }
		Meta    map[string]string `json:"_meta"`
	}) {
		t.Helper()
		_, text := ask(t, "POST", h.agents.URL+"/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "agentgw_call", "arguments": `+
			fmt.Sprintf(repeatShip, `{"order": "A-1"}`, "execute", token)+`}}`, "Content-Type: application/json", "Accept: application/json")
		var reply struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(text), &reply); err != nil {
			t.Fatal(err, text)
		}
		if err := json.Unmarshal(reply.Result, &result); err != nil {
			t.Fatal(err, text)
		}
		return result
	}
	first := say("")
	second := say("x")
	if second.Content[0] != first.Content[0] || !strings.Contains(second.Meta["agentgw/detail"], "repeat_token does not fit") {
		t.Errorf("%+v", second)
	}
	if _, there := say("").Meta["agentgw/detail"]; there {
		t.Error("a replay without a token has a detail")
	}
}
