package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"agentgw/policy"
)

// suggested runs `agentgw policy suggest` in the test's folder; the draft must load.
func suggested(t *testing.T, args ...string) (draft, said string) {
	t.Helper()
	var out, errs strings.Builder
	if code := run(t.Context(), append([]string{"policy", "suggest"}, args...), nil, &out, &errs, append(os.Environ(), "MODEL_KEY=sk-1", "DESK_KEY=d-1")); code != 0 {
		t.Fatalf("%v ended with %d: %s", args, code, errs.String())
	}
	if _, err := policy.Load([]policy.Source{{Name: "draft.yaml", Text: []byte(out.String())}}, policy.Env{AllowAll: true}); err != nil {
		t.Fatalf("the draft does not load: %v\n%s", err, out.String())
	}
	return out.String(), errs.String()
}

// scriptedModel is an OpenAI-compatible service. answer gets the tool that is asked about.
type scriptedModel struct {
	mu     sync.Mutex
	asked  []string
	bodies []string
	answer func(tool string) (status int, content string)
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var in struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	var data struct{ Tool string }
	if json.Unmarshal(b, &in) != nil || len(in.Messages) != 2 || json.Unmarshal([]byte(in.Messages[1].Content), &data) != nil || r.URL.Path != "/v1/chat/completions" ||
		r.Header.Get("Authorization") != "Bearer sk-1" || in.Model != "small" {
		http.Error(w, "not what is expected", http.StatusTeapot)
		return
	}
	m.mu.Lock()
	m.asked, m.bodies = append(m.asked, data.Tool), append(m.bodies, string(b))
	m.mu.Unlock()
	status, content := m.answer(data.Tool)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := json.Marshal(content)
	fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%s}}]}`, text)
}

const suggestTools = `{"name":"add_task","description":"Adds a task.","parameters":{"type":"object","properties":{"list_id":{"type":"string"},"title":{"type":"string"},"details":{"type":"string"}}}}
{"name":"book_table","description":"Books a table.","parameters":{"type":"object","properties":{"restaurant_id":{"type":"string"},"wish":{"type":"string"}}}}
{"name":"close_ticket","description":"Closes a ticket.","parameters":{"type":"object","properties":{"ticket_id":{"type":"string"}}}}
`

func toolsFile(t *testing.T) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tools.jsonl", []byte(suggestTools), 0o600); err != nil {
		t.Fatal(err)
	}
	return "tools.jsonl"
}

// A model decides on free text, and the draft says where. What the schema settles is not asked.
func TestSuggestModel(t *testing.T) {
	file := toolsFile(t)
	m := &scriptedModel{answer: func(tool string) (int, string) {
		if tool == "add_task" {
			return 200, `{"title":{"why":"what the task is","role":"meaning"},"details":{"why":"a remark","role":"ignore"}}`
		}
		return 200, `{"wish":{"why":"an afterthought","role":"ignore"}}`
	}}
	s := httptest.NewServer(m)
	defer s.Close()
	draft, said := suggested(t, "--tools", file, "--model", s.URL+"/v1", "--model-name", "small", "--api-key", "env:MODEL_KEY")
	for _, line := range []string{"title: auto(meaning)?  # what the task is (the model decided)", "# details is not in the key: a remark (the model decided).",
		"# wish is not in the key: an afterthought (the model decided).", "restaurant_id: auto(id)?  # looks like a reference\n"} {
		if !strings.Contains(draft, line) {
			t.Errorf("the draft lacks %q:\n%s", line, draft)
		}
	}
	if got := strings.Join(m.asked, " "); got != "add_task book_table" || said != "" {
		t.Errorf("asked about %s; said %s", got, said)
	}
	if body := m.bodies[0]; !strings.Contains(body, `"json_schema"`) || !strings.Contains(body, `"strict":true`) || strings.Contains(body, "list_id") {
		t.Errorf("the model was sent %s", body)
	}

	config := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nledger: \"memory:\"\nmodel: {url: %s/v1, api_key: \"env:MODEL_KEY\", judge: small}\n", s.URL)
	if err := os.WriteFile("agentgw.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, _ := suggested(t, "--tools", file, "--config", "agentgw.yaml"); again != draft {
		t.Errorf("the model of the configuration makes another draft:\n%s", again)
	}
}

// A model that does not answer as asked costs its advice and a line on stderr; the draft is the one without it.
func TestSuggestModelFails(t *testing.T) {
	file := toolsFile(t)
	plain, _ := suggested(t, "--tools", file)
	for name, c := range map[string]struct {
		answer func(string) (int, string)
		asked  int
		said   string
	}{
		"down":       {func(string) (int, string) { return 503, "" }, 1, `failed at tool "add_task", and the rest`},
		"chatty":     {func(string) (int, string) { return 200, "Sure! Here it is:\n{}" }, 2, `tool "book_table" is drafted without the model`},
		"wrong role": {func(string) (int, string) { return 200, `{"wish":{"why":"x","role":"drop"}}` }, 2, `tool "book_table" is drafted without the model`},
		"names what was not asked": {func(string) (int, string) {
			return 200, `{"wish":{"why":"x","role":"ignore"},"restaurant_id":{"why":"x","role":"ignore"}}`
		}, 2, `tool "book_table" is drafted without the model`},
	} {
		m := &scriptedModel{answer: c.answer}
		s := httptest.NewServer(m)
		draft, said := suggested(t, "--tools", file, "--model", s.URL+"/v1", "--model-name", "small", "--api-key", "env:MODEL_KEY")
		s.Close()
		if draft != plain || len(m.asked) != c.asked || !strings.Contains(said, c.said) || strings.Count(said, "\n") != c.asked {
			t.Errorf("%s: asked %v, said %s, draft\n%s", name, m.asked, said, draft)
		}
	}
}

// The tools of an MCP server and of an OpenAPI document, in one draft.
func TestSuggestSources(t *testing.T) {
	t.Chdir(t.TempDir())
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	yes := true
	type note struct {
		ID   string `json:"note_id"`
		Text string `json:"text,omitempty"`
	}
	never := func(context.Context, *mcp.CallToolRequest, note) (*mcp.CallToolResult, any, error) {
		t.Error("a tool was called")
		return nil, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "sync_notes", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, never)
	mcp.AddTool(server, &mcp.Tool{Name: "pin_note", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, never)
	mcp.AddTool(server, &mcp.Tool{Name: "get_rid_of_note", Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &yes}}, never)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer d-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer s.Close()
	api := "openapi: 3.1.0\npaths:\n  /invoices:\n    post: {operationId: createInvoice, requestBody: {content: {application/json: {schema: {type: object, properties: {customer_id: {type: string}}}}}}}\n"
	if err := os.WriteFile("api.yaml", []byte(api), 0o600); err != nil {
		t.Fatal(err)
	}
	draft, _ := suggested(t, "--mcp", s.URL+"/mcp", "--mcp-key", "env:DESK_KEY", "--openapi", "api.yaml")
	if !strings.Contains(draft, "scope: principal\n    ttl: 10m\n    key:\n      note_id: auto(id)?") || !strings.Contains(draft, "text: auto(meaning)?") ||
		!strings.Contains(draft, "scope: task\n    ttl: 24h\n    key:\n      customer_id") {
		t.Errorf("an ordinary MCP client names no task, and others do:\n%s", draft)
	}
	for _, part := range []string{`tools: ["sync_notes"]` + "\n    pattern: read  # the tool says", `tools: ["pin_note"]` + "\n    pattern: overwrite  # the tool says",
		`tools: ["get_rid_of_note"]` + "\n    pattern: once  # the tool says that it destroys", "note_id: auto(id)?", `http: ["POST /UPSTREAM/invoices"]`, "customer_id: auto(id)?"} {
		if !strings.Contains(draft, part) {
			t.Errorf("the draft lacks %q:\n%s", part, draft)
		}
	}
}

func TestSuggestUsage(t *testing.T) {
	file := toolsFile(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, name := range []string{"bad.yaml", "plain.yaml"} {
		if err := os.WriteFile(name, []byte("listen: 127.0.0.1:0\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "say of which tools"},
		{"--openapi nowhere.yaml", exitUsage, "no such file"},
		{"--openapi bad.yaml", exitUsage, `bad.yaml: /openapi is ""`},
		{"--mcp desk", exitUsage, "is not the URL of an MCP server"},
		{"--mcp " + closed.URL, exitFailed, "cannot be listed"},
		{"--tools " + file + " --model x --model-name m", exitUsage, "is not the URL of a model service"},
		{"--tools " + file + " --model " + closed.URL, exitUsage, "--model-name"},
		{"--tools " + file + " --model-name m", exitUsage, "say nothing without --model"},
		{"--tools " + file + " --model " + closed.URL + " --model-name m --api-key env:NOT_SET", exitUsage, "NOT_SET is not set"},
		{"--tools " + file + " --model " + closed.URL + " --config plain.yaml", exitUsage, "either --model or --config"},
		{"--tools " + file + " --config plain.yaml", exitUsage, "plain.yaml has no model"},
	} {
		var out, errs strings.Builder
		if code := run(t.Context(), append([]string{"policy", "suggest"}, strings.Fields(c.args)...), nil, &out, &errs, os.Environ()); code != c.code || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%s: %d, %s, %s", c.args, code, errs.String(), out.String())
		}
	}
}
