package simulate

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"agentgw/canonicalize"
	"agentgw/policy"
)

const (
	exampleCases = "cases: [{name: …, max_effects: 1, operations: {…}, steps: [{at: 0s, tool: …, arguments: {…}, expect: executed}]}]"
	exampleStep  = "{at: 0s, tool: create_invoice, arguments: {…}, expect: executed}"
	exampleAt    = "0s, 1m30s, 7d"
	longest      = 100 * 365 * 24 * time.Hour
)

// Load reads one file of policy tests, with the policies it names or holds. Its only error is policy.Errors: all that is wrong with any
// of them, with file, line and column.
func Load(path string) (*Suite, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, policy.Errors{{File: path, Message: reasonOf(err)}}
	}
	f, err := policy.OpenFile(policy.Source{Name: path, Text: text})
	if err != nil {
		return nil, err
	}
	r := &reader{File: f, path: path}
	s := &Suite{File: path, cases: r.cases()}
	if err := f.Err(); err != nil {
		r.wrong = append(r.wrong, err.(policy.Errors)...)
	}
	if len(r.wrong) > 0 {
		return nil, r.wrong
	}
	return s, nil
}

func reasonOf(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// reader reads one file of cases.
type reader struct {
	*policy.File
	path  string
	file  map[string]*yaml.Node // members of the file
	env   policy.Env
	wrong policy.Errors // what is wrong with policies
}

func (r *reader) cases() []*testCase {
	r.file = r.Members(r.Root, "a file of policy tests", exampleCases, "policy", "entities", "operations", "defaults", "cases")
	if n := r.file["defaults"]; n != nil {
		r.defaults(n)
	}
	n := r.file["cases"]
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.Fault(cmpNode(n, r.Root), "write them as "+exampleCases, "the file holds no cases")
		return nil
	}
	var cases []*testCase
	for _, item := range n.Content {
		cases = append(cases, r.testCase(item))
	}
	return cases
}

// cmpNode is a, or b where there is none.
func cmpNode(a, b *yaml.Node) *yaml.Node {
	if a != nil {
		return a
	}
	return b
}

// defaults are those of the configuration under which the policy will run.
func (r *reader) defaults(n *yaml.Node) {
	m := r.Members(n, "defaults", "{zone: Asia/Tokyo, currency: JPY, region: JP}", "zone", "currency", "region")
	for name, to := range map[string]*string{"zone": &r.env.Defaults.Zone, "currency": &r.env.Defaults.Currency, "region": &r.env.Defaults.Region} {
		if m[name] != nil {
			*to, _ = r.Text(m[name], name, "a text")
		}
	}
}

func (r *reader) testCase(n *yaml.Node) *testCase {
	m := r.Members(n, "a case", "{name: …, steps: […]}", "name", "max_effects", "effects", "upstream_dedups", "policy", "entities",
		"operations", "answers", "steps")
	c := &testCase{file: r.path, line: n.Line, most: -1}
	if m["name"] == nil {
		r.Fault(n, "give it a name", "the case has no name")
	} else {
		c.name, _ = r.Text(m["name"], "name", "a text")
	}
	if n := m["max_effects"]; n != nil {
		c.most = r.count(n, "max_effects")
	}
	if n := m["effects"]; n != nil {
		c.most, c.exactly = r.count(n, "effects"), true
		if m["max_effects"] != nil {
			r.Fault(n, "keep one of them", "effects (exactly) and max_effects (at most) in one case")
		}
	}
	if n := m["upstream_dedups"]; n != nil {
		c.dedups = r.Bool(n, "upstream_dedups")
	}
	c.answers = r.answers(m["answers"])
	c.policy = r.policyOf(n, m, c.dedups)
	r.steps(c, n, m["steps"])
	return c
}

func (r *reader) count(n *yaml.Node, what string) int {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || i < 0 {
		r.Fault(n, "write a whole number", "%s cannot be %q", what, n.Value)
		return 0
	}
	return i
}

// upstream is the one that all tools belong to.
const upstream = "scripted"

// policyOf loads what a case, or else its file, says: a policy file beside it, or entities and operations. Names of tools and upstreams
// are not known here, and not checked.
func (r *reader) policyOf(n *yaml.Node, m map[string]*yaml.Node, dedups bool) *policy.Policy {
	env := r.env
	env.AllowAll = true
	env.Upstreams = map[string]policy.UpstreamFacts{upstream: {IdempotencyHeader: dedups}}
	if m["policy"] == nil && m["operations"] == nil {
		m = r.file
	}
	switch {
	case m["policy"] != nil && m["operations"] != nil:
		r.Fault(m["policy"], "keep one of them", "a policy and operations")
	case m["policy"] != nil:
		return r.policyFile(m["policy"], env)
	case m["operations"] != nil:
		p, err := policy.LoadNode(cmpNode(m["entities"], r.file["entities"]), m["operations"], r.path, env)
		r.wrongPolicy(err)
		return p
	default:
		r.Fault(n, "add policy: billing.yaml, or operations: {…}, here or to the file", "the case has no policy")
	}
	return nil
}

func (r *reader) policyFile(n *yaml.Node, env policy.Env) *policy.Policy {
	name, ok := r.Text(n, "policy", "billing.yaml")
	if !ok {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(r.path), name)
	}
	p, err := policy.LoadFiles([]string{name}, env)
	r.wrongPolicy(err)
	return p
}

// wrongPolicy notes what is wrong with a policy, once: cases share them.
func (r *reader) wrongPolicy(err error) {
	if errs, ok := err.(policy.Errors); ok {
		for _, f := range errs {
			if !slices.Contains(r.wrong, f) {
				r.wrong = append(r.wrong, f)
			}
		}
	}
}

// answers are what tools say that the gateway itself asks: {get_order: {body: {status: shipped}}}.
func (r *reader) answers(n *yaml.Node) map[string]script {
	if n == nil {
		return nil
	}
	all := map[string]script{}
	for _, p := range r.Pairs(n, "answers", "{get_order: {body: {status: shipped}}}") {
		all[p.Name] = r.script(p.Value)
	}
	return all
}

var answerWords = []string{"ok", "timeout", "reset", "refused", "ok_unsaved"}

// script reads what the upstream does with one call.
func (r *reader) script(n *yaml.Node) script {
	s := script{answer: answerOK, status: http.StatusOK, header: http.Header{}, takes: 100 * time.Millisecond}
	if n == nil {
		return s
	}
	m := r.Members(n, "upstream", "{answer: ok, takes: 33s}", "answer", "status", "headers", "body", "effect", "takes")
	if a := m["answer"]; a != nil {
		status, isStatus := strings.CutPrefix(a.Value, "http_")
		if isStatus && m["status"] != nil {
			r.Fault(m["status"], "keep one of them", "answer: %s and a status", a.Value)
		} else if isStatus {
			s.status = r.status(a, status)
		} else {
			s.answer = answerKind(r.Word(a, "answer", "ok", answerWords...))
		}
	}
	if n := m["status"]; n != nil {
		s.status = r.status(n, n.Value)
	}
	s.header = r.headers(m["headers"])
	if n := m["body"]; n != nil {
		s.body = r.body(n, s.header)
	}
	if n := m["effect"]; n != nil {
		effect := r.Bool(n, "effect")
		s.effect = &effect
	}
	if n := m["takes"]; n != nil {
		s.takes = r.Duration(n, "takes", 0, longest)
	}
	return s
}

func (r *reader) status(n *yaml.Node, text string) int {
	status, err := strconv.Atoi(text)
	if err != nil || status < 200 || status > 599 {
		r.Fault(n, "write an answer like http_503", "%s is no status of an answer", n.Value)
		return http.StatusOK
	}
	return status
}

// headers are never nil. A list is a header with several lines.
func (r *reader) headers(n *yaml.Node) http.Header {
	h := http.Header{}
	if n == nil {
		return h
	}
	for _, p := range r.Pairs(n, "headers", "{Location: /invoices/7}") {
		values := []*yaml.Node{p.Value}
		if p.Value.Kind == yaml.SequenceNode {
			values = p.Value.Content
		}
		for _, v := range values {
			if text, ok := r.Text(v, "header "+p.Name, "a text"); ok {
				h.Add(p.Name, text)
			}
		}
	}
	return h
}

// body is the text of a scalar, or the JSON of a list or a map; what it is is declared where the test does not.
func (r *reader) body(n *yaml.Node, h http.Header) []byte {
	kind, body := "text/plain; charset=utf-8", []byte(n.Value)
	if n.Kind != yaml.ScalarNode {
		kind, body = "application/json", r.json(n)
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", kind)
	}
	return body
}

// json is the JSON text of a node: its scalars keep their digits.
func (r *reader) json(n *yaml.Node) []byte {
	v, _ := r.JSON(n)
	if v.Kind == canonicalize.Null && n.Kind != yaml.ScalarNode {
		return nil // it has been refused
	}
	return v.AppendJSON([]byte{})
}

// steps reads the steps of a case.
func (r *reader) steps(c *testCase, at, n *yaml.Node) {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.Fault(cmpNode(n, at), "write them as ["+exampleStep+"]", "the case has no steps")
		return
	}
	ids := map[string]*step{}
	var last time.Duration
	for i, item := range n.Content {
		s := r.step(c, item, ids)
		s.number = i + 1
		if s.at < last {
			r.Fault(item, "put the steps into their order", "step %d happens before step %d", i+1, i)
		}
		last = s.at
		if _, taken := ids[s.id]; taken && s.id != "" {
			r.Fault(item, "give each its own", "a second step with id %s", s.id)
		}
		ids[s.id] = s
		c.steps = append(c.steps, s)
	}
}

// known are the ids of earlier steps, for messages.
func known(ids map[string]*step) []string {
	names := slices.Sorted(maps.Keys(ids))
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}
