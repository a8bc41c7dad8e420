package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agentgw/gateway"
)

// TestMCPVague: the same call to two servers is two effects. Where a policy guards both by the tool's own name nothing is sent until it says
// which it means; by their long names each has its own.
func TestMCPVague(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"child": childServer(t, "notes")}}) // guards add_note
	for _, path := range []string{"/mcp", "/mcp/notes", "/mcp/child"} {
		w.post(t, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	}
	for _, path := range []string{"/mcp/notes", "/mcp/child"} {
		res := w.post(t, path, callBody(1, "add_note", `{"text":"x"}`, ""), nil)
		if decided(res) != "rejected" || !strings.Contains(res, "child_add_note") || !strings.Contains(res, "notes") {
			t.Errorf("%s: %s", path, res)
		}
	}
	if n := w.notes.all(); len(n) != 0 {
		t.Errorf("it was sent: %v", n)
	}
	w = newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"child": childServer(t, "notes")},
		policy: "version: 1\noperations: {a: {tools: [notes_add_note], key: {text: text}}, b: {tools: [child_add_note], key: {text: text}}}\n"})
	for _, tool := range []string{"notes_add_note", "child_add_note"} {
		if res := w.post(t, "/mcp", callBody(1, tool, `{"text":"x"}`, ""), nil); decided(res) != "executed" {
			t.Errorf("%s: %s", tool, res)
		}
	}
}

// TestMCPVagueUnlisted: a server may have a tool that it does not list. The call to it is not taken for one to the server that does.
func TestMCPVagueUnlisted(t *testing.T) {
	var calls int
	up := scripted(t, func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[]}`
		}
		if method == "tools/call" {
			calls++
		}
		return `{"content":[]}`
	})
	w := newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"other": up}}) // guards add_note
	if res := w.post(t, "/mcp", callBody(1, "add_note", `{"text":"x"}`, ""), nil); decided(res) != "executed" {
		t.Error(res)
	}
	if res := w.post(t, "/mcp/other", callBody(2, "add_note", `{"text":"x"}`, ""), nil); decided(res) != "rejected" || !strings.Contains(res, "notes and of other") || calls > 0 {
		t.Error(res)
	}
	if res := w.post(t, "/mcp", callBody(3, "add_note", `{"text":"x"}`, ""), nil); decided(res) != "replayed" {
		t.Errorf("the other goes on as before: %s", res)
	}
}
