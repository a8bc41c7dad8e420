package gateway_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"agentgw/gateway"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// statelessRevision has no initialize; the others of allRevisions have.
const statelessRevision = "2026-07-28"

var allRevisions = []string{statelessRevision, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// purist is a server that speaks one revision and takes nothing that is not of it. Its one tool gives out numbers.
type purist struct {
	revision string

	mu          sync.Mutex
	initialized bool
	done        int
}

// puristMessage is what a purist reads of a message.
type puristMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
}

// answer is the response to a message; "" for a notification.
func (p *purist) answer(b []byte) string {
	var m puristMessage
	json.Unmarshal(b, &m)
	result, err := p.result(&m)
	switch {
	case m.ID == nil:
		return ""
	case err != nil:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":%q}}`, m.ID, err.Error())
	case p.revision == statelessRevision:
		result = `{"resultType":"complete",` + result[1:]
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *purist) result(m *puristMessage) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revision == statelessRevision {
		if string(m.Params.Meta["io.modelcontextprotocol/protocolVersion"]) != `"`+statelessRevision+`"` || m.Params.Meta["io.modelcontextprotocol/clientCapabilities"] == nil {
			return "", errors.New("_meta does not say what it must")
		}
		if m.Method == "server/discover" {
			return `{"supportedVersions":["` + statelessRevision + `"],"capabilities":{"tools":{}}}`, nil
		}
	} else {
		switch {
		case m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != nil:
			return "", errors.New("_meta belongs to another revision")
		case m.Method == "initialize":
			return `{"protocolVersion":"` + p.revision + `","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`, nil
		case m.Method == "notifications/initialized":
			p.initialized = true
			return "", nil
		case !p.initialized:
			return "", errors.New("not initialized")
		}
	}
	switch m.Method {
	case "tools/list":
		return `{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}`, nil
	case "tools/call":
		p.done++
		return fmt.Sprintf(`{"content":[{"type":"text","text":"number %d"}]}`, p.done), nil
	}
	return "", errors.New("there is no method " + m.Method)
}

// ServeHTTP is the server over Streamable HTTP, in one session.
func (p *purist) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var m puristMessage
	json.Unmarshal(b, &m)
	version, session := r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Session-Id")
	wrong := ""
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case p.revision == statelessRevision && (version != p.revision || r.Header.Get("Mcp-Method") != m.Method || session != ""):
		wrong = "the headers are of another revision"
	case p.revision != statelessRevision && m.Method != "initialize" && (session != "s1" || p.revision >= "2025-06-18" && version != p.revision):
		wrong = "no session of this revision"
	}
	if wrong != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":%q}}`, wrong)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "s1")
	}
	answer := p.answer(b)
	if answer == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, answer)
}

// The test binary is a purist over its pipes where it is started as one.
func init() {
	revision, ok := strings.CutPrefix(os.Getenv("AGENTGW_TEST_SERVER"), "purist ")
	if !ok {
		return
	}
	p := &purist{revision: revision}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if answer := p.answer(in.Bytes()); answer != "" {
			fmt.Println(answer)
		}
	}
	os.Exit(0)
}

// puristUpstream is a purist behind the gateway.
func puristUpstream(t *testing.T, wire, revision string) *gateway.Upstream {
	t.Helper()
	if wire == "stdio" {
		t.Setenv("AGENTGW_TEST_SERVER", "purist "+revision)
		return &gateway.Upstream{Name: "other", MCP: &gateway.MCPServer{Command: []string{os.Args[0]}}}
	}
	srv := httptest.NewServer(&purist{revision: revision})
	t.Cleanup(srv.Close)
	at, _ := url.Parse(srv.URL)
	return &gateway.Upstream{Name: "other", MCP: &gateway.MCPServer{URL: at}}
}

// asker is a client that speaks one revision, in raw messages.
type asker struct {
	revision string
	send     func(body string, head map[string]string) string
}

// ask sends one message in the client's revision; with an id it gives the answer.
func (a *asker) ask(id int, method, params string) string {
	head := map[string]string{}
	if a.revision == statelessRevision {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + statelessRevision + `","io.modelcontextprotocol/clientCapabilities":{},"x":1}`
		params = strings.Replace(`{`+meta+`,`+params[1:], ",}", "}", 1)
		head["Mcp-Method"] = method
		if method == "tools/call" {
			head["Mcp-Name"] = "count"
		}
	}
	if method != "initialize" && a.revision >= "2025-06-18" {
		head["Mcp-Protocol-Version"] = a.revision
	}
	start := ""
	if id > 0 {
		start = fmt.Sprintf(`"id":%d,`, id)
	}
	return a.send(`{"jsonrpc":"2.0",`+start+`"method":"`+method+`","params":`+params+`}`, head)
}

// greet opens the connection; it is what is wrong with the answer, "" for nothing.
func (a *asker) greet() string {
	if a.revision == statelessRevision {
		if res := a.ask(1, "server/discover", `{}`); !strings.Contains(res, `"`+statelessRevision+`"`) || !strings.Contains(res, `"resultType":"complete"`) {
			return res
		}
		return ""
	}
	if res := a.ask(1, "initialize", `{"protocolVersion":"`+a.revision+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`); !strings.Contains(res, `"protocolVersion":"`+a.revision+`"`) {
		return res
	}
	a.ask(0, "notifications/initialized", `{}`)
	return ""
}

// lineClient sends messages to the gateway as a command and gives the answers.
func (w *mcpWorld) lineClient(t *testing.T, path string) func(body string, _ map[string]string) string {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- (&gateway.Stdio{Door: w.handler, Path: path, In: inR, Out: outW}).Run(t.Context()) }()
	t.Cleanup(func() { inW.Close(); <-done })
	answers := bufio.NewScanner(outR)
	return func(body string, _ map[string]string) string {
		io.WriteString(inW, body+"\n")
		if !strings.Contains(body, `"id":`) {
			return ""
		}
		answers.Scan()
		return answers.Text()
	}
}

// TestMCPBridge: at the door of all servers every revision of a client meets every revision of a server, over HTTP and over pipes.
func TestMCPBridge(t *testing.T) {
	for _, wire := range []string{"http", "stdio"} {
		for _, theirs := range allRevisions {
			w := newMCPWorld(t, mcpSetup{policy: "version: 1\noperations: {count: {tools: [count], key: {a: id}}}\n",
				more: map[string]*gateway.Upstream{"other": puristUpstream(t, wire, theirs)}})
			for i, ours := range allRevisions {
				a := &asker{revision: ours, send: func(body string, head map[string]string) string { return w.post(t, "/mcp", body, head) }}
				if wire == "stdio" {
					a.send = w.lineClient(t, "/mcp")
				}
				name := fmt.Sprintf("%s: client %s, server %s", wire, ours, theirs)
				if wrong := a.greet(); wrong != "" {
					t.Errorf("%s: greeting: %s", name, wrong)
				}
				if res := a.ask(2, "tools/list", `{}`); !strings.Contains(res, `"name":"count"`) {
					t.Errorf("%s: tools: %s", name, res)
				}
				for j, want := range []string{"executed", "replayed"} {
					res := a.ask(3+j, "tools/call", fmt.Sprintf(`{"name":"count","arguments":{"a":%d}}`, i))
					if decided(res) != want || !strings.Contains(res, fmt.Sprintf(`"text":"number %d"`, i+1)) ||
						ours == statelessRevision && !strings.Contains(res, `"resultType":"complete"`) {
						t.Errorf("%s: want %s: %s", name, want, res)
					}
				}
			}
		}
	}
}

// TestMCPAgree: at the door of one server, client and server agree by themselves: the SDK's client finds its way to a server of any
// revision, and what a server says to a client of another revision is shown as it came.
func TestMCPAgree(t *testing.T) {
	for _, wire := range []string{"http", "stdio"} {
		for _, theirs := range allRevisions {
			w := newMCPWorld(t, mcpSetup{policy: "version: 1\noperations: {count: {tools: [count], key: {a: id}}}\n",
				more: map[string]*gateway.Upstream{"other": puristUpstream(t, wire, theirs)}})
			for i, s := range []*mcp.ClientSession{w.connect(t, "/mcp/other", nil), w.connectStdio(t, "/mcp/other", nil)} {
				for j, want := range []string{"executed", "replayed"} {
					r := call(t, s, "count", map[string]any{"a": 1})
					if i == 0 && decision(r) != want || i+j > 0 && decision(r) != "replayed" || text(r) != "number 1" {
						t.Errorf("%s, server %s, client %d: %s %s, want %s", wire, theirs, i, decision(r), text(r), want)
					}
				}
			}
			a := &asker{revision: statelessRevision, send: func(body string, head map[string]string) string { return w.post(t, "/mcp/other", body, head) }}
			if res := a.ask(1, "server/discover", `{}`); strings.Contains(res, "supportedVersions") != (theirs == statelessRevision) || theirs != statelessRevision && !strings.Contains(res, "-32600") {
				t.Errorf("%s, server %s is asked for its revisions: %s", wire, theirs, res)
			}
			if theirs == statelessRevision {
				a.revision = "2025-06-18"
				if wrong := a.greet(); !strings.Contains(wrong, "-32600") {
					t.Errorf("%s, server %s is greeted: %s", wire, theirs, wrong)
				}
			}
		}
	}
}

// TestMCPUnknownRevision: what cannot be bridged is said to the operator, with the name of the server; nothing is sent.
func TestMCPUnknownRevision(t *testing.T) {
	sse := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // HTTP+SSE, as in 2024-11-05
		if r.Method == http.MethodPost {
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: endpoint\ndata: /messages?session=1\n\n")
	})
	for name, c := range map[string]struct {
		handler http.Handler
		says    string
	}{
		"HTTP+SSE":  {sse, "HTTP+SSE"},
		"to come":   {&purist{revision: "2031-01-01"}, "2031-01-01"},
		"no server": {http.NotFoundHandler(), "404"},
	} {
		srv := httptest.NewServer(c.handler)
		defer srv.Close()
		at, _ := url.Parse(srv.URL)
		w := newMCPWorld(t, mcpSetup{more: map[string]*gateway.Upstream{"other": {Name: "other", MCP: &gateway.MCPServer{URL: at}}}})
		if res := w.post(t, "/mcp", callBody(1, "count", `{"a":1}`, ""), nil); !strings.Contains(res, "There is no tool count") {
			t.Errorf("%s: %s", name, res)
		}
		if log := w.logged(); !strings.Contains(log, "server=other") || !strings.Contains(log, "no revision of MCP that is known here") || !strings.Contains(log, c.says) {
			t.Errorf("%s: logged: %s", name, log)
		}
	}
}
