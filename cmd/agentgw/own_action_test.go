package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnAction: an action that callers do themselves is declared with upstream: none. A policy may name it and it can be begun; it is
// neither listed nor sent.
func TestOwnAction(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agentgw.yaml": "ledger: \"memory:\"\npolicies: [policy.yaml]\ntools:\n  click_submit: {upstream: none, description: The robot presses Submit itself}\n",
		"policy.yaml":  "version: 1\noperations:\n  form.submit: {tools: [click_submit], key: {form: id}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := loadConfig(filepath.Join(dir, "agentgw.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.open(io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.close() })
	s := httptest.NewServer(in.agents())
	t.Cleanup(s.Close)
	ask := func(method, path, body, want string) {
		t.Helper()
		req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); !strings.Contains(string(text), want) {
			t.Errorf("%s %s: %d %s, wanted %s", method, path, res.StatusCode, text, want)
		}
	}
	const args = `"tool": "click_submit", "arguments": {"form": 7}`
	ask("POST", "/v1/effects", `{`+args+`, "nonce": "r-1"}`, `"decision":"claimed"`)
	ask("POST", "/v1/effects", `{`+args+`, "nonce": "r-2"}`, `"decision":"in_flight"`)
	ask("POST", "/v1/calls", `{`+args+`}`, `"decision":"rejected"`)
	ask("GET", "/v1/tools", "", "[]")
}
