package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const historyPolicy = `
version: 1
entities: {thing: {states: [none, there], initial: none}}
operations:
  thing.create: {tools: [create], pattern: transition, entity: {thing: {ref: code}}, from: [none], to: there}
  thing.delete: {tools: [delete], pattern: transition, entity: {thing: {ref: code}}, from: [there], to: none}
`

// historyTool writes down what happened, and stops at the request whose number is given until it is let go on.
type historyTool struct {
	mu       sync.Mutex
	happened []string
	stopAt   int
	stopped  chan struct{}
	goOn     chan struct{}
}

func (s *historyTool) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.happened = append(s.happened, strings.Trim(r.URL.Path, "/"))
	stop := len(s.happened) == s.stopAt
	s.mu.Unlock()
	if stop {
		close(s.stopped)
		<-s.goOn
	}
}

// A run that is killed while a line of a history is under way goes on with that history where it was: what was missing before is missing
// after, also where that line turns out to be done. Nothing happens twice.
func TestRedeliverHistoryKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	history := []string{"create", "delete", "create", "delete", "create"}
	for done := range 2 { // with more done before it cannot be told which of two alike was
		for killed := done; killed < len(history); killed++ {
			t.Run(fmt.Sprintf("%d done before, killed at %d", done, killed+1), func(t *testing.T) {
				dir := t.TempDir()
				tool := &historyTool{stopAt: killed + 1, stopped: make(chan struct{}), goOn: make(chan struct{})}
				at := startHistory(t, dir, tool)
				var text strings.Builder
				for i, name := range history {
					fmt.Fprintf(&text, `{"tool":%q,"arguments":{"ref":"A"},"context":{"call_id":"%d"}}`+"\n", name, i)
				}
				write := func(name, text string) string {
					file := filepath.Join(dir, name)
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					return file
				}
				if done > 0 {
					before := strings.Join(strings.SplitAfter(text.String(), "\n")[:done], "")
					redeliver(t, done, write("before.jsonl", before), "--at", "1", "--url", at)
				}
				file := write("bulk.jsonl", text.String())
				cmd := exec.Command(self)
				cmd.Args = []string{"agentgw", "redeliver", "--at", "1", "--url", at, file}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				<-tool.stopped
				cmd.Process.Kill()
				cmd.Wait()
				close(tool.goOn)
				r := redeliver(t, len(history), file, "--at", "1", "--url", at)
				tool.mu.Lock()
				defer tool.mu.Unlock()
				if !slices.Equal(tool.happened, history) || len(r.Attention) > 0 {
					t.Errorf("it happened: %v; %+v", tool.happened, r)
				}
			})
		}
	}
}

const historyConfig = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
policies: [policy.yaml]
upstreams: {shop: {url: %q}}
tools:
  create: {upstream: shop, path: /create}
  delete: {upstream: shop, path: /delete}
`

func startHistory(t *testing.T, dir string, tool http.Handler) string {
	return startWith(t, dir, historyConfig, historyPolicy, tool)
}
