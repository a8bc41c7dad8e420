package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestIdentify(t *testing.T) {
	s := serve(t, &scriptedFlow{}, DoorConfig{Principals: Principals{{Name: "a", Secret: "sa", Tenant: "x"}, {Name: "b", Secret: "sb", Tenant: "y"},
		{Name: "empty", Secret: "", Tenant: "z"}}})
	for _, c := range []struct {
		header []string
		status int
	}{
		{[]string{"Authorization: Bearer sa"}, 200},
		{[]string{"Authorization: bearer  sb"}, 200},
		{[]string{"Agentgw-Key: sb"}, 200},
		{[]string{"Agentgw-Key: sb", "Authorization: Basic eDp5"}, 200},
		{[]string{"Agentgw-Key: wrong", "Authorization: Bearer sa"}, 401},
		{[]string{"Agentgw-Key: sa", "Agentgw-Key: sb"}, 401},
		{[]string{"Authorization: Bearer sa", "Authorization: Bearer sb"}, 401},
		{[]string{"Authorization: Bearer SA"}, 401},
		{[]string{"Authorization: Basic sa"}, 401},
		{[]string{"Authorization: Bearer "}, 401},
		{[]string{"Agentgw-Key: "}, 401},
		{nil, 401},
	} {
		res, body := ask(t, "POST", s.URL+"/v1/calls", `{"tool": "create_invoice"}`, c.header...)
		if res.StatusCode != c.status {
			t.Errorf("%v: %d %s", c.header, res.StatusCode, body)
		}
		if c.status == 401 && (res.Header.Get("WWW-Authenticate") == "" || !strings.Contains(body, `"decision":"denied"`) || !strings.Contains(body, "no valid secret")) {
			t.Errorf("%v: %v %s", c.header, res.Header, body)
		}
	}
}

func TestAllowed(t *testing.T) {
	ps := Principals{{Name: "a", Operations: []string{"invoice.*", "order.approve"}}, {Name: "b"}}
	for _, c := range []struct {
		principal, operation string
		want                 bool
	}{
		{"a", "invoice.issue", true}, {"a", "order.approve", true}, {"a", "order.ship", false}, {"a", "invoices.issue", false},
		{"b", "order.ship", true}, {"c", "invoice.issue", false}, {"", "invoice.issue", false},
	} {
		if got := ps.Allowed(c.principal, c.operation); got != c.want {
			t.Errorf("%s may do %s: %v", c.principal, c.operation, got)
		}
	}
	if !(Principals{}).Allowed("", "invoice.issue") {
		t.Error("without principals everybody may")
	}
}

func TestSecretsHide(t *testing.T) {
	p := Principal{Name: "a", Secret: "hush"}
	js, _ := json.Marshal(p)
	if all := fmt.Sprintf("%v %+v %#v %s %q %s", p, p, p, p.Secret, p.Secret, js); strings.Contains(all, "hush") {
		t.Error(all)
	}
	var h http.Header
	if presented(h) != "" {
		t.Error("no header, no secret")
	}
}
