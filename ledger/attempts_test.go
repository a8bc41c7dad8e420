package ledger_test

import (
	"errors"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
	"agentgw/policy"
)

// The record of a success whose retention is over stays for as long as its sends count, without the answer, and answers nobody.
func TestAttemptsOutliveTheSuccess(t *testing.T) {
	l, _, c := open(t)
	rule := &agentgw.Rule{Name: "report.mail", Pattern: agentgw.Once, TTL: time.Minute, Lease: time.Minute, Attempts: &agentgw.Budget{Count: 2, Per: 3 * time.Hour}}
	key := agentgw.Digest{1}
	op := &agentgw.Operation{Rule: rule, Tenant: "acme", ID: agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, key), Key: key}, Digest: key}
	ask := func() ledger.Finding {
		t.Helper()
		f, err := l.Claim(t.Context(), ledger.Ask{Op: op, Call: &agentgw.Call{Tenant: "acme"}, Judge: policy.Judge})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for n := range 2 {
		f := ask()
		if f.Claim == nil || len(f.Effect.Sends) != n+1 {
			t.Fatalf("send %d: %s, %d counted", n+1, f.Verdict, len(f.Effect.Sends))
		}
		if _, err := l.Settle(t.Context(), f.Claim, succeeded("sent")); err != nil {
			t.Fatal(err)
		}
		if f := ask(); f.Verdict != agentgw.Replayed || string(f.Effect.Answer.Body) != "sent" {
			t.Fatalf("within ttl: %s", f.Verdict)
		}
		c.after(2 * time.Minute)
		if e, err := l.Get(t.Context(), op.ID); err != nil || e.Answer != nil {
			t.Fatalf("after ttl: %+v, %v", e, err)
		}
	}
	for range 2 {
		if f := ask(); f.Verdict != agentgw.Blocked || f.Reason != agentgw.ReasonLimit {
			t.Fatalf("the third: %s %s", f.Verdict, f.Reason)
		}
		c.after(174 * time.Minute / 2)
	}
	c.after(10 * time.Minute)
	if _, err := l.Get(t.Context(), op.ID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("when nothing counts any more: %v", err)
	}
	if f := ask(); f.Claim == nil {
		t.Errorf("when nothing counts any more: %s", f.Verdict)
	}
}
