package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agentgw/ledger"
)

// Tools of the generated configuration.
const (
	toolAct     = "act"
	toolShort   = "act_short"   // its lease is short: where a gateway dies
	toolBrief   = "act_brief"   // remembered for a second
	toolNowhere = "act_nowhere" // the same operation as act, over an upstream that nobody serves
	toolKeyed   = "act_keyed"   // and over one that gets a key, with which net/http might send twice
)

const (
	shortLease = 2 * time.Second
	briefTTL   = time.Second
)

const verifyConfig = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
ledger: "env:AGENTGW_VERIFY_LEDGER"
policies: [policy.yaml]
upstreams:
  witness: {url: "env:AGENTGW_VERIFY_WITNESS"}
  keyed: {url: "env:AGENTGW_VERIFY_WITNESS", idempotency_header: Idempotency-Key}
  nowhere: {url: "http://127.0.0.1:1"}
tools:
  act: {upstream: witness, path: /act}
  act_short: {upstream: witness, path: /act}
  act_brief: {upstream: witness, path: /act}
  act_nowhere: {upstream: nowhere, path: /act}
  act_keyed: {upstream: keyed, path: /act}
principals: [{name: verify, secret: "env:AGENTGW_VERIFY_KEY", tenant: %q}]
operators: [{name: verify, secret: "env:AGENTGW_VERIFY_KEY"}]
`

const verifyPolicy = `
version: 1
operations:
  verify.act:
    tools: [act, act_nowhere, act_keyed]
    key: {customer: id, ref: code, month: month, lines: set(code)}
    must_match: {amount: money(EUR)}
    ttl: 10m
  verify.short:
    tools: [act_short]
    key: {customer: id, ref: code, month: month, lines: set(code)}
    must_match: {amount: money(EUR)}
    ttl: 10m
    lease: 2s
  verify.brief:
    tools: [act_brief]
    key: {customer: id, ref: code}
    ttl: 1s
`

// gateOptions say how a gateway of the battery differs from the plain one.
type gateOptions struct {
	ledger   string       // its URL; "": the one under test
	store    ledger.Store // instead of a URL: a gateway in this process over it
	cut      string       // where a process of its own asks when its ledger is cut off; "": it is not
	upstream string       // "": the witness
}

// gate is a gateway of the battery: a process of its own, or one in this process.
type gate struct {
	b       *battery
	options gateOptions
	dir     string

	mu     sync.Mutex
	child  *childGateway
	within func() error // closes a gateway in this process
	agents *client
	ops    *client
}

func (b *battery) newGate(o gateOptions) (*gate, error) {
	dir, err := os.MkdirTemp(b.dir, "gateway")
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(verifyConfig, b.tenant)
	for name, text := range map[string]string{"agentgw.yaml": config, "policy.yaml": verifyPolicy} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	g := &gate{b: b, options: o, dir: dir}
	return g, g.start(o.upstream)
}

// env is what the generated configuration refers to. Secrets stay out of the file.
func (g *gate) env(upstream string) []string {
	at := g.options.ledger
	if at == "" {
		at = g.b.ledger
	}
	if upstream == "" {
		upstream = g.b.witness.url
	}
	return append(append([]string(nil), g.b.env...), "AGENTGW_VERIFY_LEDGER="+at, "AGENTGW_VERIFY_WITNESS="+upstream,
		"AGENTGW_VERIFY_KEY="+g.b.secret)
}

// start implements target.
func (g *gate) start(upstream string) error {
	if g.options.store != nil || g.b.kind() == "memory" {
		return g.startWithin(upstream)
	}
	child := &childGateway{dir: g.dir, env: g.env(upstream)}
	if g.options.cut != "" {
		child.command = []string{"verify-gateway", "--cut", g.options.cut}
	}
	if err := child.start(g.b.ctx); err != nil {
		return err
	}
	child.agents.key, child.ops.key = g.b.secret, g.b.secret
	g.mu.Lock()
	defer g.mu.Unlock()
	g.child, g.agents, g.ops = child, child.agents, child.ops
	return nil
}

// startWithin makes a gateway in this process, over a store that a configuration cannot name.
func (g *gate) startWithin(upstream string) error {
	c, err := loadConfig(filepath.Join(g.dir, "agentgw.yaml"), g.env(upstream))
	if err != nil {
		return err
	}
	store := g.options.store
	if store == nil {
		if store, err = openStore(c.ledger, c.redis); err != nil {
			return err
		}
	}
	in, err := c.openOver(store, io.Discard, nil)
	if err != nil {
		return err
	}
	agents, err := serveHere(in.agents())
	if err != nil {
		return err
	}
	ops, err := serveHere(in.operators())
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.agents, _ = through(agents.Addr, g.b.secret)
	g.ops, _ = through(ops.Addr, g.b.secret)
	g.within = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return errors.Join(agents.Shutdown(ctx), ops.Shutdown(ctx), in.close())
	}
	return nil
}

// serveHere serves a handler on a port of its own; Addr is its URL.
func serveHere(h http.Handler) (*http.Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &http.Server{Addr: "http://" + l.Addr().String(), Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(l) // ends with Shutdown
	return s, nil
}

// call implements target.
func (g *gate) call(ctx context.Context, in *intent, extra string) said {
	g.mu.Lock()
	door := g.agents
	g.mu.Unlock()
	return callGateway(ctx, door, in, extra)
}

// kill implements target, with SIGKILL: nothing can be tidied up.
func (g *gate) kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.child.kill()
	return nil
}

func (g *gate) pause() error  { return g.child.process.Process.Signal(stopSignal) }
func (g *gate) resume() error { return g.child.process.Process.Signal(continueSignal) }

// resolve implements target: it looks at the effect, and says what the witness has.
func (g *gate) resolve(ctx context.Context, s *said, happened bool) error {
	g.mu.Lock()
	ops := g.ops
	g.mu.Unlock()
	var e effect
	path := "/v1/effects/" + url.PathEscape(s.effect)
	if _, err := ops.ask(ctx, http.MethodGet, path, nil, &e); err != nil {
		return err
	}
	if e.State != "indeterminate" {
		return nil // its attempt has answered meanwhile
	}
	word := resolution{Outcome: "failed", Version: e.Version, Reason: "the witness of the battery has no such effect"}
	if happened {
		word = resolution{Outcome: "succeeded", Version: e.Version, Reason: "the witness of the battery has it"}
	}
	_, err := ops.ask(ctx, http.MethodPost, path+"/resolve", word, &e)
	return err
}

// close ends the gateway.
func (g *gate) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.within != nil {
		return g.within()
	}
	g.child.kill()
	return nil
}
