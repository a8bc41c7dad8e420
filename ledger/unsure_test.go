package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/ledger/storetest"
	"agentgw/policy"
)

// TestUnsureClaim: the answer to a claim is lost, and the store cannot be reached when it is asked again. That the second try wrote nothing
// says nothing of the first: the claim has to be withdrawn, else nobody can do the effect until its lease lapses into a doubt.
func TestUnsureClaim(t *testing.T) {
	store := &storetest.Faulty{Store: memstore.New(memstore.Options{}),
		After: func(call int) error {
			if call == 1 {
				return errors.New("the answer was lost")
			}
			return nil
		},
		Before: func(call int) error {
			if call == 2 {
				return fmt.Errorf("nobody listens: %w", ledger.ErrNotApplied)
			}
			return nil
		}}
	l := ledger.New(store)
	ask := func() ledger.Ask {
		rule := &agentgw.Rule{Name: "bill.pay", Pattern: agentgw.Once, TTL: time.Hour, Lease: time.Minute}
		key := agentgw.Digest{1}
		op := &agentgw.Operation{Rule: rule, Tenant: "acme", Digest: key,
			ID: agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, key), Key: key}}
		return ledger.Ask{Op: op, Call: &agentgw.Call{Tenant: "acme"}, Judge: policy.Judge}
	}
	_, err := l.Claim(t.Context(), ask())
	var unsure *ledger.Unsure
	if !errors.As(err, &unsure) {
		t.Fatalf("the claim may stand, and the error does not say so: %v", err)
	}
	if f, err := l.Claim(t.Context(), ask()); err != nil || f.Verdict != agentgw.InFlight {
		t.Errorf("before it is withdrawn: %v, %v", f.Verdict, err)
	}
	if err := unsure.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, err := l.Claim(t.Context(), ask()); err != nil || f.Verdict != agentgw.Executed {
		t.Errorf("after it was withdrawn: %v, %v", f.Verdict, err)
	}
}
