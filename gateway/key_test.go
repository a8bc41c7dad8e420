package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// A caller's key in the header is the caller's key, and must not contradict the body.
func TestKeyInTheHeader(t *testing.T) {
	h := openHouse(t, nil)
	call := func(order, more string) string {
		return fmt.Sprintf(`{"tool": "ship_order", "arguments": {"order": %q}%s}`, order, more)
	}
	if _, v := h.call(t, "/v1/calls", call("A-1", ""), "Idempotency-Key: k"); v.Decision != "executed" {
		t.Fatalf("%+v", v)
	}
	if _, v := h.call(t, "/v1/calls", call("A-2", ""), "Idempotency-Key: k"); v.Decision != "conflict" {
		t.Errorf("another call with the key: %s", v.Decision)
	}
	if _, v := h.call(t, "/v1/effects", call("A-3", `, "nonce": "n"`), "Idempotency-Key: k"); v.Decision != "conflict" {
		t.Errorf("an action with the key: %s", v.Decision)
	}
	if _, v := h.call(t, "/v1/calls", call("A-1", `, "idempotency_key": "k"`), "Idempotency-Key: k"); v.Decision != "replayed" {
		t.Errorf("the same key twice: %s", v.Decision)
	}
	for _, path := range []string{"/v1/calls", "/v1/effects"} {
		res, v := h.call(t, path, call("A-4", `, "idempotency_key": "k1", "nonce": "n"`), "Idempotency-Key: k2")
		if res.StatusCode != 400 || !strings.Contains(v.Detail, `"k1"`) || !strings.Contains(v.Detail, `"k2"`) {
			t.Errorf("%s: %d %s", path, res.StatusCode, v.Detail)
		}
	}
	if h.effects() != 1 {
		t.Errorf("%d effects", h.effects())
	}
}
