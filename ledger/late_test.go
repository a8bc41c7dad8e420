package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/policy"
)

// between runs once, before the next swap that writes.
type between struct {
	ledger.Store
	do atomic.Pointer[func()]
}

func (b *between) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	if !swaps[0].Changes[0].Look {
		if do := b.do.Swap(nil); do != nil {
			(*do)()
		}
	}
	return b.Store.Swap(ctx, swaps...)
}

type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time         { return time.Unix(1e9, 0).Add(time.Duration(c.passed.Load())) }
func (c *clock) after(d time.Duration)  { c.passed.Add(int64(d)) }
func (b *between) beforeNext(do func()) { b.do.Store(&do) }
func succeeded(body string) agentgw.Result {
	return agentgw.Result{Outcome: agentgw.Succeeded, Answer: &agentgw.Answer{Status: 200, Body: []byte(body)}}
}

func open(t *testing.T) (*ledger.Ledger, *between, *clock) {
	c := &clock{}
	b := &between{Store: memstore.New(memstore.Options{Now: c.now})}
	t.Cleanup(func() { b.Close() })
	return ledger.New(b), b, c
}

func claim(t *testing.T, l *ledger.Ledger) *ledger.Claim {
	t.Helper()
	rule := &agentgw.Rule{Name: "bill.pay", Pattern: agentgw.Once, TTL: time.Hour, Lease: time.Minute}
	key := agentgw.Digest{1}
	op := &agentgw.Operation{Rule: rule, Tenant: "acme", ID: agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, key), Key: key}, Digest: key}
	f, err := l.Claim(t.Context(), ledger.Ask{Op: op, Call: &agentgw.Call{Tenant: "acme", Nonce: "n"}, Judge: policy.Judge})
	if err != nil || f.Claim == nil {
		t.Fatalf("claim: %v, %v", f.Verdict, err)
	}
	return f.Claim
}

// A heartbeat that crosses with the report must not make it a stale one.
func TestReportCrossesWithRenewal(t *testing.T) {
	l, store, _ := open(t)
	e := claim(t, l).Effect
	store.beforeNext(func() {
		if _, err := l.RenewFence(t.Context(), e.ID, e.Fence); err != nil {
			t.Errorf("renew: %v", err)
		}
	})
	done, err := l.SettleFence(t.Context(), e.ID, e.Fence, succeeded("1"))
	if err != nil || done.State != agentgw.StateSucceeded {
		t.Fatalf("the report: %v, %v", done, err)
	}
}

// The claim of one attempt outlives what the late writer of an earlier one says.
func TestEvidenceEndsNoRenewal(t *testing.T) {
	l, _, c := open(t)
	first := claim(t, l)
	c.after(2 * time.Minute)
	if _, err := l.Resolve(t.Context(), first.Effect.ID, 0, agentgw.Failed, nil, "ops", "not there"); err != nil {
		t.Fatal(err)
	}
	second := claim(t, l)
	if _, err := l.Settle(t.Context(), first, succeeded("1")); !errors.Is(err, ledger.ErrStale) {
		t.Fatalf("the late writer: %v", err)
	}
	for range 3 {
		c.after(40 * time.Second)
		if err := l.Renew(t.Context(), second); err != nil {
			t.Fatalf("renew: %v", err)
		}
	}
	if e, err := l.Settle(t.Context(), second, succeeded("2")); err != nil || string(e.Answer.Body) != "2" || len(e.Evidence) != 1 {
		t.Fatalf("%v, %v", e, err)
	}
}

// However often a wrong fence reports, the lease of a dead attempt runs out.
func TestEvidenceStartsNoLease(t *testing.T) {
	l, _, c := open(t)
	e := claim(t, l).Effect
	for range 12 {
		c.after(50 * time.Second)
		if _, err := l.SettleFence(t.Context(), e.ID, e.Fence+7, succeeded("1")); !errors.Is(err, ledger.ErrStale) {
			t.Fatalf("a wrong fence: %v", err)
		}
	}
	if now, err := l.Get(t.Context(), e.ID); err != nil || now.State != agentgw.StateIndeterminate && !now.Lapsed(now.Now) {
		t.Fatalf("after ten minutes it is %v, %v", now, err)
	}
}

// After an operator's word the attempt's own is evidence, also where both say the same: whoever looks later sees that it came.
func TestOperatorsWordStands(t *testing.T) {
	for _, word := range []agentgw.Outcome{agentgw.Succeeded, agentgw.Failed} {
		l, _, c := open(t)
		attempt := claim(t, l)
		c.after(2 * time.Minute)
		if _, err := l.Resolve(t.Context(), attempt.Effect.ID, 0, word, nil, "ops", "looked"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Settle(t.Context(), attempt, agentgw.Result{Outcome: word, Answer: &agentgw.Answer{Status: 200, Body: []byte("late")}}); !errors.Is(err, ledger.ErrStale) {
			t.Errorf("%s twice: %v, and not stale", word, err)
		}
		e, err := l.Get(t.Context(), attempt.Effect.ID)
		if err != nil || string(e.State) != string(word) || len(e.Evidence) != 1 || e.Answer != nil {
			t.Errorf("after the late %s: %+v, %v", word, e, err)
		}
	}
}

// Evidence says what is true of it: a fence that is not the running attempt's is not called late.
func TestEvidenceWords(t *testing.T) {
	l, _, _ := open(t)
	attempt := claim(t, l)
	e := attempt.Effect
	said := func(fence uint64, word agentgw.Outcome) string {
		t.Helper()
		if _, err := l.SettleFence(t.Context(), e.ID, fence, agentgw.Result{Outcome: word}); !errors.Is(err, ledger.ErrStale) {
			t.Fatalf("%v, and not stale", err)
		}
		now, err := l.Get(t.Context(), e.ID)
		if err != nil || len(now.Evidence) == 0 {
			t.Fatalf("%v, %v", now, err)
		}
		return now.Evidence[len(now.Evidence)-1]
	}
	if text := said(e.Fence+7, agentgw.Succeeded); !strings.HasSuffix(text, "ended as succeeded, but that is not the latest attempt's fence: it does not count") {
		t.Error(text)
	}
	if _, err := l.Settle(t.Context(), attempt, succeeded("1")); err != nil {
		t.Fatal(err)
	}
	if text := said(e.Fence, agentgw.Failed); !strings.HasSuffix(text, "ended as failed, after this attempt was settled: it does not count") {
		t.Error(text)
	}
}
