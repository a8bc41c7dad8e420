package ledger_test

import (
	"errors"
	"testing"

	"agentgw"
	"agentgw/ledger"
)

// A judgement that would overtake a running attempt, or do a doubt or a success anew, claims nothing: the machine has the last word.
func TestJudgementThatErrs(t *testing.T) {
	l, _, _ := open(t)
	c := claim(t, l)
	op := &agentgw.Operation{Rule: &agentgw.Rule{Name: "bill.pay", Pattern: agentgw.Once}, Tenant: "acme", ID: c.Effect.ID, Digest: c.Effect.Digest}
	erring := func(way agentgw.Way) error {
		_, err := l.Claim(t.Context(), ledger.Ask{Op: op, Call: &agentgw.Call{Tenant: "acme"},
			Judge: func(_ *agentgw.Operation, _ *agentgw.Call, m *agentgw.Remembered) agentgw.Judgement {
				if m.Own == nil {
					return agentgw.Judgement{Verdict: agentgw.Executed}
				}
				return agentgw.Judgement{Verdict: agentgw.Executed, Way: way}
			}})
		return err
	}
	refused := func(ways ...agentgw.Way) {
		t.Helper()
		for _, way := range ways {
			if err := erring(way); !errors.Is(err, ledger.ErrNotApplied) {
				t.Errorf("way %d: %v", way, err)
			}
		}
		if e, err := l.Get(t.Context(), c.Effect.ID); err != nil || e.Claim != c.Claim() {
			t.Errorf("another has the effect: %+v, %v", e, err)
		}
	}
	refused(agentgw.Fresh, agentgw.Again, agentgw.Retry)
	if _, err := l.Settle(t.Context(), c, agentgw.Result{Outcome: agentgw.Indeterminate}); err != nil {
		t.Fatal(err)
	}
	refused(agentgw.Fresh, agentgw.Again)
	if _, err := l.Settle(t.Context(), c, succeeded("1")); err != nil {
		t.Fatal(err)
	}
	refused(agentgw.Retry)
}
