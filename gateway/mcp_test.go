package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/policy"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notes is an MCP server with a tool that has an effect, one that reads, and one for each way to go wrong.
type notes struct {
	mu      sync.Mutex
	written []string
	hold    chan struct{} // add_note waits for it, where it is set
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.written...)
}

type note struct {
	Text string `json:"text"`
	Tag  string `json:"tag,omitempty"`
}

func (n *notes) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add_note", Description: "Writes a note"}, func(ctx context.Context, req *mcp.CallToolRequest, in note) (*mcp.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half"})
		}
		if n.hold != nil {
			<-n.hold
		}
		if in.Text == "" {
			return nil, nil, fmt.Errorf("a note needs a text")
		}
		n.mu.Lock()
		n.written = append(n.written, in.Text)
		id := len(n.written)
		n.mu.Unlock()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("note %d", id)}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "list_notes", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(n.all(), "\n")}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{URI: "notes://first", Name: "first"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "notes://first", Text: "x"}}}, nil
	})
	return s
}

// mcpWorld is a gateway in front of MCP servers.
type mcpWorld struct {
	notes   *notes
	handler http.Handler
	url     string
	seen    *seen // what the notes server got over HTTP
	asked   *seen // what the gateway got
	log     *lockedBuffer
}

// seen remembers requests.
type seen struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func (s *seen) through(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(b))
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r.Clone(context.Background())), append(s.bodies, string(b))
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// with finds the bodies of one method.
func (s *seen) with(method string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		if strings.Contains(b, `"method":"`+method+`"`) {
			out = append(out, b)
		}
	}
	return out
}

type mcpSetup struct {
	policy     string
	unmatched  string
	principals gateway.Principals
	stateless  bool
	more       map[string]*gateway.Upstream
	tools      map[string]*gateway.Tool
	headers    map[string]string
	clock      gateway.Clock
	now        func() time.Time // the ledger's clock
}

func newMCPWorld(t *testing.T, o mcpSetup) *mcpWorld {
	t.Helper()
	w := &mcpWorld{notes: &notes{}, seen: &seen{}, asked: &seen{}, log: &lockedBuffer{}}
	server := w.notes.server()
	up := httptest.NewServer(w.seen.through(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: o.stateless})))
	t.Cleanup(up.Close)
	at, _ := url.Parse(up.URL)
	notes := &gateway.Upstream{Name: "notes", MCP: &gateway.MCPServer{URL: at}}
	for name, value := range o.headers {
		notes.Headers = append(notes.Headers, header(name, value))
	}
	upstreams := map[string]*gateway.Upstream{"notes": notes}
	for name, u := range o.more {
		upstreams[name] = u
	}
	if o.policy == "" {
		o.policy = "version: 1\noperations: {note.add: {tools: [add_note], key: {text: text}}}\n"
	}
	pol, err := policy.Load([]policy.Source{{Name: "mcp.yaml", Text: []byte(o.policy)}}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	servers := gateway.NewMCP(gateway.MCPOptions{Upstreams: upstreams, Tools: o.tools, Policy: pol, Next: gateway.NewHTTP(o.tools, upstreams), Log: log})
	t.Cleanup(servers.Close)
	g := gateway.New(gateway.Options{Policy: pol, Ledger: ledger.New(memstore.New(memstore.Options{Now: o.now})), Sender: servers, MCP: servers, Tools: o.tools,
		Upstreams: upstreams, Unmatched: o.unmatched, Allowed: o.principals.Allowed, Clock: o.clock})
	w.handler = w.asked.through(g.Doors(gateway.DoorConfig{Principals: o.principals}))
	front := httptest.NewServer(w.handler)
	t.Cleanup(front.Close)
	w.url = front.URL
	return w
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (w *mcpWorld) logged() string {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.b.String()
}

// connect is an SDK client at a path of the gateway.
func (w *mcpWorld) connect(t *testing.T, path string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, o)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url + path, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatalf("connect %s: %v", path, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// connectStdio is an SDK client that started the gateway as a command.
func (w *mcpWorld) connectStdio(t *testing.T, path string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- (&gateway.Stdio{Door: w.handler, Path: path, In: inR, Out: outW}).Run(t.Context()) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, o)
	s, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inW.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func decision(r *mcp.CallToolResult) string { s, _ := r.Meta["agentgw/decision"].(string); return s }

func call(t *testing.T, s *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

// TestMCPReplay: a call that is made again, worded otherwise, through another session, has one effect and gets the first result.
func TestMCPReplay(t *testing.T) {
	for _, path := range []string{"/mcp/notes", "/mcp"} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprint(path, stateless), func(t *testing.T) {
				w := newMCPWorld(t, mcpSetup{stateless: stateless})
				first := call(t, w.connect(t, path, nil), "add_note", note{Text: "call  Ann"})
				again := call(t, w.connect(t, path, nil), "add_note", map[string]any{"tag": "x", "text": "call Ann "})
				if got := w.notes.all(); len(got) != 1 || got[0] != "call  Ann" {
					t.Errorf("written: %q", got)
				}
				if text(first) != "note 1" || text(again) != "note 1" {
					t.Errorf("answers %q and %q", text(first), text(again))
				}
				if decision(first) != "executed" || decision(again) != "replayed" {
					t.Errorf("decisions %q and %q", decision(first), decision(again))
				}
				if e, _ := again.Meta["agentgw/effect"].(string); !strings.HasPrefix(e, "eff_") {
					t.Errorf("effect %q", e)
				}
			})
		}
	}
}

// TestMCPPassesBytes: the server gets the message as the client wrote it, unknown members, spelling and all.
func TestMCPPassesBytes(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{stateless: true})
	body := `{"jsonrpc":"2.0", "id":"a/1","method":"tools/call","params":{"arguments":{"text":"\u00e9 1e2 \/"  },"name":"add_note","other":[1.0,{}],"_meta":{"progressToken":7,"x":1E2}}}`
	res := w.post(t, "/mcp/notes", body, nil)
	if got := w.seen.with("tools/call"); len(got) != 1 || got[0] != body {
		t.Errorf("the server got %q", got)
	}
	if !strings.Contains(res, `"id":"a/1"`) || !strings.Contains(res, `"agentgw/decision":"executed"`) {
		t.Errorf("answer %s", res)
	}
	again := w.post(t, "/mcp/notes", strings.Replace(body, `"a/1"`, `17`, 1), nil)
	if !strings.Contains(again, `"id":17,`) || !strings.Contains(again, `"agentgw/decision":"replayed"`) {
		t.Errorf("replay %s", again)
	}
	strange := `{"jsonrpc":"2.0","id":1,"method":"x/unknown","params":{"A":1.50,  "b":"\u00e9"}}`
	w.post(t, "/mcp/notes", strange, nil)
	if got := w.seen.bodies[len(w.seen.bodies)-1]; got != strange {
		t.Errorf("the server got %q", got)
	}
}

// post sends one message and gives the answer's body, or the last event's data.
func (w *mcpWorld) post(t *testing.T, path, body string, headers map[string]string) string {
	t.Helper()
	_, b := w.raw(t, path, body, headers)
	return b
}

func (w *mcpWorld) raw(t *testing.T, path, body string, headers map[string]string) (*http.Response, string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		return res, strings.TrimPrefix(lines[len(lines)-1], "data: ")
	}
	return res, string(b)
}

func callBody(id int, tool, args, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, tool, args, more)
}

func decided(body string) string {
	var m struct {
		Result struct {
			Meta map[string]any `json:"_meta"`
		} `json:"result"`
	}
	json.Unmarshal([]byte(body), &m)
	s, _ := m.Result.Meta["agentgw/decision"].(string)
	return s
}

// TestMCPCallerKeys: every form of the caller's key counts.
func TestMCPCallerKeys(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{stateless: true, policy: "version: 1\noperations: {note.add: {tools: [add_note], key: {text: text}}}\n"})
	forms := []struct{ more, header string }{
		{`,"idempotencyKey":"k1"`, ""}, {`,"_meta":{"io.modelcontextprotocol/idempotency-key":"k1"}`, ""}, {"", "k1"},
	}
	if got := decided(w.post(t, "/mcp/notes", callBody(1, "add_note", `{"text":"one"}`, forms[0].more), nil)); got != "executed" {
		t.Fatal(got)
	}
	for i, f := range forms {
		headers := map[string]string{}
		if f.header != "" {
			headers["Idempotency-Key"] = f.header
		}
		if got := decided(w.post(t, "/mcp/notes", callBody(2, "add_note", `{"text":"another"}`, f.more), headers)); got != "conflict" {
			t.Errorf("form %d: %s", i, got)
		}
	}
}

// TestMCPTask: the task of a call separates effects where the scope is the task.
func TestMCPTask(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{stateless: true, policy: "version: 1\noperations: {note.add: {tools: [add_note], key: {text: text}, scope: task}}\n"})
	args := `{"text":"one"}`
	for i, want := range []string{"executed", "replayed", "executed", "replayed", "rejected"} {
		more, headers := "", map[string]string{}
		switch i {
		case 0:
			more = `,"_meta":{"agentgw/task":"t1"}`
		case 1:
			headers["Agentgw-Task"] = "t1"
		case 2, 3:
			headers["Agentgw-Task"] = "t2"
		}
		if got := decided(w.post(t, "/mcp/notes", callBody(i, "add_note", args, more), headers)); got != want {
			t.Errorf("call %d: %s, want %s", i, got, want)
		}
	}
}

// TestMCPRefusals: a refusal is a tool result that tells the model what to do; a failure frees the effect.
func TestMCPRefusals(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{policy: "version: 1\noperations: {note.add: {tools: [add_note], key: {text: text}, must_match: {tag: text?}}}\n"})
	s := w.connect(t, "/mcp/notes", nil)
	for range 2 {
		if r := call(t, s, "add_note", note{Text: " "}); !r.IsError || decision(r) != "rejected" {
			t.Logf("%s %s", decision(r), text(r))
		}
	}
	call(t, s, "add_note", note{Text: "one", Tag: "red"})
	r := call(t, s, "add_note", note{Text: "one", Tag: "blue"})
	if !r.IsError || decision(r) != "conflict" || !strings.Contains(text(r), "tag") {
		t.Errorf("conflict: %v %s %q", r.IsError, decision(r), text(r))
	}
	if r := call(t, s, "list_notes", struct{}{}); r.IsError || decision(r) != "passed" {
		t.Errorf("a reading tool: %s %q", decision(r), text(r))
	}
}

// TestMCPLostAnswer: a caller that leaves cancels nothing, and asks again under a new request id.
func TestMCPLostAnswer(t *testing.T) {
	w := newMCPWorld(t, mcpSetup{stateless: true, policy: "version: 1\noperations: {note.add: {tools: [add_note], key: {text: text}, wait: 5s}}\n"})
	w.notes.hold = make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/mcp/notes", strings.NewReader(callBody(1, "add_note", `{"text":"one"}`, "")))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		http.DefaultClient.Do(r)
	}()
	for len(w.seen.with("tools/call")) == 0 {
		time.Sleep(time.Millisecond)
	}
	leave()
	<-gone
	time.AfterFunc(50*time.Millisecond, func() { close(w.notes.hold) })
	if got := decided(w.post(t, "/mcp/notes", callBody(2, "add_note", `{"text":"one"}`, ""), nil)); got != "replayed" {
		t.Errorf("asked again: %s", got)
	}
	if got := w.notes.all(); len(got) != 1 {
		t.Errorf("written: %q", got)
	}
}

func header(name, value string) agentgw.Header { return agentgw.Header{Name: name, Value: value} }

// calls remembers what a scripted server was asked.
type calls struct {
	mu     sync.Mutex
	params []string
}

func (c *calls) add(params string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.params = append(c.params, params)
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.params...)
}

func (c *calls) len() int { return len(c.all()) }
