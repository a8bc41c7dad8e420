package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"agentgw"
	"agentgw/gateway"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func survey(t *testing.T, h http.Handler) ([]json.RawMessage, error) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return gateway.MCPTools(t.Context(), &gateway.Upstream{Name: "s", MCP: &gateway.MCPServer{URL: u}, Headers: []agentgw.Header{{Name: "Authorization", Value: "Bearer k"}}})
}

// All pages are read, with and without sessions, and a session is ended.
func TestMCPTools(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		s := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
		for i := range 7 {
			mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("tool_%d", i)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				t.Error("a tool was called")
				return nil, nil, nil
			})
		}
		h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		ended := false
		tools, err := survey(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ended = ended || r.Method == http.MethodDelete
			if r.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("%s without the key", r.Method)
			}
			h.ServeHTTP(w, r)
		}))
		if err != nil || len(tools) != 7 || !strings.Contains(string(tools[6]), `"tool_6"`) || ended == stateless {
			t.Errorf("stateless %v: %d tools, %v, ended %v", stateless, len(tools), err, ended)
		}
	}
}

func TestMCPToolsRefused(t *testing.T) {
	reply := func(list string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			var m struct {
				ID     json.RawMessage
				Method string
			}
			json.Unmarshal(b, &m)
			w.Header().Set("Content-Type", "application/json")
			switch m.Method {
			case "initialize":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, m.ID)
			case "tools/list":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, list)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		})
	}
	for list, want := range map[string]string{
		`"error":{"code":-1,"message":"no"}`:           "refused",
		`"result":{"tools":{}}`:                        "no list",
		`"result":{"tools":[],"nextCursor":"again"}`:   "no end",
		`"result":{"tools":[{"name":"a"}],"x":"` + "`": "no JSON-RPC response",
	} {
		if tools, err := survey(t, reply(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d tools, %v; want %s", list, len(tools), err, want)
		}
	}
	if _, err := survey(t, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a server that speaks no MCP: %v", err)
	}
}
