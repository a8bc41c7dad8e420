package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"agentgw/gateway"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPCancelled: a client that cancels a guarded call stops waiting, no more: the server does not hear of it. What only reads it may
// stop.
func TestMCPCancelled(t *testing.T) {
	for _, wire := range []string{"http", "stdio"} {
		up, got, release := bookings(t)
		w := newMCPWorld(t, mcpSetup{policy: bookPolicy, more: map[string]*gateway.Upstream{"other": up}})
		for i, c := range []struct {
			tool string
			told int
		}{{"book", 0}, {"watch", 1}} {
			answered := make(chan string, 1)
			send := func(body string, head map[string]string) string { return w.post(t, "/mcp/other", body, head) }
			if wire == "stdio" {
				send = w.lineClient(t, "/mcp/other")
			}
			before := got.len()
			go func() { answered <- send(callBody(7+i, c.tool, `{"room":1}`, ""), nil) }()
			until(t, "the call reaches the server", func() bool { return got.len() > before })
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"bored"}}`, 7+i), nil)
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil) // not under way
			until(t, "the server is told", func() bool { return got.len() > before+c.told })
			release(fmt.Sprintf(`{"content":[{"type":"text","text":"done %d"}]}`, i))
			if res := <-answered; !strings.Contains(res, fmt.Sprintf("done %d", i)) {
				t.Errorf("%s, %s: %s", wire, c.tool, res)
			}
			if told := got.len() - before - 1; told != c.told {
				t.Errorf("%s, %s: the server was told %d times, want %d: %q", wire, c.tool, told, c.told, got.all())
			}
		}
		if res := w.post(t, "/mcp/other", callBody(9, "book", `{"room":1}`, ""), nil); decided(res) != "replayed" {
			t.Errorf("%s: the cancelled call again: %s", wire, res)
		}
	}
}

// TestMCPSessionEnds: a client that ends its session while its call is under way ends it when that has been answered.
func TestMCPSessionEnds(t *testing.T) {
	did, hold := &calls{}, make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.NewDecoder(r.Body).Decode(&m)
		did.add(strings.TrimSpace(r.Method + " " + m.Method))
		if m.Method == "tools/call" {
			<-hold
			did.add("answer")
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[{"name":"book","inputSchema":{"type":"object"}}]}}`, m.ID)
	}))
	defer srv.Close()
	at, _ := url.Parse(srv.URL)
	w := newMCPWorld(t, mcpSetup{policy: bookPolicy, more: map[string]*gateway.Upstream{"other": {Name: "other", MCP: &gateway.MCPServer{URL: at}}}})
	end := func(session string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, w.url+"/mcp/other", nil)
		r.Header.Set("Mcp-Session-Id", session)
		res, err := http.DefaultClient.Do(r)
		if err != nil || res.StatusCode/100 != 2 {
			t.Errorf("%v %v", res, err)
			return
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	answered := make(chan string, 1)
	go func() {
		answered <- w.post(t, "/mcp/other", callBody(1, "book", `{"room":1}`, ""), map[string]string{"Mcp-Session-Id": "s1"})
	}()
	until(t, "the call reaches the server", func() bool { return strings.Contains(fmt.Sprint(did.all()), "tools/call") })
	end("s1")
	end("s2")
	close(hold)
	if res := <-answered; decided(res) != "executed" {
		t.Error(res)
	}
	until(t, "both sessions are ended", func() bool { return strings.Count(fmt.Sprint(did.all()), "DELETE") == 2 })
	if got := strings.Join(did.all(), ", "); !strings.HasSuffix(got, "POST tools/call, DELETE, answer, DELETE") {
		t.Errorf("the server saw %s", got)
	}
}

// TestMCPTasks: a tool that returns a task has succeeded when the task exists; the same call again gets the same task, and what is asked
// about tasks passes as it came. In 2025-11-25 and as the extension of 2026-07-28.
func TestMCPTasks(t *testing.T) {
	for name, result := range map[string]string{
		"2025-11-25": `{"task":{"taskId":"t%d","status":"working","createdAt":"2026-07-28T00:00:00Z","ttl":60000}}`,
		"2026-07-28": `{"resultType":"task","taskId":"t%d","status":"working","ttlMs":60000}`,
	} {
		got := &calls{}
		up := scripted(t, func(method string, params json.RawMessage) string {
			switch method {
			case "tools/list":
				return `{"tools":[{"name":"book","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
			case "tools/call":
				got.add(string(params))
				return fmt.Sprintf(result, got.len())
			}
			return `{"method":"` + method + `","params":` + string(params) + `}`
		})
		w := newMCPWorld(t, mcpSetup{policy: bookPolicy, more: map[string]*gateway.Upstream{"other": up}})
		for _, want := range []string{"executed", "replayed"} {
			body, head := modern(1, "book", `{"room":1}`, `,"task":{"ttl":60000}`)
			if name != statelessRevision {
				body, head = callBody(1, "book", `{"room":1}`, `,"task":{"ttl":60000}`), nil
			}
			if _, res := w.raw(t, "/mcp/other", body, head); decided(res) != want || !strings.Contains(res, `"taskId":"t1"`) {
				t.Errorf("%s: want %s: %s", name, want, res)
			}
		}
		if sent := got.all(); len(sent) != 1 || !strings.Contains(sent[0], `"task":{"ttl":60000}`) {
			t.Errorf("%s: sent %q", name, sent)
		}
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"} {
			params := `{"taskId":"t1", "x":1.50}`
			if res := w.post(t, "/mcp/other", `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":`+params+`}`, nil); !strings.Contains(res, `"method":"`+method+`","params":`+params) {
				t.Errorf("%s %s: %s", name, method, res)
			}
		}
	}
}

// TestMCPProgressOverPipes: progress finds its way from a server that is a child process to a client that started the gateway.
func TestMCPProgressOverPipes(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"child": childServer(t, "notes")}})
	hears(t, func(o *mcp.ClientOptions) *mcp.ClientSession { return w.connectStdio(t, "/mcp/child", o) })
}
