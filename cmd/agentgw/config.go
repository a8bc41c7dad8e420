package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"agentgw/canonicalize"
	"agentgw/gateway"
	"agentgw/ledger/redisstore"
	"agentgw/policy"
)

const (
	defaultConfig = "agentgw.yaml"
	defaultListen = "127.0.0.1:8080"
	defaultAdmin  = "127.0.0.1:8081"
)

// config is what agentgw.yaml says, with every default filled in and every secret read.
type config struct {
	file       string
	bare       bool // made of a command, without a file: file only says what is kept beside what
	listen     string
	admin      string
	ledger     string // URL; may hold a password
	redis      redisstore.Options
	policies   []string
	unmatched  string
	defaults   canonicalize.Defaults
	upstreams  map[string]*gateway.Upstream
	tools      map[string]*gateway.Tool
	own        []string // actions that callers do themselves
	log        string   // path, "stdout", or ""
	model      *model   // nil: wording is compared without one
	principals gateway.Principals
	operators  gateway.Principals

	policy *policy.Policy
}

// configMembers are the members of agentgw.yaml.
var configMembers = []string{"listen", "admin", "ledger", "policies", "unmatched", "defaults", "upstreams", "tools", "durability",
	"on_failover", "log", "model", "principals", "operators"}

// loadConfig reads a configuration and its policies. Its error is policy.Errors with all that is wrong in any of them, or says that
// there is no file and what to do about it.
func loadConfig(file string, env environment) (*config, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("there is no %s here; `agentgw init` writes one with an example policy, and --config names another", file)
	}
	if err != nil {
		return nil, usage(err)
	}
	c := &config{file: file, listen: defaultListen, admin: defaultAdmin, unmatched: "reads",
		upstreams: map[string]*gateway.Upstream{}, tools: map[string]*gateway.Tool{}}
	c.ledger = "file:" + c.beside("agentgw.db")
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, usagef("%s is empty; `agentgw init` writes one in an empty folder, to copy from", file)
	}
	f, err := policy.OpenFile(policy.Source{Name: file, Text: text})
	if err != nil {
		return nil, usage(err)
	}
	r := &configReader{File: f, c: c, env: env}
	r.read()
	return c, r.withPolicies()
}

// configReader fills a config from the nodes of its file.
type configReader struct {
	*policy.File
	c    *config
	env  environment
	refs []reference // to upstreams, checked when all are known
	from []string    // variables of the environment that hold secrets
}

type reference struct {
	node *yaml.Node
	what string
}

// read reads all members. Each of them stands alone, so that one fault hides no other.
func (r *configReader) read() {
	m := r.Members(r.Root, "the configuration", "listen: "+defaultListen, configMembers...)
	readers := map[string]func(*yaml.Node){
		"listen":      func(n *yaml.Node) { r.c.listen = r.address(n, "listen", defaultListen) },
		"admin":       func(n *yaml.Node) { r.c.admin = r.address(n, "admin", defaultAdmin) },
		"ledger":      r.ledger,
		"policies":    r.policies,
		"unmatched":   r.unmatched,
		"defaults":    r.defaults,
		"upstreams":   r.upstreams,
		"tools":       r.tools,
		"durability":  r.durability,
		"on_failover": r.onFailover,
		"log":         r.log,
		"model":       r.model,
		"principals":  func(n *yaml.Node) { r.c.principals = r.credentials(n, "principals", true) },
		"operators":   func(n *yaml.Node) { r.c.operators = r.credentials(n, "operators", false) },
	}
	for _, name := range configMembers {
		if n := m[name]; n != nil {
			readers[name](n)
		}
	}
	for _, ref := range r.refs {
		if u := r.c.upstreams[ref.node.Value]; u != nil && u.MCP != nil {
			r.Fault(ref.node, "leave the tool out: a server's own tools need no declaration", "%s: the upstream %q is an MCP server", ref.what, ref.node.Value)
		} else if u == nil {
			r.Fault(ref.node, policy.DidYouMean(ref.node.Value, names(r.c.upstreams)), "%s: there is no upstream %q", ref.what, ref.node.Value)
		}
	}
	r.hide()
	r.reachable(m["listen"], "listen", r.c.listen, "principals", len(r.c.principals) > 0 || m["principals"] != nil)
	r.reachable(m["admin"], "admin", r.c.admin, "operators", len(r.c.operators) > 0 || m["operators"] != nil)
}

// withPolicies loads the policies against the tools and upstreams, and returns what is wrong anywhere.
func (r *configReader) withPolicies() error {
	var found policy.Errors
	var err error
	if len(r.c.policies) > 0 {
		r.c.policy, err = policy.LoadFiles(r.c.policies, r.c.policyEnv())
	} else {
		r.c.policy, err = policy.Load(nil, r.c.policyEnv())
	}
	for _, e := range []error{r.Err(), err} {
		var more policy.Errors
		if errors.As(e, &more) {
			found = append(found, more...)
		} else if e != nil {
			return usage(e)
		}
	}
	if len(found) > 0 {
		return usage(found)
	}
	return nil
}

// policyEnv is what policies may refer to.
func (c *config) policyEnv() policy.Env {
	env := policy.Env{Defaults: c.defaults, Replicated: c.redis.Replicas > 0, Upstreams: map[string]policy.UpstreamFacts{}, Tools: map[string]bool{}, Routes: map[string]policy.Route{}}
	if !c.hasReplicas() {
		env.Unreplicated = shownLedger(c.ledger)
	}
	for name, u := range c.upstreams {
		env.Upstreams[name] = policy.UpstreamFacts{IdempotencyHeader: u.IdempotencyHeader != ""}
		if u.MCP != nil {
			env.Tools = nil // its tools are known when it is asked: any name may be one of them
		}
	}
	for _, name := range c.own {
		if env.Tools != nil {
			env.Tools[name] = true
		}
	}
	for name, t := range c.tools {
		if env.Tools != nil {
			env.Tools[name] = true
		}
		path, _, _ := strings.Cut(t.Path, "?")
		env.Routes[name] = policy.Route{Method: t.Method, Upstream: t.Upstream, Path: path}
	}
	return env
}

// durability is read after the ledger: only a Redis has replicas.
func (r *configReader) durability(n *yaml.Node) {
	if r.Word(n, "durability", "local", "local", "replicated") == "local" {
		return
	}
	if !r.c.hasReplicas() {
		r.Fault(n, "write durability: local, or choose a Redis with a replica", "durability: the ledger %s has no replicas", shownLedger(r.c.ledger))
	}
	r.c.redis.Replicas = 1
}

// hasReplicas reports whether the ledger is of a kind that can have replicas.
func (c *config) hasReplicas() bool { return strings.HasPrefix(c.ledger, "redis") }

// onFailover says whether claims wait, after the primary changed, until the gateways have written back what they know.
func (r *configReader) onFailover(n *yaml.Node) {
	if r.Word(n, "on_failover", "wait", "wait", "go") == "go" {
		r.c.redis.Window = -1
	}
}

func (r *configReader) unmatched(n *yaml.Node) {
	r.c.unmatched = r.Word(n, "unmatched", "reads", "reads", "pass", "auto", "deny")
}

// address is host:port. An empty host, which would be every interface, is written out.
func (r *configReader) address(n *yaml.Node, what, example string) string {
	text, ok := r.Text(n, what, example)
	if !ok {
		return example
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		r.Fault(n, "write it as "+example, "%s: %q is not host:port", what, text)
		return example
	}
	if host == "" {
		r.Fault(n, "write 0.0.0.0:"+port+" for every interface, or 127.0.0.1:"+port+" for this machine", "%s: %q names no host", what, text)
		return example
	}
	return text
}

// reachable refuses a listener that others can reach while nobody needs a secret there.
func (r *configReader) reachable(n *yaml.Node, what, address, who string, guarded bool) {
	if n == nil || guarded || isLoopback(address) {
		return
	}
	r.Fault(n, fmt.Sprintf("add %s with secrets, or listen on 127.0.0.1", who), "%s: %s can be reached from other machines, and there are no %s", what, address, who)
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func (r *configReader) ledger(n *yaml.Node) {
	text, ok := r.secret(n, "ledger", "file:agentgw.db")
	if !ok {
		return
	}
	if text == "memory" { // memory: has to be quoted in YAML
		text = "memory:"
	}
	if err := checkLedgerURL(text); err != nil {
		r.Fault(n, "", "ledger: %v", err)
		return
	}
	r.c.ledger = text
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		r.c.ledger = "file:" + r.c.beside(path)
	}
}

func (r *configReader) policies(n *yaml.Node) {
	paths, nodes := r.Texts(n, "policies", "[policies/]")
	for i, p := range paths {
		path := r.c.beside(p)
		if _, err := os.Stat(path); err != nil {
			r.Fault(nodes[i], "name files or folders, as seen from this file", "policies: there is no %s", p)
			continue
		}
		r.c.policies = append(r.c.policies, path)
	}
}

func (r *configReader) log(n *yaml.Node) {
	if text, ok := r.Text(n, "log", "decisions.jsonl, or stdout"); ok && text != "stdout" {
		r.c.log = r.c.beside(text)
	} else if ok {
		r.c.log = text
	}
}

// beside makes a path of the configuration one from here: they are relative to its file.
func (c *config) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.file), path)
}

func (r *configReader) defaults(n *yaml.Node) {
	m := r.Members(n, "defaults", "{zone: Asia/Tokyo, currency: JPY, region: JP}", "zone", "currency", "region")
	d := &r.c.defaults
	text := func(name, example string) (n *yaml.Node, value string) {
		if n = m[name]; n != nil {
			value, _ = r.Text(n, name, example)
		}
		return n, value
	}
	if n, zone := text("zone", "Asia/Tokyo"); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
			r.Fault(n, "write a name such as Asia/Tokyo", "defaults: zone: %q is not in the IANA list of time zones", zone)
		} else {
			d.Zone = zone
		}
	}
	if n, code := text("currency", "JPY"); r.usable(n, "currency", "JPY", code, "money", canonicalize.Defaults{Currency: code}) {
		d.Currency = code
	}
	if n, code := text("region", "JP"); r.usable(n, "region", "JP", code, "phone", canonicalize.Defaults{Region: code}) {
		d.Region = code
	}
}

// usable tries a default with a type that uses it.
func (r *configReader) usable(n *yaml.Node, what, example, value, typ string, d canonicalize.Defaults) bool {
	if value == "" {
		return false
	}
	_, err := canonicalize.Compile(canonicalize.FieldSpec{Name: what, Type: typ}, d)
	if err != nil {
		r.Fault(n, "write a code such as "+example, "defaults: %s: %q is not known", what, value)
	}
	return err == nil
}

func names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
