package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// notes is an MCP server that appends to a file. Its tools are what another file says at the time.
type notes struct {
	file  string // what was written; its process id stands beside it, in .pid
	tools string // file of the definitions; "": add_note and list_notes

	mu sync.Mutex
}

const noteTools = `[{"name":"add_note","description":"Writes a note","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"tag":{"type":"string"}}}},` +
	`{"name":"list_notes","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]`

// rpc is what it reads of a message.
type noteRPC struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name            string
		ProtocolVersion string
		Arguments       struct{ Text string }
	}
}

// answer is its answer to a message; nil for none.
func (n *notes) answer(message []byte) []byte {
	var m noteRPC
	if json.Unmarshal(message, &m) != nil || m.ID == nil {
		return nil
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}`, m.Params.ProtocolVersion)
	case "tools/list":
		definitions := []byte(noteTools)
		if n.tools != "" {
			definitions, _ = os.ReadFile(n.tools)
		}
		result = `{"tools":` + string(bytes.TrimSpace(definitions)) + `}`
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, n.do(m.Params.Name, m.Params.Arguments.Text))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (n *notes) do(tool, text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	written, _ := os.ReadFile(n.file)
	if tool == "list_notes" {
		return string(written)
	}
	os.WriteFile(n.file, append(written, text+"\n"...), 0o600)
	return fmt.Sprintf("note %d", bytes.Count(written, []byte("\n"))+1)
}

// notesServer is the command `notes-server FILE [DEFINITIONS]`: that server over its pipes, with files in the script's folder.
func notesServer() {
	here := os.Getenv("WORK") // a gateway in the test's own process runs elsewhere
	n := &notes{file: filepath.Join(here, os.Args[1])}
	if len(os.Args) > 2 {
		n.tools = filepath.Join(here, os.Args[2])
	}
	fmt.Fprintf(os.Stderr, "notes to %s; the agent's key is %q, a variable of no concern %q\n", filepath.Base(n.file), os.Getenv("AGENT_KEY"), os.Getenv("BILLING_URL"))
	os.WriteFile(n.file+".pid", fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if b := n.answer(in.Bytes()); b != nil {
			fmt.Printf("%s\n", b)
		}
	}
}

// startNotes FILE [DEFINITIONS]: the same server over HTTP; sets NOTES_URL.
func startNotes(ts *testscript.TestScript, _ bool, args []string) {
	n := &notes{file: ts.MkAbs(args[0])}
	if len(args) > 1 {
		n.tools = ts.MkAbs(args[1])
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if b = n.answer(b); b == nil {
			w.WriteHeader(http.StatusAccepted)
		}
		w.Write(b)
	}))
	ts.Defer(server.Close)
	ts.Setenv("NOTES_URL", server.URL)
}

// talk FILE COMMAND ARGS…: a client that starts a command, sends it the messages of the file, one a line, each request when the one before
// was answered, and leaves. The answers are on stdout, what the command says on stderr.
func talk(ts *testscript.TestScript, neg bool, args []string) {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range append([]string{"PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR"}, variables...) {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stderr = ts.Stderr()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	ts.Check(err1)
	ts.Check(err2)
	ts.Check(cmd.Start())
	answers := bufio.NewReader(out)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		io.WriteString(in, line)
		var m noteRPC
		for json.Unmarshal([]byte(line), &m) == nil && m.ID != nil {
			answer, err := answers.ReadBytes('\n')
			ts.Stdout().Write(answer)
			var got noteRPC
			if err != nil || json.Unmarshal(answer, &got) == nil && bytes.Equal(got.ID, m.ID) && got.Method == "" {
				break
			}
		}
	}
	in.Close()
	ts.Stdout().Write(must(io.ReadAll(answers)))
	if err := cmd.Wait(); (err != nil) != neg {
		ts.Fatalf("%s: %v", strings.Join(args[1:], " "), err)
	}
}

func must(b []byte, _ error) []byte { return b }

// post URL FILE: the body of the answer to a message sent to a gateway's MCP door, on stdout.
func post(ts *testscript.TestScript, _ bool, args []string) {
	r, err := http.NewRequest(http.MethodPost, args[0], strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Agentgw-Key", ts.Getenv("AGENT_KEY"))
	res, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer res.Body.Close()
	fmt.Fprintf(ts.Stdout(), "%s\n", must(io.ReadAll(res.Body)))
}

// untilSays TEXT waits until the gateway has said so on stderr.
func untilSays(ts *testscript.TestScript, _ bool, args []string) {
	s := stageOf(ts)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.stderr.String(), args[0]); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("serve did not say %q:\n%s", args[0], s.stderr.String())
		}
	}
}

// transcript is what a gateway has said so far.
type transcript struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

// String is all of it.
func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Reset forgets it.
func (s *transcript) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}
