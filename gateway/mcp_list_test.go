package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentgw/gateway"
)

// listedNames are the names in a list of tools, of MCP or of GET /v1/tools?format=mcp.
func listedNames(t *testing.T, body string) (names []string) {
	t.Helper()
	var list struct {
		Result struct{ Tools []struct{ Name string } }
		Tools  []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	for _, tool := range append(list.Result.Tools, list.Tools...) {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// TestMCPListLimited: a principal with `operations` sees the tools that it may use, the same ones at every door; one without sees the
// server's answer byte for byte.
func TestMCPListLimited(t *testing.T) {
	const tools = `{"tools":[ {"name":"book" ,"inputSchema":{"type":"object"}}, {"name":"cancel","inputSchema":{"type":"object"}},{"name":"rooms","inputSchema":{"type":"object"}}], "x":1}`
	up := scripted(t, func(method string, _ json.RawMessage) string {
		if method == "initialize" {
			return hello
		}
		return tools
	})
	w := newMCPWorld(t, mcpSetup{
		policy: "version: 1\noperations:\n  room.book: {tools: [book], key: {room: id}, repeat: never}\n  room.cancel: {tools: [cancel], key: {room: id}}\n" +
			"  note.add: {tools: [add_note], key: {text: text}}\n",
		more: map[string]*gateway.Upstream{"other": up},
		principals: gateway.Principals{{Name: "booker", Secret: "b-secret", Tenant: "t", Operations: []string{"room.b*"}},
			{Name: "canceller", Secret: "c-secret", Tenant: "t", Operations: []string{"room.cancel"}}, {Name: "all", Secret: "a-secret", Tenant: "t"}}})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	as := func(secret string) map[string]string { return map[string]string{"Agentgw-Key": secret} }
	for secret, want := range map[string][]string{
		"b-secret": {"book", "rooms"},
		"c-secret": {"agentgw_call", "cancel", "rooms"}, // a cancellation can be repeated by token
		"a-secret": {"agentgw_call", "book", "cancel", "rooms"},
	} {
		if got := listedNames(t, w.post(t, "/mcp/other", list, as(secret))); !slices.Equal(got, want) {
			t.Errorf("/mcp/other as %s: %v, want %v", secret, got, want)
		}
		everywhere := func(names []string) []string {
			return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_note") || strings.HasSuffix(name, "_notes") })
		}
		longer := func(names []string) (long []string) { // of tools that no policy names, where there are several servers
			for _, name := range names {
				if name == "rooms" {
					name = "other_rooms"
				}
				long = append(long, name)
			}
			return long
		}
		if got := everywhere(listedNames(t, w.post(t, "/mcp", list, as(secret)))); !slices.Equal(got, want) {
			t.Errorf("/mcp as %s: %v, want %v", secret, got, want)
		}
		if got := everywhere(listedNames(t, w.get(t, "/v1/tools?format=mcp", secret))); !slices.Equal(got, longer(want)) {
			t.Errorf("/v1/tools as %s: %v, want %v", secret, got, longer(want))
		}
	}
	if got := w.post(t, "/mcp/other", list, as("a-secret")); !strings.Contains(got, `[ {"name":"book" ,"inputSchema":{"type":"object"}}, {"name":"cancel"`) {
		t.Errorf("the definitions are not as they came: %s", got)
	}
	if got := w.post(t, "/mcp/other", list, as("b-secret")); got != `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"book" ,"inputSchema":{"type":"object"}},{"name":"rooms","inputSchema":{"type":"object"}}], "x":1}}` {
		t.Errorf("what is left is not as it came: %s", got)
	}
	if got := decided(w.post(t, "/mcp/other", callBody(1, "cancel", `{"room":7}`, ""), as("b-secret"))); got != "denied" {
		t.Errorf("a tool that is not shown: %s", got)
	}
}

// get asks one of the other doors as a principal.
func (w *mcpWorld) get(t *testing.T, path, secret string) string {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
	r.Header.Set("Agentgw-Key", secret)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return string(b)
}

// TestMCPMethods: a method that a door does not have is refused with those that it has.
func TestMCPMethods(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{})
	for path, want := range map[string]string{"/mcp": "POST", "/mcp/notes": "GET, POST, DELETE"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, w.url+path, nil)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != want {
			t.Errorf("%s: %d, Allow: %s", path, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}
