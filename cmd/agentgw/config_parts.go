package main

import (
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"golang.org/x/net/http/httpguts"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/gateway"
	"agentgw/policy"
)

// plainName is what can stand in a path, in a header, and in the tool lists of model APIs.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func (r *configReader) named(m policy.Member, what string) bool {
	if !plainName.MatchString(m.Name) {
		r.Fault(m.Key, "use letters, digits, dots, dashes and underscores", "%q cannot name %s", m.Name, what)
		return false
	}
	return true
}

func (r *configReader) upstreams(n *yaml.Node) {
	const example = "{billing: {url: http://127.0.0.1:9000}}"
	for _, p := range r.Pairs(n, "upstreams", example) {
		r.named(p, "an upstream")
		r.c.upstreams[p.Name] = r.upstream(p)
	}
}

func (r *configReader) upstream(p policy.Member) *gateway.Upstream {
	u := &gateway.Upstream{Name: p.Name}
	m := r.Members(p.Value, "upstream "+p.Name, "{url: http://127.0.0.1:9000}", "url", "timeout", "headers", "idempotency_header", "mcp")
	switch {
	case m["mcp"] != nil && m["url"] != nil:
		r.Fault(m["url"], "leave it out, or make two upstreams of it", "upstream %s has both url and mcp", p.Name)
	case m["mcp"] != nil:
		u.MCP = r.mcpServer(m["mcp"], p.Name)
	case m["url"] != nil:
		u.URL = r.url(m["url"], "url")
	case p.Value.Kind == yaml.MappingNode:
		r.Fault(p.Value, "add url: http://127.0.0.1:9000", "upstream %s has no url", p.Name)
	}
	if n := m["timeout"]; n != nil {
		u.Timeout = r.Duration(n, "timeout", time.Millisecond, 24*time.Hour)
	}
	if n := m["headers"]; n != nil {
		for _, h := range r.Pairs(n, "headers", `{Authorization: "env:BILLING_TOKEN"}`) {
			value, ok := r.secret(h.Value, "header "+h.Name, "env:BILLING_TOKEN")
			if r.headerName(h.Key, h.Name) && ok && !httpguts.ValidHeaderFieldValue(value) {
				r.Fault(h.Value, "leave out line breaks and control characters", "header %s: its value cannot stand in a header", h.Name)
			}
			u.Headers = append(u.Headers, agentgw.Header{Name: h.Name, Value: value})
		}
	}
	if n := m["idempotency_header"]; n != nil {
		if name, ok := r.Text(n, "idempotency_header", "Idempotency-Key"); ok && r.headerName(n, name) {
			u.IdempotencyHeader = name
		}
	}
	return u
}

// mcpServer is the URL of an MCP server, or the command that starts one.
func (r *configReader) mcpServer(n *yaml.Node, upstream string) *gateway.MCPServer {
	if n.Kind != yaml.SequenceNode {
		return &gateway.MCPServer{URL: r.url(n, "mcp")}
	}
	var words []string
	for _, item := range n.Content { // a command may say the same twice: docker run -e A -e B
		if word, ok := r.Text(item, "an element of mcp", "[npx, -y, some-server]"); ok {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		r.Fault(n, "write it as mcp: [npx, -y, some-server], or mcp: https://desk.example/mcp", "upstream %s: mcp names no command", upstream)
	}
	return &gateway.MCPServer{Command: words}
}

// hide keeps the variables that the configuration takes its secrets from out of the environment of MCP servers that are started here:
// whoever wrote such a server is not trusted with the secrets of agents and of other tools.
func (r *configReader) hide() {
	r.from = append(r.from, "AGENTGW_KEY")
	env := slices.DeleteFunc(slices.Clone(r.env), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return slices.Contains(r.from, name)
	})
	for _, u := range r.c.upstreams {
		if u.MCP != nil && len(u.MCP.Command) > 0 {
			u.MCP.Env = env
		}
	}
}

func (r *configReader) headerName(n *yaml.Node, name string) bool {
	if !httpguts.ValidHeaderFieldName(name) {
		r.Fault(n, "", "%q cannot be the name of a header", name)
		return false
	}
	return true
}

func (r *configReader) url(n *yaml.Node, what string) *url.URL {
	text, ok := r.secret(n, what, "http://127.0.0.1:9000")
	if !ok {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Fragment != "" {
		r.Fault(n, "write it as http://127.0.0.1:9000 or https://billing.example/api", "%s: this is not the URL of an HTTP service", what)
		return nil
	}
	return u
}

// secret is a text that may stand elsewhere: env:NAME is a variable of the environment, file:PATH the content of a file without its last
// line break. What is not there is a fault.
func (r *configReader) secret(n *yaml.Node, what, example string) (string, bool) {
	text, ok := r.Text(n, what, example)
	if !ok {
		return "", false
	}
	if name, isEnv := strings.CutPrefix(text, "env:"); isEnv {
		value := r.env.get(name)
		if strings.TrimSpace(value) == "" {
			r.Fault(n, "set it before the start", "%s: the environment variable %s is not set", what, name)
			return "", false
		}
		r.from = append(r.from, name)
		return value, true
	}
	if file, isFile := strings.CutPrefix(text, "file:"); isFile && what != "ledger" {
		b, err := os.ReadFile(r.c.beside(file))
		value := strings.TrimRight(string(b), "\r\n")
		if err != nil || value == "" {
			r.Fault(n, "write the secret into that file", "%s: there is no secret in %s", what, file)
			return "", false
		}
		return value, true
	}
	return text, true
}

func (r *configReader) tools(n *yaml.Node) {
	const example = "{create_invoice: {upstream: billing, path: /invoices}}"
	for _, p := range r.Pairs(n, "tools", example) {
		r.named(p, "a tool")
		if r.ownAction(p) {
			r.c.own = append(r.c.own, p.Name)
			continue
		}
		r.c.tools[p.Name] = r.tool(p)
	}
}

// ownAction reports whether the tool is declared with `upstream: none`: an action that callers do themselves, between begin and complete.
// A policy may name it; it is not listed, and cannot be called.
func (r *configReader) ownAction(p policy.Member) bool {
	if p.Value.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(p.Value.Content); i += 2 {
		if p.Value.Content[i].Value == "upstream" && p.Value.Content[i+1].Value == "none" {
			r.Members(p.Value, "tool "+p.Name, "{upstream: none}", "upstream", "description")
			return true
		}
	}
	return false
}

var methods = []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}

func (r *configReader) tool(p policy.Member) *gateway.Tool {
	t := &gateway.Tool{Name: p.Name, Method: http.MethodPost, Body: "json"}
	m := r.Members(p.Value, "tool "+p.Name, "{upstream: billing, path: /invoices}",
		"upstream", "method", "path", "body", "description", "input", "read_only")
	if n := r.needed(m, p, "upstream", "billing"); n != nil {
		if name, ok := r.Text(n, "upstream", "billing"); ok {
			t.Upstream = name
			r.refs = append(r.refs, reference{n, "tool " + p.Name})
		}
	}
	if n := m["method"]; n != nil {
		t.Method = r.Word(n, "method", http.MethodPost, methods...)
	}
	if n := r.needed(m, p, "path", "/invoices"); n != nil {
		t.Path = r.path(n)
	}
	if n := m["body"]; n != nil {
		t.Body = r.Word(n, "body", "json", "json", "form", "xml")
	}
	if n := m["description"]; n != nil {
		t.Description, _ = r.Text(n, "description", "Issue an invoice")
	}
	if n := m["input"]; n != nil {
		r.input(n, t)
	}
	t.ReadOnly = t.Method == http.MethodGet || t.Method == http.MethodHead
	if n := m["read_only"]; n != nil {
		t.ReadOnly = r.Bool(n, "read_only")
	}
	return t
}

func (r *configReader) needed(m map[string]*yaml.Node, p policy.Member, member, example string) *yaml.Node {
	if m[member] == nil && p.Value.Kind == yaml.MappingNode && len(p.Value.Content) > 0 {
		r.Fault(p.Key, "add "+member+": "+example, "tool %s has no %s", p.Name, member)
	}
	return m[member]
}

func (r *configReader) path(n *yaml.Node) string {
	text, ok := r.Text(n, "path", "/customers/{customer_id}/invoices")
	if !ok {
		return ""
	}
	plain, _, _ := strings.Cut(text, "?")
	if !strings.HasPrefix(text, "/") {
		r.Fault(n, "begin it with a slash", "path: %q", text)
		return ""
	}
	if _, err := policy.ParsePattern(plain); err != nil {
		r.Fault(n, "", "path: %v", err)
		return ""
	}
	return text
}

// input is the tool's JSON Schema. It is given to agents as it is written here.
func (r *configReader) input(n *yaml.Node, t *gateway.Tool) {
	v, ok := r.JSON(n)
	if !ok {
		return
	}
	if v.Kind != canonicalize.Object {
		r.Fault(n, "write {type: object, properties: {…}}", "input is not a JSON Schema of an object")
		return
	}
	text := v.AppendJSON(nil)
	if _, err := canonicalize.ParseSchema(text); err != nil {
		r.Fault(n, "", "input: %v", err)
		return
	}
	t.Input = text
}

// credentials reads principals or operators. No two may have one secret: then nobody could tell who it was.
func (r *configReader) credentials(n *yaml.Node, what string, tenants bool) gateway.Principals {
	members := []string{"name", "secret"}
	example := `[{name: ops, secret: "env:OPS_KEY"}]`
	if tenants {
		members = append(members, "tenant", "operations")
		example = `[{name: billing-agent, secret: "env:BILLING_AGENT_KEY", operations: ["invoice.*"]}]`
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.Fault(n, "write it as "+example, "%s must be a list", what)
		return nil
	}
	var all gateway.Principals
	for _, item := range n.Content {
		p, ok := r.credential(item, what, example, members)
		if !ok {
			continue
		}
		if slices.ContainsFunc(all, func(o gateway.Principal) bool { return o.Name == p.Name }) {
			r.Fault(item, "name each of them otherwise", "%s: %q stands here twice", what, p.Name)
		}
		if slices.ContainsFunc(all, func(o gateway.Principal) bool { return o.Secret == p.Secret }) {
			r.Fault(item, "give each of them a secret of its own", "%s: %s has the secret of another", what, p.Name)
		}
		all = append(all, p)
	}
	return all
}

func (r *configReader) credential(n *yaml.Node, what, example string, members []string) (gateway.Principal, bool) {
	p := gateway.Principal{}
	m := r.Members(n, "an element of "+what, example, members...)
	if len(m) == 0 {
		return p, false
	}
	whole := true
	for _, name := range []string{"name", "secret"} {
		if m[name] == nil {
			r.Fault(n, "write it as "+example, "an element of %s has no %s", what, name)
			whole = false
		}
	}
	if n := m["name"]; n != nil {
		var ok bool
		p.Name, ok = r.Text(n, "name", "billing-agent")
		whole = whole && ok
	}
	if n := m["secret"]; n != nil {
		secret, ok := r.secret(n, "secret", "env:BILLING_AGENT_KEY")
		p.Secret = gateway.Secret(secret)
		whole = whole && ok
	}
	if slices.Contains(members, "tenant") {
		p.Tenant = defaultTenant
	}
	if n := m["tenant"]; n != nil {
		p.Tenant, _ = r.Text(n, "tenant", "acme")
	}
	if n := m["operations"]; n != nil {
		p.Operations = r.globs(n)
	}
	return p, whole
}

func (r *configReader) globs(n *yaml.Node) []string {
	globs, nodes := r.Texts(n, "operations", `["invoice.*"]`)
	for i, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			r.Fault(nodes[i], `write it as "invoice.*"`, "operations: %q is not a pattern", g)
		}
	}
	return globs
}
