package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"agentgw/gateway"
)

// agents are two principals, of whom one calls.
var agents = gateway.Principals{{Name: "agent", Secret: "agent-s3cret", Tenant: "t"}, {Name: "other", Secret: "other-s3cret", Tenant: "u"}}

// TestMCPCredentials: a principal's secret reaches no server, by whatever message or method and in whatever place it comes; what belongs to
// the server does.
func TestMCPCredentials(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{principals: agents, headers: map[string]string{"X-Desk": "desk-s3cret"}})
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for i, head := range []map[string]string{{"Authorization": "Bearer agent-s3cret"}, {"Authorization": "bearer  agent-s3cret"}, {"Agentgw-Key": "agent-s3cret"},
		{"Agentgw-Key": "agent-s3cret", "Authorization": "Bearer of-the-server"}, {"Agentgw-Key": "agent-s3cret", "Authorization": "Bearer other-s3cret"}} {
		res, _ := w.raw(t, "/mcp/notes", hello, head)
		session := map[string]string{"Mcp-Session-Id": res.Header.Get("Mcp-Session-Id")}
		for name, value := range head {
			session[name] = value
		}
		for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, listTools, `{"jsonrpc":"2.0","id":2,"method":"resources/list"}`,
			callBody(3, "list_notes", `{}`, ""), callBody(4, "add_note", fmt.Sprintf(`{"text":"note %d"}`, i), `,"_meta":{"agentgw/task":"t"}`)} {
			if res, b := w.raw(t, "/mcp/notes", body, session); res.StatusCode >= 400 {
				t.Errorf("%v %s: %d %s", head, body, res.StatusCode, b)
			}
		}
		w.raw(t, "/mcp", callBody(5, "add_note", fmt.Sprintf(`{"text":"note %d","tag":"x"}`, i), ""), head)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, w.url+"/mcp/notes", nil)
		for name, value := range session {
			r.Header.Set(name, value)
		}
		if res, err := http.DefaultClient.Do(r); err != nil || res.StatusCode >= 300 {
			t.Errorf("leaving: %v %v", res, err)
		}
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	ofTheServer, deletes := 0, 0
	for i, r := range w.seen.requests {
		all := fmt.Sprint(r.URL, r.Header, w.seen.bodies[i])
		if strings.Contains(all, "agent-s3cret") || strings.Contains(all, "other-s3cret") || strings.Contains(all, "Agentgw") || r.Header.Get("X-Desk") != "desk-s3cret" {
			t.Errorf("the server got %s %s", r.Method, all)
		}
		if r.Header.Get("Authorization") == "Bearer of-the-server" {
			ofTheServer++
		}
		if r.Method == http.MethodDelete {
			deletes++
		}
	}
	if ofTheServer < 5 || deletes != 5 {
		t.Errorf("%d requests with what belongs to the server, %d farewells", ofTheServer, deletes)
	}
}

// TestMCPCredentialsInMeta: a secret in a message is refused at both doors, whosever it is.
func TestMCPCredentialsInMeta(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{stateless: true, principals: agents})
	head := map[string]string{"Agentgw-Key": "agent-s3cret"}
	for _, path := range []string{"/mcp", "/mcp/notes"} {
		for _, meta := range []string{`"Authorization":"Bearer agent-s3cret"`, `"agentgw/key":"agent-s3cret"`, `"x":"other-s3cret"`} {
			for _, body := range []string{callBody(1, "add_note", `{"text":"x"}`, `,"_meta":{`+meta+`}`), strings.Replace(listTools, `"tools/list"`, `"tools/list","params":{"_meta":{`+meta+`}}`, 1)} {
				if res, b := w.raw(t, path, body, head); res.StatusCode != 400 || !strings.Contains(b, "-32602") || strings.Contains(b, "s3cret") {
					t.Errorf("%s %s: %d %s", path, body, res.StatusCode, b)
				}
			}
		}
	}
	if got := decided(w.post(t, "/mcp/notes", callBody(1, "add_note", `{"text":"x"}`, `,"_meta":{"x":"y"}`), head)); got != "executed" {
		t.Errorf("a good one: %s", got)
	}
	if n := len(w.seen.with("tools/call")); n != 1 {
		t.Errorf("%d calls reached the server", n)
	}
}

// TestMCPUpstreamSecrets: what the gateway sends to a server to be let in is in no list of tools, error or log, also where the server
// repeats it or cannot be reached.
func TestMCPUpstreamSecrets(t *testing.T) {
	repeats := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			user, password, _ := r.BasicAuth()
			fmt.Fprintf(w, "not with %q, %s:%s, %q", r.Header.Get("Authorization"), user, password, r.Header.Get("X-Desk"))
		})
	}
	for name, server := range map[string]http.Handler{"401": repeats(401), "200": repeats(200), "500": repeats(500),
		"cut": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "away": nil} {
		srv := httptest.NewServer(server)
		srv.Config.ErrorLog = nil
		at, _ := url.Parse(srv.URL)
		if server == nil {
			srv.Close()
		} else {
			defer srv.Close()
		}
		at.User = url.UserPassword("gateway", "p4ssword")
		desk := &gateway.Upstream{Name: "desk", MCP: &gateway.MCPServer{URL: at}}
		desk.Headers = append(desk.Headers, header("X-Desk", "Token desk-s3cret"))
		w := newMCPWorld(t, mcpSetup{unmatched: "auto", more: map[string]*gateway.Upstream{"desk": desk}})
		var shown bytes.Buffer
		for _, path := range []string{"/mcp", "/v1/calls"} {
			shown.WriteString(w.post(t, path, listTools, nil))
			shown.WriteString(w.post(t, path, callBody(1, "desk_x", `{}`, ""), nil))
		}
		shown.WriteString(w.post(t, "/v1/calls", `{"tool":"desk_x","arguments":{}}`, nil))
		shown.WriteString(w.get(t, "/v1/tools", ""))
		if _, err := gateway.MCPTools(t.Context(), desk); err != nil {
			shown.WriteString(err.Error())
		} else {
			t.Errorf("%s: its tools could be listed", name)
		}
		shown.WriteString(w.logged())
		for _, secret := range []string{"desk-s3cret", "p4ssword", "Z2F0ZXdheTpwNHNzd29yZA"} {
			if strings.Contains(shown.String(), secret) {
				t.Errorf("%s: %s is shown: %s", name, secret, shown.String())
			}
		}
		if strings.HasPrefix(name, "4") && !strings.Contains(shown.String(), "[hidden]") {
			t.Errorf("%s: what the server says is not told: %s", name, shown.String())
		}
	}
}

// TestMCPRebound: pages that had a name re-bound to this machine, and pages of other origins, are refused by every method at both doors, with
// and without principals, before anybody is asked for a secret.
func TestMCPRebound(t *testing.T) {
	for _, principals := range []gateway.Principals{nil, agents} {
		w := newMCPWorld(t, mcpSetup{principals: principals})
		for _, path := range []string{"/mcp", "/mcp/notes", "/mcp/nowhere"} {
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
				for _, c := range []struct{ host, origin string }{{"evil.example", ""}, {"evil.example:80", "http://evil.example"}, {"", "http://evil.example"},
					{"", "null"}, {"", "http://127.0.0.1.evil.example"}} {
					r, _ := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(listTools))
					r.Header.Set("Agentgw-Key", "agent-s3cret")
					if r.Host = c.host; c.origin != "" {
						r.Header.Set("Origin", c.origin)
					}
					res, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					b, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if res.StatusCode != http.StatusForbidden || res.Header.Get("Access-Control-Allow-Origin") != "" {
						t.Errorf("%s %s, Host %q, Origin %q: %d %s", method, path, c.host, c.origin, res.StatusCode, b)
					}
				}
			}
		}
		if n := len(w.seen.requests); n != 0 {
			t.Errorf("%d requests reached the server", n)
		}
		if res, b := w.raw(t, "/mcp/notes", listTools, map[string]string{"Origin": "http://localhost:3000", "Agentgw-Key": "agent-s3cret"}); res.StatusCode == http.StatusForbidden {
			t.Errorf("a page of this machine: %d %s", res.StatusCode, b)
		}
	}
}
