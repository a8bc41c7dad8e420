package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/gateway"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fastClock runs a hundred times as fast as time does.
type fastClock struct{ began time.Time }

func (c fastClock) Now() time.Time { return c.began.Add(100 * time.Since(c.began)) }

func (c fastClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d / 100):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c fastClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d/100, f)
	return func() { t.Stop() }
}

func (c fastClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d/100)
}

// until waits for something that another goroutine does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// bookings is a server whose tool `book` answers when it is let go; the first answers come before.
func bookings(t *testing.T, first ...string) (up *gateway.Upstream, got *calls, release func(result string)) {
	got = &calls{}
	answers := make(chan string, 8)
	for _, a := range first {
		answers <- a
	}
	up = scripted(t, func(method string, params json.RawMessage) string {
		switch method {
		case "tools/list":
			return `{"tools":[{"name":"book","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"watch","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
		case "notifications/cancelled":
			got.add("cancelled " + string(params))
			return "{}"
		case "tools/call":
			got.add(string(params))
			if strings.Contains(string(params), `"name":"look"`) {
				return `{"content":[]}`
			}
			return <-answers
		case "server/discover":
			return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		}
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}`
	})
	t.Cleanup(func() { close(answers) })
	return up, got, func(result string) { answers <- result }
}

const (
	booked     = `{"content":[{"type":"text","text":"booked"}]}`
	bookPolicy = "version: 1\noperations: {book: {tools: [book], key: {room: id}}}\n"
)

// modern is a message of revision 2026-07-28 and its headers.
func modern(id int, tool, args, more string) (body string, head map[string]string) {
	more += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return callBody(id, tool, args, more), map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
}

// stateOf is the requestState of an answer that asks for nothing but to come again; "" of any other.
func stateOf(t *testing.T, body string) string {
	t.Helper()
	var m struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]any
			IsError       bool
		}
	}
	json.Unmarshal([]byte(body), &m)
	if r := m.Result; r.ResultType != "input_required" || r.InputRequests == nil || len(r.InputRequests) > 0 || r.IsError {
		return ""
	}
	return m.Result.RequestState
}

// running starts a call at a door and returns when it has reached the server.
func (w *mcpWorld) running(t *testing.T, got *calls, path, args string) (answer <-chan string) {
	t.Helper()
	n, done := got.len(), make(chan string, 1)
	go func() {
		body, head := modern(1, "book", args, "")
		_, b := w.raw(t, path, body, head)
		done <- b
	}()
	until(t, "the call reaches the server", func() bool { return got.len() > n })
	return done
}

// TestMCPAgain: the SDK's client makes a call that is running already come again until the first answer is there, and never sees that.
func TestMCPAgain(t *testing.T) {
	for _, path := range []string{"/mcp/notes", "/mcp", "stdio"} {
		t.Run(path, func(t *testing.T) {
			w := newMCPWorld(t, mcpSetup{stateless: true, clock: fastClock{time.Now()}})
			w.notes.hold = make(chan struct{})
			connect := func() *mcp.ClientSession { return w.connect(t, path, nil) }
			if path == "stdio" {
				connect = func() *mcp.ClientSession { return w.connectStdio(t, "/mcp/notes", nil) }
			}
			first, second := connect(), connect()
			answers := make(chan string, 2)
			go func() { answers <- decision(call(t, first, "add_note", note{Text: "one"})) }()
			until(t, "the call reaches the server", func() bool { return len(w.seen.with("tools/call")) > 0 })
			before := len(w.asked.with("tools/call"))
			go func() {
				r := call(t, second, "add_note", note{Text: "one"})
				answers <- decision(r) + " " + text(r)
			}()
			until(t, "the second call comes again", func() bool { return len(w.asked.with("tools/call")) == before+2 })
			close(w.notes.hold)
			if a, b := <-answers, <-answers; a+b != "executedreplayed note 1" && a+b != "replayed note 1executed" {
				t.Errorf("%q and %q", a, b)
			}
			if n := len(w.notes.all()); n != 1 || len(w.seen.with("tools/call")) != 1 {
				t.Errorf("%d notes, sent %q", n, w.seen.with("tools/call"))
			}
		})
	}
}

// TestMCPAgainRounds: a call may come again twice, each time is held, and then it is refused in words; a client of an earlier revision is
// refused in words at once.
func TestMCPAgainRounds(t *testing.T) {
	for _, path := range []string{"/mcp/other", "/mcp"} {
		up, got, release := bookings(t)
		clock := fastClock{time.Now()}
		w := newMCPWorld(t, mcpSetup{policy: bookPolicy, clock: clock, more: map[string]*gateway.Upstream{"other": up}})
		first := w.running(t, got, path, `{"room":7}`)
		if res := w.post(t, path, callBody(2, "book", `{"room":7}`, ""), map[string]string{"Mcp-Protocol-Version": "2025-11-25"}); decided(res) != "in_flight" || !strings.Contains(res, `"isError":true`) {
			t.Errorf("an earlier revision: %s", res)
		}
		state := ""
		for round := range 3 {
			began := clock.Now()
			body, head := modern(3+round, "book", `{"room":7}`, state)
			_, res := w.raw(t, path, body, head)
			took := clock.Now().Sub(began)
			if round > 0 && took < 10*time.Second {
				t.Errorf("%s, round %d: held for %s only", path, round, took)
			}
			again := stateOf(t, res)
			if decided(res) != "in_flight" || (again == "") != (round == 2) || strings.Contains(res, `"isError":true`) != (round == 2) {
				t.Errorf("%s, round %d: %s", path, round, res)
			}
			state = `,"requestState":"` + again + `"`
		}
		release(booked)
		if res := <-first; decided(res) != "executed" || got.len() != 1 {
			t.Errorf("%s: %s, sent %q", path, res, got.all())
		}
	}
}

// TestMCPAgainForged: a state that is not of this call, or too old, is refused, and no server gets it.
func TestMCPAgainForged(t *testing.T) {
	up, got, release := bookings(t)
	clock := fastClock{time.Now()}
	w := newMCPWorld(t, mcpSetup{policy: bookPolicy, clock: clock, more: map[string]*gateway.Upstream{"other": up},
		principals: gateway.Principals{{Name: "a", Secret: "sa", Tenant: "t"}, {Name: "b", Secret: "sb", Tenant: "t"}, {Name: "a", Secret: "sc", Tenant: "u"}}})
	send := func(secret, tool, args, state string) string {
		body, head := modern(2, tool, args, `,"requestState":"`+state+`"`)
		head["Agentgw-Key"] = secret
		_, res := w.raw(t, "/mcp/other", body, head)
		return res
	}
	done := make(chan string, 1)
	go func() { done <- send("sa", "book", `{"room":7,"note":"x"}`, "of the server") }()
	until(t, "the call reaches the server", func() bool { return got.len() > 0 })
	body, head := modern(1, "book", `{"note":"x","room":7}`, "")
	head["Agentgw-Key"] = "sa"
	_, res := w.raw(t, "/mcp/other", body, head)
	state := stateOf(t, res)
	if state == "" {
		t.Fatal(res)
	}
	other := "A"
	if strings.HasSuffix(state, "A") {
		other = "B"
	}
	for name, res := range map[string]string{
		"another principal":  send("sb", "book", `{"room":7,"note":"x"}`, state),
		"another tenant":     send("sc", "book", `{"room":7,"note":"x"}`, state),
		"other arguments":    send("sa", "book", `{"room":7,"note":"y"}`, state),
		"another effect":     send("sa", "book", `{"room":8,"note":"x"}`, state),
		"an unguarded tool":  send("sa", "look", `{}`, state),
		"changed":            send("sa", "book", `{"room":7,"note":"x"}`, state[:len(state)-8]+other+state[len(state)-7:]),
		"cut off":            send("sa", "book", `{"room":7,"note":"x"}`, state[:len(state)-4]),
		"only our beginning": send("sa", "book", `{"room":7,"note":"x"}`, "agentgw."),
	} {
		if decided(res) != "rejected" || !strings.Contains(res, `"isError":true`) || !strings.Contains(res, "without it") {
			t.Errorf("%s: %s", name, res)
		}
	}
	time.Sleep(3100 * time.Millisecond) // five minutes and some
	if res := send("sa", "book", `{"room":7,"note":"x"}`, state); decided(res) != "rejected" {
		t.Errorf("too old: %s", res)
	}
	release(booked)
	<-done
	if got.len() != 1 || strings.Contains(got.all()[0], "agentgw.") {
		t.Errorf("sent: %q", got.all())
	}
}

// TestMCPAgainExecutes: the attempt failed, so the call that came again is sent: as it was written, without what was between it and us.
func TestMCPAgainExecutes(t *testing.T) {
	up, got, release := bookings(t)
	w := newMCPWorld(t, mcpSetup{policy: bookPolicy, clock: fastClock{time.Now()}, more: map[string]*gateway.Upstream{"other": up}})
	first := w.running(t, got, "/mcp/other", `{"room":7}`)
	body, head := modern(2, "book", `{"room": 7}`, `, "x":[1.0]`)
	_, res := w.raw(t, "/mcp/other", body, head)
	state := stateOf(t, res)
	again := strings.Replace(body, `"params":{`, `"params":{"inputResponses":{},  "requestState":"`+state+`",`, 1)
	release(`{"isError":true,"content":[{"type":"text","text":"no such room"}]}`)
	if res := <-first; !strings.Contains(res, "no such room") {
		t.Fatal(res)
	}
	release(booked)
	if _, res := w.raw(t, "/mcp/other", again, head); decided(res) != "executed" || !strings.Contains(res, "booked") {
		t.Errorf("%s", res)
	}
	_, want, _ := strings.Cut(body, `"params":`)
	if sent := got.all(); len(sent) != 2 || sent[1]+"}" != want {
		t.Errorf("sent %q, want %s", sent, want)
	}
}

// TestMCPAgainChain: a gateway behind a gateway asks to come again too: at the door of one server that is the client's, at the door of all
// the outer gateway comes again itself. Neither takes the other's requestState for its own.
func TestMCPAgainChain(t *testing.T) {
	up, got, release := bookings(t)
	inner := newMCPWorld(t, mcpSetup{policy: bookPolicy, clock: fastClock{time.Now()}, more: map[string]*gateway.Upstream{"other": up}})
	at, _ := url.Parse(inner.url + "/mcp/other")
	outer := newMCPWorld(t, mcpSetup{policy: bookPolicy, clock: fastClock{time.Now()}, more: map[string]*gateway.Upstream{"inner": {Name: "inner", MCP: &gateway.MCPServer{URL: at}}}})
	first := inner.running(t, got, "/mcp/other", `{"room":7}`)
	body, head := modern(2, "book", `{"room":7}`, "")
	_, res := outer.raw(t, "/mcp/inner", body, head)
	state := stateOf(t, res)
	if decided(res) != "executed" || state == "" {
		t.Fatalf("the inner gateway's answer: %s", res)
	}
	time.AfterFunc(50*time.Millisecond, func() { release(booked) })
	body, head = modern(3, "book", `{"room":7}`, `,"requestState":"`+state+`"`)
	if _, res := outer.raw(t, "/mcp/inner", body, head); decided(res) != "executed" || !strings.Contains(res, "booked") {
		t.Errorf("come again: %s", res)
	}
	<-first
	if got.len() != 1 {
		t.Errorf("sent %q", got.all())
	}
}

// TestMCPContinuationText: a requestState is a text, whatever escapes a client writes it with.
func TestMCPContinuationText(t *testing.T) {
	var sends atomic.Int32
	up := scripted(t, func(method string, params json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[{"name":"book","inputSchema":{"type":"object"}}]}`
		}
		if sends.Add(1) == 2 {
			return booked
		}
		return `{"resultType":"input_required","requestState":"\u003cs\u003e\/é","inputRequests":{"q":{"method":"elicitation/create","params":{}}}}`
	})
	w := newMCPWorld(t, mcpSetup{policy: bookPolicy, more: map[string]*gateway.Upstream{"other": up}})
	w.post(t, "/mcp/other", callBody(1, "book", `{"room":7}`, ""), nil)
	res := w.post(t, "/mcp/other", callBody(2, "book", `{"room":7}`, fmt.Sprintf(`,"requestState":%q`, "<s>/é")), nil)
	if decided(res) != "executed" || !strings.Contains(res, "booked") {
		t.Error(res)
	}
}

// TestMCPAgainByServer: at the door of all servers the gateway itself comes again where a server asks for nothing else.
func TestMCPAgainByServer(t *testing.T) {
	up, got, _ := bookings(t, `{"resultType":"input_required","inputRequests":{},"requestState":"s1"}`, `{"resultType":"input_required","requestState":"s2"}`, booked)
	w := newMCPWorld(t, mcpSetup{policy: bookPolicy, more: map[string]*gateway.Upstream{"other": up}})
	body, head := modern(1, "book", `{"room":7}`, "")
	if _, res := w.raw(t, "/mcp", body, head); decided(res) != "executed" || !strings.Contains(res, "booked") {
		t.Error(res)
	}
	if sent := got.all(); len(sent) != 3 || !strings.Contains(sent[1], `"requestState":"s1"`) || !strings.Contains(sent[2], `"requestState":"s2"`) {
		t.Errorf("sent %q", sent)
	}
}

// TestMCPAskedByServerAndGone: a server that says "come again" and is away then has got the call: that is a doubt, not "never sent".
func TestMCPAskedByServerAndGone(t *testing.T) {
	var up *gateway.Upstream
	var sends atomic.Int32
	up = scripted(t, func(method string, _ json.RawMessage) string {
		switch method {
		case "tools/list":
			return `{"tools":[{"name":"book","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			sends.Add(1)
			up.MCP.URL.Host = "127.0.0.1:1"
			return `{"resultType":"input_required","inputRequests":{},"requestState":"s1"}`
		}
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}`
	})
	w := newMCPWorld(t, mcpSetup{policy: bookPolicy, more: map[string]*gateway.Upstream{"other": up}})
	there := up.MCP.URL.Host
	for i, want := range []string{"executed", "indeterminate"} {
		res := w.post(t, "/mcp", callBody(i, "book", `{"room":7}`, ""), nil)
		if decided(res) != want || strings.Contains(res, "nothing was sent") {
			t.Errorf("want %s: %s", want, res)
		}
		up.MCP.URL.Host = there
	}
	if n := sends.Load(); n != 1 {
		t.Errorf("%d sends", n)
	}
}
