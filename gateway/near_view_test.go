package gateway

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentgw"
)

// An executed effect says why it was no duplicate of the nearest earlier one, to its tenant and to operators.
func TestNearIsShown(t *testing.T) {
	h := openHouse(t, Principals{{Name: "a", Secret: "s1", Tenant: "red"}, {Name: "b", Secret: "s2", Tenant: "blue"}})
	invoice := func(secret, period string) string {
		_, v := h.call(t, "/v1/calls", `{"tool": "create_invoice", "arguments": {"customer_id": 7, "period": "`+period+`", "amount": 1200}}`, "Agentgw-Key: "+secret)
		if v.Decision != "executed" {
			t.Fatalf("%+v", v)
		}
		return v.Effect.ID
	}
	invoice("s2", "2026-04") // another tenant's is near nobody
	first := invoice("s1", "2026-04")
	second := invoice("s1", "2026-05")
	want := `"near":{"effect":"` + first + `","fields":{"period":["2026-04","2026-05"]}}`
	_, own := ask(t, "GET", h.agents.URL+"/v1/effects/"+second, "", "Agentgw-Key: s1")
	_, operators := ask(t, "GET", h.operators.URL+"/v1/effects/"+second, "", "Agentgw-Key: ops")
	for door, body := range map[string]string{"agents": own, "operators": operators} {
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s lacks %s", door, body, want)
		}
	}
	if _, body := ask(t, "GET", h.agents.URL+"/v1/effects/"+first, "", "Agentgw-Key: s1"); strings.Contains(body, `"near"`) {
		t.Errorf("the first effect is near one: %s", body)
	}
	if _, list := ask(t, "GET", h.operators.URL+"/v1/effects?tenant=red", "", "Agentgw-Key: ops"); !strings.Contains(list, `"fields":{"period":null}`) {
		t.Errorf("the list does not name what differs: %s", list)
	}
	if _, body := ask(t, "GET", h.agents.URL+"/v1/effects/"+second, "", "Agentgw-Key: s2"); strings.Contains(body, "near") {
		t.Errorf("another tenant sees %s", body)
	}
}

func TestNearView(t *testing.T) {
	field := func(name, canon string) agentgw.Field { return agentgw.Field{Name: name, Canon: canon} }
	effect := func(tenant string, fields ...agentgw.Field) *agentgw.Effect {
		return &agentgw.Effect{ID: someID(1), Tenant: tenant, Operation: "o", Fields: fields}
	}
	this := effect("red", field("a", `"1"`), field("b", ""), field("c", "sha256:00"))
	this.NearTo = &agentgw.Near{ID: someID(2), Fields: []string{"a", "b", "c", "d"}}
	other := effect("red", field("a", `"2"`), field("b", "5"), field("c", `{"x":1}`), field("d", "1"))
	names := `{"a":null,"b":null,"c":null,"d":null}`
	for _, c := range []struct {
		name   string
		nearer *agentgw.Effect
		err    error
		want   string
	}{
		{"kept", other, nil, `{"a":["2","1"],"b":[5,null],"c":[{"x":1},"sha256:00"],"d":null}`},
		{"gone", nil, errors.New("gone"), names},
		{"another tenant's", effect("blue", other.Fields...), nil, names},
		{"freed, or claimed anew with the same values", effect("red", field("a", `"1"`)), nil, names},
	} {
		b, err := json.Marshal(newNearView(this, func(id agentgw.EffectID) (*agentgw.Effect, error) {
			if id != someID(2) {
				t.Errorf("%s was read", id)
			}
			return c.nearer, c.err
		}))
		if want := `{"effect":"` + someID(2).String() + `","fields":` + c.want + `}`; err != nil || string(b) != want {
			t.Errorf("%s: %s, %v; want %s", c.name, b, err, want)
		}
	}
	if newNearView(other, nil) != nil {
		t.Error("an effect that is near none has a view of one")
	}
}
