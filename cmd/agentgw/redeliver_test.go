package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentgw/gateway"
)

// bulkTool counts what happened by reference. It takes a moment, and refuses a reference that begins with "no" once.
type bulkTool struct {
	mu      sync.Mutex
	effects map[string]int
	refused map[string]bool
}

func (s *bulkTool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Ref string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(in.Ref, "no") && !s.refused[in.Ref] {
		s.refused[in.Ref] = true
		http.Error(w, "not now", http.StatusUnprocessableEntity)
		return
	}
	s.effects[in.Ref]++
	io.WriteString(w, `{"ok":true}`)
}

const bulkConfig = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
policies: [policy.yaml]
unmatched: pass
upstreams: {shop: {url: %q}}
tools:
  guarded: {upstream: shop, path: /guarded}
  bare: {upstream: shop, path: /bare}
`

const bulkPolicy = `
version: 1
operations:
  thing.make: {tools: [guarded], key: {ref: code}}
`

// startBulk serves a gateway in front of a tool, and returns its address.
func startBulk(t *testing.T, dir string, tool http.Handler) string {
	t.Helper()
	return startWith(t, dir, bulkConfig, bulkPolicy, tool)
}

func startWith(t *testing.T, dir, config, policy string, tool http.Handler) string {
	t.Helper()
	upstream := httptest.NewServer(tool)
	t.Cleanup(upstream.Close)
	for name, text := range map[string]string{"policy.yaml": policy, "agentgw.yaml": fmt.Sprintf(config, upstream.URL)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := &childGateway{dir: dir, env: os.Environ()}
	if err := g.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.kill)
	return g.agents.base
}

// TestRedeliverKilled kills the command again and again: what is guarded happens exactly once, what is not at most once, and the last
// run reports on every line.
func TestRedeliverKilled(t *testing.T) {
	dir := t.TempDir()
	tool := &bulkTool{effects: map[string]int{}, refused: map[string]bool{}}
	at := startBulk(t, dir, tool)
	const lines = 400
	var text strings.Builder
	for i := range lines {
		name, ref := "guarded", fmt.Sprintf("A%d", i/2) // each twice
		switch i % 10 {
		case 3:
			name, ref = "bare", fmt.Sprintf("b%d", i)
		case 7:
			ref = fmt.Sprintf("no%d", i)
		}
		fmt.Fprintf(&text, `{"tool":%q,"arguments":{"ref":%q,"n":%d}}`+"\n", name, ref, i)
	}
	file := filepath.Join(dir, "bulk.jsonl")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills := 0
	for range 12 {
		cmd := exec.Command(self)
		cmd.Args = []string{"agentgw", "redeliver", "--unguarded", "--url", at, file}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(time.Duration(60+rand.IntN(200)) * time.Millisecond):
			cmd.Process.Kill()
			<-ended
			kills++
		}
	}
	redeliver(t, 0, file, "--unguarded", "--url", at)
	r := redeliver(t, 0, file, "--unguarded", "--url", at) // the last refusals are made good
	if r.Left > 0 || r.Lines != lines {
		t.Errorf("%+v", r)
	}
	for _, m := range r.Attention {
		if m.Is != isDoubt || !m.unguarded() {
			t.Errorf("%+v", m)
		}
	}
	tool.mu.Lock()
	defer tool.mu.Unlock()
	for ref, n := range tool.effects {
		if n != 1 {
			t.Errorf("%s happened %d times", ref, n)
		}
	}
	want := map[string]bool{}
	for line := range strings.Lines(text.String()) {
		var c struct {
			Tool      string
			Arguments struct{ Ref string }
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Tool == "guarded" {
			want[c.Arguments.Ref] = true
		}
	}
	for ref := range want {
		if tool.effects[ref] != 1 {
			t.Errorf("%s happened %d times", ref, tool.effects[ref])
		}
	}
	t.Logf("%d kills; %d doubts about unguarded calls", kills, r.Doubt)
	if kills < 3 {
		t.Errorf("only %d kills: the load did not run", kills)
	}
}

// redeliver runs the command here and reads its report. Its exit code is 1 where something is left to look at.
func redeliver(t *testing.T, lines int, file string, args ...string) *redeliverReport {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"--json", "redeliver", file}, args...), nil, &out, &errs, os.Environ())
	r := &redeliverReport{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatalf("%d, %v: %s %s", code, err, out.String(), errs.String())
	}
	if code == exitFine != (len(r.Attention) == 0 && r.Left == 0) || r.Lines < lines {
		t.Errorf("exit code %d with %+v", code, r)
	}
	return r
}

// TestRedeliverInterrupted: an interruption lets what is under way end, and says what is left.
func TestRedeliverInterrupted(t *testing.T) {
	dir := t.TempDir()
	begun, goOn := make(chan struct{}, 100), make(chan struct{})
	var happened sync.Map
	at := startBulk(t, dir, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if _, twice := happened.LoadOrStore(string(body), true); twice {
			t.Errorf("%s happened twice", body)
		}
		begun <- struct{}{}
		<-goOn
	}))
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, `{"tool":"guarded","arguments":{"ref":"A%d"}}`+"\n", i)
	}
	file := filepath.Join(dir, "bulk.jsonl")
	if err := os.WriteFile(file, []byte(text.String()+`{"tool":"gua`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"redeliver", "--at", "4", "--skip-unreadable", "--url", at, file}, nil, &out, &errs, os.Environ())
	}()
	for range 4 {
		<-begun
	}
	interrupt()
	close(goOn)
	if c := <-code; c != exitFailed || !strings.Contains(out.String(), "lines are left: the same command goes on") {
		t.Fatalf("%d: %s%s", c, out.String(), errs.String())
	}
	r := redeliver(t, 30, file, "--skip-unreadable", "--url", at)
	if r.Earlier < 4 || r.Executed != 30 || r.Unreadable != 1 {
		t.Errorf("%+v", r)
	}
}

// TestRedeliverJournal: what a crash tore is cut off, what is not the journal's own is refused.
func TestRedeliverJournal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bulk.jsonl.done")
	b := &bulk{lines: 2, digests: map[int]string{1: "aa", 2: "bb"}}
	whose := boundTo("http://127.0.0.1:8080", "s", gateway.Principals{{Name: "agent", Secret: "s", Tenant: "acme"}})
	j, err := openJournal(name, b, whose)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.write(mark{Line: 1, Digest: "aa", Is: isExecuted}); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	add := func(text string) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	add(`{"line":2,"digest":"bb","is":"exe`)
	if j, err = openJournal(name, b, whose); err != nil {
		t.Fatal(err)
	}
	if !j.settled(&bulkLine{number: 1}) || j.settled(&bulkLine{number: 2}) {
		t.Errorf("%+v", j.known)
	}
	if err := j.write(mark{Line: 2, Digest: "bb", Is: isDoubt, Decision: "passed"}); err != nil {
		t.Fatal(err)
	}
	j.close()
	if j, err = openJournal(name, b, whose); err != nil || !j.settled(&bulkLine{number: 2}) {
		t.Errorf("%v %+v", err, j)
	}
	j.close()
	for _, other := range []binding{
		boundTo("http://127.0.0.1:9090", "s", nil),
		boundTo(whose.To, "t", nil),
		boundTo(whose.To, "s", gateway.Principals{{Name: "other", Secret: "s", Tenant: "acme"}}),
		boundTo(whose.To, "s", gateway.Principals{{Name: "agent", Secret: "s", Tenant: "default"}}),
	} {
		if _, err := openJournal(name, b, other); err == nil || !strings.Contains(err.Error(), "what is done there is not done here") {
			t.Errorf("the journal of %+v as %+v: %v", whose, other, err)
		}
	}
	b.digests[2] = "cc"
	if _, err := openJournal(name, b, whose); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a changed line: %v", err)
	}
	b.digests[2] = "bb"
	add("something else\n")
	if _, err := openJournal(name, b, whose); err == nil || !strings.Contains(err.Error(), "not its own") {
		t.Errorf("a foreign line: %v", err)
	}
}

// TestRedeliverTwice: a second run over a file says that the first one is at it, and sends nothing.
func TestRedeliverTwice(t *testing.T) {
	dir := t.TempDir()
	begun, goOn := make(chan struct{}, 8), make(chan struct{})
	at := startBulk(t, dir, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		select {
		case <-goOn:
		case <-time.After(10 * time.Second):
		}
	}))
	file := filepath.Join(dir, "bulk.jsonl")
	if err := os.WriteFile(file, []byte(`{"tool":"bare","arguments":{"ref":"A"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"redeliver", "--unguarded", "--url", at, file}
	first := make(chan int, 1)
	go func() { first <- run(t.Context(), args, nil, io.Discard, io.Discard, os.Environ()) }()
	select {
	case <-begun:
	case code := <-first:
		t.Fatalf("the first ended with %d", code)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, nil, &out, &errs, os.Environ()); code != exitUsage ||
		!strings.Contains(errs.String(), file+".done") || !strings.Contains(errs.String(), "wait until it ends") {
		t.Errorf("%d: %s%s", code, out.String(), errs.String())
	}
	close(goOn)
	if code := <-first; code != exitFine {
		t.Errorf("the first ended with %d", code)
	}
	if len(begun) != 0 {
		t.Error("it was sent twice")
	}
	if r := redeliver(t, 1, file, "--unguarded", "--url", at); r.Executed != 1 || r.Earlier != 1 { // the lock is gone with its run
		t.Errorf("%+v", r)
	}
}

// TestProgressLines: without a terminal there are plain lines, on one a bar that is rewritten.
func TestProgressLines(t *testing.T) {
	var out strings.Builder
	a := &app{stderr: &out}
	p := a.newProgress(4)
	p.every = 0
	p.step(&redeliverReport{Lines: 4, Left: 2, Executed: 2})
	p.end()
	if got := out.String(); !strings.HasPrefix(got, "2 of 4, ") || !strings.HasSuffix(got, "executed 2, refused 0, in doubt 0, failed 0\n") {
		t.Errorf("%q", got)
	}
	out.Reset()
	p.terminal = true
	p.step(&redeliverReport{Lines: 4, Left: 1, Executed: 3})
	p.end()
	if got := out.String(); !strings.HasPrefix(got, "\r[######################........] 3 of 4") || !strings.HasSuffix(got, "\n") {
		t.Errorf("%q", got)
	}
}
