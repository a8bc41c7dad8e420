package gateway_test

import (
	"context"
	"errors"
	"testing"

	"agentgw"
	"agentgw/ledger"
)

// ailing is a store that works, and says that it must not be relied on.
type ailing struct {
	ledger.Store
	why error
}

func (a *ailing) Health(context.Context) error { return a.why }

// TestUnsafeLedger: while the store says that it may forget, nothing guarded is sent and reads pass; once it is well, all goes on.
func TestUnsafeLedger(t *testing.T) {
	b := newBench(t)
	store := &ailing{Store: b.store, why: errors.New("it may evict")}
	g := b.gateway(store)
	do := func(tool string) agentgw.Verdict {
		return g.Do(t.Context(), &agentgw.Call{Tenant: "t", Tool: tool, Arguments: []byte(`{"id":1}`)}).Verdict
	}
	_ = g.CheckHealth(t.Context())
	if v := do("plain"); v != agentgw.Unavailable || b.tool.sends != 0 {
		t.Errorf("while the store is unsafe: %s, and %d were sent", v, b.tool.sends)
	}
	if v := do("look"); v != agentgw.Passed || b.tool.sends != 1 {
		t.Errorf("a read meanwhile: %s", v)
	}
	store.why = nil
	_ = g.CheckHealth(t.Context())
	if v := do("plain"); v != agentgw.Executed {
		t.Errorf("once it is well: %s", v)
	}
}
