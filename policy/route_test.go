package policy_test

import (
	"maps"
	"strings"
	"testing"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/policy"
)

// No spelling of a path slips by a guard.
func TestPatternMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          map[string]string // nil: no match
	}{
		{"/customers/{id}/invoices", "/customers/7/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/7/invoices/", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "//customers///7/invoices//", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/./customers/x/../7/invoices/.", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/../customers/7/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/%63ustomers/7/%69nvoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/%37/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/7/x/%2e%2e/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/7/%2E/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers%2F7%2finvoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/7%2Finvoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", `/customers/7\invoices`, map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/7%5Cinvoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/7/invoices;jsessionid=1", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers;v=2/7/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/a//../7/invoices", map[string]string{"id": "7"}},
		{"/customers/{id}/invoices", "/customers/%E9%A1%A7/invoices", map[string]string{"id": "顧"}},
		{"/customers/{id}/invoices", "/customers/a%2Fb/invoices", map[string]string{"id": "a/b"}},
		{"/customers/{id}/invoices", "/customers/a%3Bb/invoices", map[string]string{"id": "a;b"}},
		{"/customers/{id}/invoices", "/customers/100%25/invoices", map[string]string{"id": "100%"}},
		{"/customers/{id}/invoices", "/customers//invoices", nil},
		{"/customers/{id}/invoices", "/customers/7/8/invoices", nil},
		{"/customers/{id}/invoices", "/customers/7/Invoices", nil},
		{"/customers/{id}/invoices", "/customers/7/invoices/9", nil},
		{"/customers/{id}/invoices", "/customers/7%/invoices", nil},
		{"/orders/{id}:cancel", "/orders/7:cancel", map[string]string{"id": "7"}},
		{"/orders/{id}:cancel", "/orders/7%3Acancel", map[string]string{"id": "7"}},
		{"/orders/{id}:cancel", "/orders/:cancel", nil},
		{"/orders/{id}:cancel", "/orders/7", nil},
		{"/v{n}/x", "/v2/x", map[string]string{"n": "2"}},
		{"/a%20b/{x}", "/a b/1", map[string]string{"x": "1"}},
		{"/", "", map[string]string{}},
		{"/", "/", map[string]string{}},
		{"/", "/x/..", map[string]string{}},
	} {
		p, err := policy.ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		got, ok := p.Match(c.path)
		if ok != (c.want != nil) || !maps.Equal(got, c.want) {
			t.Errorf("%s on %s: got %v, %v, want %v", c.pattern, c.path, got, ok, c.want)
		}
	}
}

func TestParseRoute(t *testing.T) {
	for s, want := range map[string]string{
		"POST /billing/customers/{id}": "POST /billing/customers/{id}",
		"ANY /billing":                 "* /billing/",
		"*  /billing/x/":               "* /billing/x/",
	} {
		if r, err := policy.ParseRoute(s); err != nil || r.String() != want {
			t.Errorf("%s: got %s, %v", s, r, err)
		}
	}
	for _, s := range []string{"", "POST", "/billing/x", "post /billing/x", "POST billing/x", "POST /", "POST /{u}/x", "POST /b/x?y=1", "POST /b/{x}{y}",
		"POST /b/{}", "POST /b/{x}/{x}", "POST /b/x}", "POST /b/%zz", "POST /b/ x"} {
		if r, err := policy.ParseRoute(s); err == nil {
			t.Errorf("%q is read as %+v", s, r)
		}
	}
}

func call(method, path string) *agentgw.Call {
	return &agentgw.Call{Request: &agentgw.Request{Upstream: "u", Method: method, Path: path}}
}

func TestMatchRoutes(t *testing.T) {
	p := mustLoad(t, `
pay: {http: ["POST /u/orders/{id}/pay"], key: {id: id}}
note: {http: ["POST /u/orders/{note}"], pattern: unguarded}
list: {http: ["GET /u/orders"], pattern: read}
all: {http: ["ANY /u/any"], key: {x: id}}
both: {tools: [both], http: ["PUT /u/both"], key: {x: id}}
`)
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/orders/7/pay", "pay"},
		{"POST", "/orders/7/pay/", "pay"},
		{"POST", "/orders/7", "note"},
		{"GET", "/orders/", "list"},
		{"GET", "/orders/7/pay", ""},
		{"PATCH", "/any", "all"},
		{"PUT", "/both", "both"},
		{"POST", "/orders/7%2Fpay", "note and pay"}, // two readings, two operations: neither may be passed by
		{"POST", "/orders/%zz/pay", "not a path"},
		{"POST", "/orders/%ff/pay", "not a path"},
	} {
		o, err := p.Match(call(c.method, c.path), canonicalize.Value{})
		switch {
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %s: %v", c.method, c.path, err)
		case err == nil && o == nil && c.want != "", err == nil && o != nil && o.Name != c.want:
			t.Errorf("%s %s: got %v, want %s", c.method, c.path, o, c.want)
		}
		if _, ok := err.(*canonicalize.Error); err != nil && !ok {
			t.Errorf("%s %s: the error is a %T", c.method, c.path, err)
		}
	}
	named := call("PUT", "/both")
	named.Tool = "both" // the door knows the tool's own route
	if o, err := p.Match(named, canonicalize.Value{}); err != nil || o.Name != "both" {
		t.Errorf("by tool and route: %v, %v", o, err)
	}
	if ops, params, err := p.MatchRoute("POST", "u", "/orders/a%20b/pay"); err != nil || len(ops) != 1 || params["id"] != "a b" {
		t.Errorf("parameters: %v %v %v", ops, params, err)
	}
	if ops, _, err := p.MatchRoute("POST", "other", "/orders/7/pay"); err != nil || len(ops) != 0 {
		t.Errorf("another upstream: %v %v", ops, err)
	}
}

// A route also guards the tool that it is the route of, called by name.
func TestMatchToolOfRoute(t *testing.T) {
	env := policy.Env{Routes: map[string]policy.Route{
		"pay_order": {Upstream: "u", Path: "/orders/{order_id}/pay"},
		"get_order": {Method: "GET", Upstream: "u", Path: "/orders/{order_id}/pay"},
		"pay_seven": {Method: "POST", Upstream: "u", Path: "/orders/7/pay"},
		"pay_any":   {Method: "POST", Upstream: "u", Path: "/{what}/7/pay"},
	}}
	p, err := load(t, `pay: {http: ["POST /u/orders/{id}/pay"], key: {id: {type: id, arg: [id, order_id]}}}`, env)
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{"pay_order": true, "get_order": false, "pay_seven": true, "pay_any": false} {
		o, err := p.Match(&agentgw.Call{Tool: tool}, canonicalize.Value{})
		if err != nil || (o != nil) != want {
			t.Errorf("%s: got %v, %v", tool, o, err)
		}
	}
}
