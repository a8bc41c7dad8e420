package simulate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/ledger"
)

// An element of a batch under way has no lease of its own: an operator who looks at it long after that cannot free it.
func TestElements(t *testing.T) {
	const text = `
operations: {mail.send: {tools: [send], each: to, key: {to: {type: id, arg: item}}, lease: 30s}}
cases:
- name: c
  effects: 2
  steps:
  - {at: 0s, tool: send, arguments: {to: [a, b]}, upstream: {takes: 5m}, expect: {decision: executed, outcome: succeeded}}
  - {at: 2m, event: pause}
  - {at: 2m, event: resume}
  - {at: 3m, tool: send, arguments: {to: [b]}, expect: in_flight}
  - {at: 6m, tool: send, arguments: {to: [b]}, expect: replayed}
`
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	resume := events["resume"]
	defer func() { events["resume"] = resume }()
	looked := false
	events["resume"] = func(w *world, about *subject) error {
		looked = true
		args, _, err := canonicalize.ParseArguments([]byte(`{"to":["a","b"]}`), nil, nil)
		if err != nil {
			return err
		}
		def := w.rules.Operations[0]
		op, err := def.Spec.Operation(&def.Rule, &agentgw.Call{Tenant: "default", Tool: "send"}, args)
		if err != nil {
			return err
		}
		var refused *ledger.Refused
		_, err = w.operator().Resolve(context.Background(), op.Elements[1].ID, 0, agentgw.Failed, nil, "operator", "")
		if !errors.As(err, &refused) {
			t.Errorf("resolving an element: %v", err)
		}
		return resume(w, about)
	}
	results, err := s.Run(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !looked || !results[0].OK {
		t.Error(results[0].Failures)
	}
}
