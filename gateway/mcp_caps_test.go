package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentgw/gateway"
)

// floodingServer answers well until its tool is called; then it writes without an end and without a line break, whatever it is told, and a
// process of its own outlives it.
func floodingServer() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGPIPE)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(in.Bytes(), &m)
		switch {
		case m.Method == "tools/call":
			fmt.Fprint(os.Stderr, strings.Repeat("e", 1<<20))
			sleeper := exec.Command("sleep", "30")
			sleeper.Stderr = os.Stderr
			sleeper.Start()
			for flood := bytes.Repeat([]byte("x"), 1<<16); ; {
				if _, err := os.Stdout.Write(flood); err != nil {
					time.Sleep(30 * time.Second)
					return
				}
			}
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"add_note","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`+"\n", m.ID)
		}
	}
}

// heldBy is how much the heap grew at most while f ran.
func heldBy(f func()) uint64 {
	var most atomic.Uint64
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, stop, done := m.HeapAlloc, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most.Load() - min(before, most.Load())
}

// A message of 32 MiB is read into a buffer that grows by a quarter; the collector leaves garbage of the same size.
const muchMemory = 256 << 20

// TestMCPFlood: a server that writes without an end takes no more memory than its largest message, and its call is a doubt.
func TestMCPFlood(t *testing.T) {
	endless := func(kind, begin string) *gateway.Upstream {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(b), "tools/call") {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, `{"jsonrpc":"2.0","id":"agentgw-1","result":{"tools":[]}}`)
				return
			}
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, begin)
			for flood := bytes.Repeat([]byte("x"), 1<<16); ; {
				if _, err := w.Write(flood); err != nil {
					return
				}
			}
		}))
		t.Cleanup(srv.Close)
		at, _ := url.Parse(srv.URL)
		return &gateway.Upstream{Name: "flood", MCP: &gateway.MCPServer{URL: at}}
	}
	for name, up := range map[string]*gateway.Upstream{
		"child": childServer(t, "floods"), "stream": endless("text/event-stream", "data: "), "body": endless("application/json", `{"jsonrpc":"2.0","id":1,"result":{"x":"`),
	} {
		t.Run(name, func(t *testing.T) {
			up.Name = "flood"
			w := newMCPWorld(t, mcpSetup{stateless: true, more: map[string]*gateway.Upstream{"flood": up}})
			var answers []string
			start := time.Now()
			held := heldBy(func() {
				for i := range 2 {
					answers = append(answers, decided(w.post(t, "/mcp/flood", callBody(i, "add_note", `{"text":"x"}`, ""), nil)))
				}
			})
			if took := time.Since(start); fmt.Sprint(answers) != "[executed indeterminate]" || held > muchMemory || took > 25*time.Second {
				t.Errorf("%v, %d MB, %s", answers, held>>20, took)
			}
			if name == "child" && strings.Count(w.logged(), "eee") > 0 && len(w.logged()) > 64<<10 {
				t.Errorf("%d bytes of log", len(w.logged()))
			}
			t.Logf("%d MB", held>>20)
		})
	}
}

// TestMCPManyTools: a long list passes whole and as it came; what has no end is not remembered.
func TestMCPManyTools(t *testing.T) {
	var n atomic.Int64
	list := func(from, to int64) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, `,{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`, i, strings.Repeat("d", 800))
		}
		return `{"tools":[` + b.String()[1:] + `]}`
	}
	up := scripted(t, func(method string, _ json.RawMessage) string {
		if method == "initialize" {
			return hello
		}
		return list(n.Load(), n.Load()+10_000)
	})
	w := newMCPWorld(t, mcpSetup{stateless: true, unmatched: "auto", policy: "version: 1\noperations: {x: {tools: [x], key: {a: id}}}\n", more: map[string]*gateway.Upstream{"other": up}})
	start := time.Now()
	if got := listedNames(t, w.post(t, "/mcp/other", listTools, nil)); len(got) != 10_001 { // and agentgw_call
		t.Errorf("%d tools", len(got))
	}
	t.Logf("10,000 tools, %d MB: %s", len(list(0, 10_000))>>20, time.Since(start))
	start = time.Now()
	if got := listedNames(t, w.post(t, "/mcp", listTools, nil)); len(got) != 10_003 {
		t.Errorf("%d tools of all servers", len(got))
	}
	t.Logf("again, at the door of all: %s", time.Since(start))
	held := heldBy(func() {
		for range 3 { // 10,000 others each time
			n.Add(10_000)
			w.post(t, "/mcp/other", listTools, nil)
		}
	})
	if got := listedNames(t, w.get(t, "/v1/tools?format=mcp", "")); len(got) != 10_003 || !strings.Contains(w.logged(), "more tools than are remembered") {
		t.Errorf("%d tools are remembered", len(got))
	}
	t.Logf("at most %d MB", held>>20)
	if got := decided(w.post(t, "/mcp/other", callBody(1, "tool_39999", `{"x":"y"}`, ""), nil)); got != "executed" {
		t.Errorf("a tool that is not remembered: %s", got)
	}
}

// TestMCPLargeMessages: what is deep or large passes as far as it may, at every door.
func TestMCPLargeMessages(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 500) + `{"type":"string"}` + strings.Repeat("}}", 500)
	large := strings.Repeat("y", 10<<20)
	var sends atomic.Int64
	up := scripted(t, func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[{"name":"deep","inputSchema":` + deep + `},{"name":"large","inputSchema":{"type":"object","description":"` + strings.Repeat("z", 300<<10) + `"}}]}`
		}
		if method == "initialize" {
			return hello
		}
		if method == "tools/call" {
			sends.Add(1)
		}
		return `{"content":[{"type":"text","text":"` + large + `"}]}`
	})
	w := newMCPWorld(t, mcpSetup{stateless: true, unmatched: "auto", policy: "version: 1\noperations: {x: {tools: [x], key: {a: id}}}\n", more: map[string]*gateway.Upstream{"other": up}})
	for _, path := range []string{"/mcp/other", "/mcp"} {
		if got := w.post(t, path, listTools, nil); !strings.Contains(got, `"inputSchema":`+deep) {
			t.Errorf("%s: the deep schema is not as it came: %d bytes", path, len(got))
		}
	}
	if got := w.get(t, "/v1/tools", ""); !strings.Contains(got, deep) || strings.Contains(got, "zzz") || !strings.Contains(got, `_large"`) {
		t.Errorf("/v1/tools: %d bytes", len(got))
	}
	for i, want := range []string{"executed", "replayed"} { // an answer of 10 MB is passed on, and too large to be kept
		got := w.post(t, "/mcp/other", callBody(i, "deep", `{"a":{"a":"x"}}`, ""), nil)
		if decided(got) != want || strings.Contains(got, large) != (want == "executed") {
			t.Errorf("%s, want %s: %d bytes", decided(got), want, len(got))
		}
	}
	for path, status := range map[string]int{"/mcp/other": http.StatusRequestEntityTooLarge, "/mcp": http.StatusRequestEntityTooLarge, "/v1/calls": http.StatusRequestEntityTooLarge} {
		if res, _ := w.raw(t, path, callBody(1, "deep", `{"a":"`+large+`"}`, ""), nil); res.StatusCode != status {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	for _, path := range []string{"/mcp/other", "/mcp"} {
		if res, _ := w.raw(t, path, callBody(1, "deep", strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000), ""), nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: arguments of 1000 levels: %d", path, res.StatusCode)
		}
	}
	if n := sends.Load(); n != 1 {
		t.Errorf("%d sends", n)
	}
}
