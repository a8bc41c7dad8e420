package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

//go:embed demo
var demoFiles embed.FS

type demoCmd struct{}

// Help is shown by `agentgw demo --help`.
func (demoCmd) Help() string {
	return "A gateway on a temporary file ledger, a billing service that counts what it really does, and an agent that rewords, retries, " +
		"reorders, runs twice and is killed. The same agent also runs without the gateway. Takes about ten seconds; leaves nothing behind."
}

// demoTotal is what one way of calling came to.
type demoTotal struct {
	Intended int `json:"intended"`
	Calls    int `json:"calls"`
	Happened int `json:"happened"`
}

// Run plays the story with and without a gateway. It fails where the gateway let an intended effect happen twice, or not at all.
func (demoCmd) Run(a *app) error {
	dir, err := os.MkdirTemp("", "agentgw-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var lines []demoLine
	show := a.demoTable(&lines)
	var without demoTotal
	var other error
	var both sync.WaitGroup
	both.Go(func() { without, other = playDirect(a.ctx) })
	with, err := playGateway(a.ctx, dir, show)
	both.Wait()
	if err := errors.Join(err, other); err != nil {
		return err
	}
	if a.json {
		err = a.writeJSON(map[string]any{"lines": lines, "with": with, "without": without})
	} else {
		a.demoTotals(with, without)
	}
	if err == nil && with.Happened != with.Intended {
		err = &checkFailed{fmt.Sprintf("%d effects were intended and %d happened", with.Intended, with.Happened)}
	}
	return err
}

func playDirect(ctx context.Context) (demoTotal, error) {
	service, err := newBilling()
	if err != nil {
		return demoTotal{}, err
	}
	defer service.close()
	who := &agent{ctx: ctx, billing: service, say: func(demoLine) {}}
	who.play()
	return demoTotal{who.intended, who.calls, service.count()}, nil
}

func playGateway(ctx context.Context, dir string, say func(demoLine)) (demoTotal, error) {
	service, err := newBilling()
	if err != nil {
		return demoTotal{}, err
	}
	defer service.close()
	g := &childGateway{dir: dir, env: append(os.Environ(), "DEMO_BILLING="+service.url)}
	if err := g.write(); err != nil {
		return demoTotal{}, err
	}
	if err := g.start(ctx); err != nil {
		return demoTotal{}, err
	}
	defer g.kill()
	who := &agent{ctx: ctx, billing: service, gateway: g, say: say}
	who.play()
	return demoTotal{who.intended, who.calls, service.count()}, nil
}

// demoTable writes the lines as they come, in columns; with --json it keeps them.
func (a *app) demoTable(lines *[]demoLine) func(demoLine) {
	var mu sync.Mutex
	if !a.json {
		fmt.Fprint(a.stdout, "An agent works through agentgw. Each heading is one intended effect; every line below it is a call.\n")
	}
	return func(l demoLine) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case a.json:
			*lines = append(*lines, l)
		case l.Intent != "":
			fmt.Fprintf(a.stdout, "\n%s\n", l.Intent)
		default:
			fmt.Fprintln(a.stdout, strings.TrimRight(fmt.Sprintf("    %-28s  %-23s %s", l.Call, l.Decision, l.Why), " "))
		}
	}
}

func (a *app) demoTotals(with, without demoTotal) {
	fmt.Fprintln(a.stdout)
	row := func(name string, t demoTotal) []string {
		return []string{name, fmt.Sprint(t.Intended), fmt.Sprint(t.Calls), fmt.Sprint(t.Happened)}
	}
	a.table([][]string{{"", "INTENDED EFFECTS", "CALLS", "EFFECTS THAT REALLY HAPPENED"},
		row("the same agent without a gateway", without), row("through agentgw", with)})
}

// write puts the demo's configuration and policy into its folder.
func (g *childGateway) write() error {
	for _, name := range []string{"agentgw.yaml", "policy.yaml"} {
		text, err := fs.ReadFile(demoFiles, "demo/"+name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(g.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (g *childGateway) call(ctx context.Context, body callBody) (*decision, error) {
	r, err := g.agents.do(ctx, http.MethodPost, "/v1/calls", body)
	if err != nil {
		return nil, err
	}
	d := &decision{}
	if err := json.Unmarshal(r.body, d); err != nil || d.Decision == "" {
		return nil, r.problem()
	}
	return d, nil
}

// resolve is what `agentgw effects resolve ID succeeded` does.
func (g *childGateway) resolve(ctx context.Context, id, answer string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var e effect
	if _, err := g.ops.ask(ctx, http.MethodGet, "/v1/effects/"+id, nil, &e); err != nil {
		return err
	}
	said := resolution{Outcome: "succeeded", Version: e.Version, Reason: "found in the billing system", Result: jsonAnswer(answer)}
	_, err := g.ops.ask(ctx, http.MethodPost, "/v1/effects/"+id+"/resolve", said, &e)
	return err
}
