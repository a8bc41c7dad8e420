package gateway_test

import (
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
