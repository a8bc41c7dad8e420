package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgw/internal/redistest"
)

var update = flag.Bool("update", false, "write what commands say into the scripts, to be read as a diff")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agentgw": main, "notes-server": notesServer})
}

// TestScripts runs testdata/*.txtar: every command as users type it, with its exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Values[stageKey{}] = &stage{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":          exits,
			"service":        startService,
			"happened":       happened,
			"until_happened": untilHappened,
			"stops_saying":   stopsSaying,
			"gateway":        startGateway,
			"stop":           stopGateway,
			"redis":          startRedis,
			"cut_replica":    func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(stageOf(ts).replicated.Cut()) },
			"remember":       remember,
			"notes":          startNotes,
			"talk":           talk,
			"post":           post,
			"until_says":     untilSays,
		},
	})
}

// stage is what one script has running beside it.
type stage struct {
	service    service
	replicated *redistest.Sentinels
	stop       context.CancelFunc
	ended      chan int // exit code of `serve`
	stderr     transcript
}

type stageKey struct{}

func stageOf(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

// exits CODE COMMAND ARGS…: the command ends with this exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		code = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("%s ended with %d instead of %d", strings.Join(args[1:], " "), code, want)
	}
}

// remember NAME REGEXP FILE: the first group becomes a variable. FILE may be stdout.
func remember(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if found == nil {
		ts.Fatalf("%s does not hold %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[1])
}

// service is a business service that counts what it did.
type service struct{ done atomic.Int64 }

// ServeHTTP does what the end of the path says goes wrong.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"done":%d,"authorization":%q}`, s.done.Load(), r.Header.Get("Authorization"))
	case strings.HasSuffix(r.URL.Path, "/refuse"):
		w.WriteHeader(http.StatusUnprocessableEntity)
	case strings.HasSuffix(r.URL.Path, "/cut"):
		s.done.Add(1)
		panic(http.ErrAbortHandler)
	default:
		n := s.done.Add(1)
		if strings.HasSuffix(r.URL.Path, "/slow") {
			time.Sleep(700 * time.Millisecond)
		}
		fmt.Fprintf(w, `{"id":"I-%d","bytes":%d}`, n, len(body))
	}
}

// startService starts the service and sets BILLING_URL.
func startService(ts *testscript.TestScript, _ bool, _ []string) {
	server := httptest.NewServer(&stageOf(ts).service)
	ts.Defer(server.Close)
	ts.Setenv("BILLING_URL", server.URL)
}

// happened N: so many side effects happened.
func happened(ts *testscript.TestScript, _ bool, args []string) {
	if n := strconv.FormatInt(stageOf(ts).service.done.Load(), 10); n != args[0] {
		ts.Fatalf("%s effects happened instead of %s", n, args[0])
	}
}

// untilHappened N waits until so many side effects have happened.
func untilHappened(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	for end := time.Now().Add(20 * time.Second); stageOf(ts).service.done.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%d effects did not happen", want)
		}
	}
}

// stopsSaying TEXT: the gateway that was stopped had said so on stderr.
func stopsSaying(ts *testscript.TestScript, neg bool, args []string) {
	if said := stageOf(ts).stderr.String(); strings.Contains(said, args[0]) == neg {
		ts.Fatalf("what serve said of %q:\n%s", args[0], said)
	}
}

// variables are those of a script that `serve` sees.
var variables = []string{"BILLING_URL", "BILLING_AUTHORIZATION", "LEDGER", "AGENT_KEY", "OTHER_KEY", "OPS_KEY", "NOTES_URL", "WORK"}

// startGateway runs `agentgw --json serve --config FILE ARGS…` and sets AGENTS and OPERATORS to its addresses.
func startGateway(ts *testscript.TestScript, _ bool, args []string) {
	var env []string
	for _, name := range variables {
		env = append(env, name+"="+ts.Getenv(name))
	}
	s := stageOf(ts)
	s.stderr.Reset()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"--json", "serve", "--config", ts.MkAbs(args[0])}, args[1:]...), nil, in, &s.stderr, env)
		in.Close()
		ended <- code
	}()
	s.stop, s.ended = stop, ended
	ts.Defer(func() { stop() })
	var at struct{ Listen, Admin string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &at) != nil {
		ts.Fatalf("serve did not start: %d, %s", <-ended, s.stderr.String())
	}
	ts.Setenv("AGENTS", "http://"+at.Listen)
	ts.Setenv("OPERATORS", "http://"+at.Admin)
}

// stopGateway stops it as SIGTERM does, and checks that it ends well.
func stopGateway(ts *testscript.TestScript, _ bool, _ []string) {
	s := stageOf(ts)
	s.stop()
	if code := <-s.ended; code != exitFine {
		ts.Fatalf("serve ended with %d: %s", code, s.stderr.String())
	}
}

// redis [with replica]: starts a Redis and sets LEDGER to its URL.
func startRedis(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) > 0 {
		s, err := redistest.RunSentinel(1)
		ts.Check(err)
		ts.Defer(func() { s.Close() })
		ts.Setenv("LEDGER", s.Servers[0].TCP)
		stageOf(ts).replicated = s
		return
	}
	server, err := redistest.Run(redistest.Options{})
	ts.Check(err)
	ts.Defer(func() { server.Close() })
	ts.Setenv("LEDGER", server.TCP)
}
