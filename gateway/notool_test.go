package gateway

import (
	"strings"
	"testing"
)

// Who calls what is no tool is told the nearest one that it may use, or how an action of its own is begun.
func TestNoTool(t *testing.T) {
	h := openHouse(t, Principals{{Name: "biller", Secret: "s1", Operations: []string{"invoice.*"}}})
	for _, c := range []struct{ path, body, detail string }{
		{"/v1/calls", `{"tool": "create_invoce"}`, `There is no tool "create_invoce". Did you mean create_invoice? GET /v1/tools lists them.`},
		{"/v1/calls", `{"tool": "ship_orders"}`, `There is no tool "ship_orders". GET /v1/tools lists them.`}, // ship_order is not its business
		{"/v1/effects", `{"tool": "click_submit", "nonce": "n"}`, "ask an operator for `click_submit: {upstream: none}` under tools"},
	} {
		if res, v := h.call(t, c.path, c.body, "Authorization: Bearer s1"); res.StatusCode != 400 || !strings.Contains(v.Detail, c.detail) {
			t.Errorf("%s: %d %s", c.body, res.StatusCode, v.Detail)
		}
	}
	delete(h.gateway.Tools, "ship_order") // guarded, and no tool: its caller does it
	if res, v := h.call(t, "/v1/calls", `{"tool": "ship_order"}`, "Authorization: Bearer s1"); res.StatusCode != 400 || !strings.Contains(v.Detail, "begin it with POST /v1/effects") {
		t.Errorf("%d %s", res.StatusCode, v.Detail)
	}
}
