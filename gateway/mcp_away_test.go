package gateway_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agentgw/gateway"
)

// gone is a server whose command is not there.
func gone(name string) *gateway.Upstream {
	return &gateway.Upstream{Name: name, MCP: &gateway.MCPServer{Command: []string{"nosuchprog", "--token=s3cret"}}}
}

// says checks an answer's words, and that they tell no secret and hold no JSON within JSON.
func says(t *testing.T, got string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(got, word) {
			t.Errorf("%q is not in %s", word, got)
		}
	}
	for _, bad := range []string{"s3cret", "--token", "urn:", "127.0.0.1"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in %s", bad, got)
		}
	}
}

const listBody = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// A server that cannot be started is named, with why, wherever its tools are missed.
func TestMCPServerIsGone(t *testing.T) {
	dead := gone("notes")
	const why = "The tools of the MCP server notes (its command nosuchprog is not found) cannot be listed now. Try again later."
	w := newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"notes": dead}})
	says(t, w.post(t, "/mcp", listBody, nil), `"error"`, why)
	says(t, w.post(t, "/mcp", callBody(2, "add_note", `{"text":"x"}`, ""), nil), `"error"`, "There is no tool add_note among those known now. "+why)
	res, text := w.raw(t, "/v1/calls", `{"tool":"add_note","arguments":{"text":"x"}}`, nil)
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", res.StatusCode)
	}
	if !strings.Contains(text, why) {
		t.Error(text)
	}
	for _, body := range []string{listBody, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`} {
		says(t, w.post(t, "/mcp/notes", body, nil), `"error"`, `"id":1`, "The MCP server notes cannot be reached now: its command nosuchprog is not found. Try again later.")
		says(t, w.lineClient(t, "/mcp/notes")(body, nil), `"error"`, "The MCP server notes cannot be reached now: its command nosuchprog is not found. Try again later.")
	}
}

// Where others are there, their tools are listed and the missing ones said.
func TestMCPOneServerIsGone(t *testing.T) {
	at, _ := url.Parse("http://127.0.0.1:1/mcp")
	w := newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"desk": {Name: "desk", MCP: &gateway.MCPServer{URL: at}}}})
	const why = "The tools of the MCP server desk (nothing listens at its address) cannot be listed now. Try again later."
	says(t, w.post(t, "/mcp", listBody, nil), `"result"`, `"add_note"`, `"agentgw/detail":"`+why)
	says(t, w.post(t, "/mcp", callBody(2, "open_ticket", `{}`, ""), nil), "There is no tool open_ticket among those known now. "+why)
}

// A name that is nearly right is told the right one.
func TestMCPNearestTool(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{})
	says(t, w.post(t, "/mcp", callBody(1, "addnotes", `{}`, ""), nil), "There is no tool addnotes. Did you mean add_note?")
	says(t, w.post(t, "/mcp", callBody(2, "fly", `{}`, ""), nil), `"There is no tool fly."`)
	if got := w.post(t, "/mcp", listBody, nil); strings.Contains(got, "agentgw/detail") {
		t.Error(got)
	}
}
