package gateway

import (
	"fmt"
	"testing"
)

// In an auto-guarded call every argument is identity: none of them may be listed as ignored, however it was written.
func TestIgnoredIsNoIdentity(t *testing.T) {
	h := openHouse(t, nil)
	h.gateway.Unmatched = "auto"
	h.gateway.Tools["add_note"] = &Tool{Name: "add_note", Upstream: "billing", Path: "/notes"}
	h.gateway.Tools["add_tags"] = &Tool{Name: "add_tags", Upstream: "billing", Path: "/tags",
		Input: []byte(`{"type": "object", "properties": {"text": {"type": "array", "items": {"type": "string"}}}}`)}
	for _, tool := range []string{"add_note", "add_tags"} {
		for i, text := range []string{`["hello", "hello"]`, `["hello", " hello"]`} {
			_, v := h.call(t, "/v1/calls", fmt.Sprintf(`{"tool": %q, "arguments": {"text": %s, "more": {"b": 1, "a": 2}}}`, tool, text))
			if want := []string{"executed", "replayed"}[i]; v.Decision != want || len(v.Ignored) != 0 {
				t.Errorf("%s %s: %s, ignored %s", tool, text, v.Decision, v.Ignored)
			}
		}
	}
	// What no field reads is still listed.
	h.call(t, "/v1/calls", `{"tool": "ship_order", "arguments": {"order": "A-1", "memo": "one"}}`)
	if _, v := h.call(t, "/v1/calls", `{"tool": "ship_order", "arguments": {"order": "a-1", "memo": "two"}}`); len(v.Ignored) != 1 || string(v.Ignored["memo"][1]) != `"two"` {
		t.Errorf("%s", v.Ignored)
	}
}
