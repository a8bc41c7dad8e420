package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/policy"
)

// BenchmarkMCP calls one tool bare, through a plain reverse proxy, and through agentgw: not guarded, guarded, and replayed. The
// server answers at once, so that what is left is what lies between.
func BenchmarkMCP(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}],"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}`)
	}))
	defer server.Close()
	at, _ := url.Parse(server.URL)
	plain := httptest.NewServer(httputil.NewSingleHostReverseProxy(at))
	defer plain.Close()
	door := func(unmatched, text string) string {
		pol, err := policy.Load([]policy.Source{{Name: "b.yaml", Text: []byte(text)}}, policy.Env{})
		if err != nil {
			b.Fatal(err)
		}
		up := map[string]*gateway.Upstream{"s": {Name: "s", MCP: &gateway.MCPServer{URL: at}}}
		m := gateway.NewMCP(gateway.MCPOptions{Upstreams: up, Policy: pol, Next: gateway.NewHTTP(nil, up)})
		g := gateway.New(gateway.Options{Policy: pol, Ledger: ledger.New(memstore.New(memstore.Options{})), Sender: m, MCP: m, Upstreams: up, Unmatched: unmatched})
		front := httptest.NewServer(g.Doors(gateway.DoorConfig{}))
		b.Cleanup(func() { front.Close(); m.Close() })
		return front.URL + "/mcp/s"
	}
	none := "version: 1\noperations: {x: {tools: [x], key: {id: id}}}\n"
	guarded := "version: 1\noperations: {add: {tools: [add], key: {id: id}}}\n"
	for _, c := range []struct{ name, url, id string }{
		{"bare", server.URL, ""}, {"proxy", plain.URL, ""}, {"passed", door("pass", none), ""}, {"executed", door("", guarded), ""}, {"replayed", door("", guarded), "7"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var n atomic.Int64
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					id := c.id
					if id == "" {
						id = strconv.FormatInt(n.Add(1), 10)
					}
					r, _ := http.NewRequest(http.MethodPost, c.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"id":`+id+`}}}`))
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Accept", "application/json, text/event-stream")
					res, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					body, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if !strings.Contains(string(body), `"ok"`) {
						b.Error(string(body))
					}
				}
			})
		})
	}
}
