package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/ledger/redisstore"
)

// client speaks to a gateway: over the network, or to its handler in this process. What both say is the same.
type client struct {
	base string
	key  string
	http http.RoundTripper
	end  func() error

	door  string  // "listen" or "admin": which of a gateway's addresses this should be; "" where nobody chose it
	known binding // of the agents' door: whose calls these are
}

// through is a client of a running gateway.
func through(base, key string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usagef("%q is not the URL of a gateway; write it as http://HOST:PORT", base)
	}
	return &client{base: strings.TrimSuffix(base, "/"), key: key, http: http.DefaultTransport, end: func() error { return nil }}, nil
}

// within is a client of a handler in this process.
func within(h http.Handler, key string, end func() error) *client {
	return &client{base: "http://localhost", key: key, http: inProcess{h}, end: end}
}

// reply is an answer of a gateway: its status and its JSON.
type reply struct {
	status int
	body   []byte
	header http.Header
	hint   string // what to do about a refusal that is about the way here, not about the call
}

// do sends one request; v is its JSON body, nil for none.
func (c *client) do(ctx context.Context, method, path string, v any) (*reply, error) {
	var body []byte
	if v != nil {
		var err error
		if body, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // nothing is sent twice
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Agentgw-Key", c.key)
	}
	res, err := c.http.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("the gateway at %s does not answer: %w", c.base, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("the gateway's answer broke off: %w", err)
	}
	return &reply{res.StatusCode, text, res.Header, c.hint(res.StatusCode, text)}, nil
}

// hint is what to do where the secret is missing or wrong, or the other door was asked; "" otherwise.
func (c *client) hint(status int, text []byte) string {
	nothing := (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && bytes.Contains(text, []byte("There is nothing under"))
	switch {
	case status == http.StatusUnauthorized:
		return "say the secret with --key, or set AGENTGW_KEY"
	case nothing && c.door == "listen":
		return "is this the operators' port? agents call the address of listen: in the configuration (127.0.0.1:8080 by default), not that of admin:"
	case nothing && c.door == "admin":
		return "is this the agents' port? operators ask at the address of admin: in the configuration (127.0.0.1:8081 by default), not at that of listen:"
	}
	return ""
}

// ask sends one request and reads its answer into v; the text of the answer is returned, too. A refusal is an error.
func (c *client) ask(ctx context.Context, method, path string, body, v any) ([]byte, error) {
	r, err := c.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if r.status != http.StatusOK {
		return nil, r.problem()
	}
	return r.body, json.Unmarshal(r.body, v)
}

// problem is the error of a refusal.
func (r *reply) problem() error {
	var said struct{ Title, Detail string }
	text := fmt.Sprintf("the gateway answered with status %d", r.status)
	if json.Unmarshal(r.body, &said) == nil && said.Title+said.Detail != "" {
		text = strings.TrimSpace(said.Title + ": " + said.Detail)
	}
	if r.hint != "" {
		text += "\n" + r.hint
	}
	return errors.New(text)
}

// running reports whether something listens at an address.
func running(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED) && !isTimeout(err)
	}
	conn.Close()
	return true
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// fromEnv is a flag's value, which env:NAME keeps out of the command line.
func (a *app) fromEnv(text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		if text = a.env.get(name); text == "" {
			return "", usagef("the environment variable %s is not set", name)
		}
	}
	return text, nil
}

// key is the secret that a command presents: the flag's, else AGENTGW_KEY, else the first that the configuration knows.
func (a *app) key(flag string, otherwise gateway.Principals) (string, error) {
	key, err := a.fromEnv(flag)
	if err != nil || key != "" {
		return key, err
	}
	if key = a.env.get("AGENTGW_KEY"); key == "" && len(otherwise) > 0 {
		key = string(otherwise[0].Secret)
	}
	return key, nil
}

// toAgents is the agents' door of a gateway: the one at a URL, else the one that a configuration tells of where it runs, else that gateway
// made here for one call.
func (a *app) toAgents(at, config, key string) (*client, error) {
	door, err := a.agentsDoor(at, config, key)
	if err != nil {
		return nil, err
	}
	door.door = "listen"
	return door, nil
}

func (a *app) agentsDoor(at, config, key string) (*client, error) {
	if at != "" {
		secret, err := a.key(key, nil)
		if err != nil {
			return nil, err
		}
		door, err := through(at, secret)
		if err == nil {
			door.known = boundTo(door.base, secret, nil)
		}
		return door, err
	}
	c, err := loadConfig(config, a.env)
	if err != nil {
		return nil, err
	}
	secret, err := a.key(key, c.principals)
	if err != nil {
		return nil, err
	}
	known := boundTo("http://"+c.listen, secret, c.principals)
	if running(c.listen) {
		door, err := through(known.To, secret)
		if err == nil {
			door.known = known
		}
		return door, err
	}
	in, err := c.open(a.stderr, slog.New(slog.NewTextHandler(a.stderr, nil)))
	if err != nil {
		return nil, err
	}
	if c.ledger == "memory:" {
		fmt.Fprintf(a.stderr, "agentgw: %s\n", forgets)
	}
	if err := in.CheckHealth(a.ctx); err != nil {
		in.close()
		return nil, err
	}
	door := within(in.agents(), secret, in.close)
	door.known = known
	return door, nil
}

// toOperators is the operators' door: of a running gateway at a URL, over a ledger, or of the gateway that a configuration tells of.
func (a *app) toOperators(at, ledgerAt, config, key string) (*client, error) {
	switch {
	case at != "":
		secret, err := a.key(key, nil)
		if err != nil {
			return nil, err
		}
		door, err := through(at, secret)
		if err == nil {
			door.door = "admin"
		}
		return door, err
	case ledgerAt != "":
		u, err := a.fromEnv(ledgerAt)
		if err != nil {
			return nil, err
		}
		return a.overLedger(u)
	}
	c, err := loadConfig(config, a.env)
	if err != nil {
		return nil, err
	}
	if running(c.admin) {
		secret, err := a.key(key, c.operators)
		if err != nil {
			return nil, err
		}
		return through("http://"+c.admin, secret)
	}
	if c.ledger == "memory:" {
		return nil, usagef("no gateway runs at %s, and its ledger is in memory: there is nothing to look at", c.admin)
	}
	return a.overLedger(c.ledger)
}

// overLedger is the operators' door made here, over a ledger that nobody else needs to run.
func (a *app) overLedger(u string) (*client, error) {
	store, err := openStore(u, redisstore.Options{})
	if err != nil {
		return nil, err
	}
	l := ledger.New(store)
	if err := l.Health(a.ctx); err != nil {
		l.Close()
		return nil, err
	}
	return within(gateway.New(gateway.Options{Ledger: l}).Admin(gateway.AdminConfig{}), "", l.Close), nil
}
