package ledger

import (
	"slices"
	"testing"
	"time"

	"agentgw"
)

var states = []agentgw.State{agentgw.StateFree, agentgw.StateClaimed, agentgw.StateInFlight, agentgw.StateSucceeded,
	agentgw.StateFailed, agentgw.StateIndeterminate, agentgw.StateVoided}

var events = []event{evClaim, evReserve, evLaunch, evRetry, evRepeat, evReserveRepeat, evRenew, evRelease, evReleaseRepeat, evReleaseRetry, evLapse, evSucceed, evFail, evDoubt,
	evResolveYes, evResolveNo, evVoid}

// TestMachine walks every state × event. The promises stand here once more, independent of the table: what may never follow what.
func TestMachine(t *testing.T) {
	for _, s := range states {
		for _, ev := range events {
			got, ok := step(agentgw.Effect{State: s}, ev)
			if !ok {
				continue
			}
			next := got.State
			refuse := func(why string) { t.Errorf("%q --%s--> %q: %s", s, ev, next, why) }
			if s == agentgw.StateInFlight && ev == evLapse && next != agentgw.StateIndeterminate {
				refuse("what may have been sent stays in doubt when its lease runs out")
			}
			if s == agentgw.StateIndeterminate && next.Free() && ev != evResolveNo && ev != evFail {
				refuse("only an operator or the attempt itself frees a doubt")
			}
			if (ev == evLaunch || ev == evClaim || ev == evRetry || ev == evRepeat) && next != agentgw.StateInFlight {
				refuse("what may be sent is in flight first")
			}
			if next == agentgw.StateInFlight && !(s.Free() || s == agentgw.StateClaimed || ev == evRetry || ev == evRepeat || ev == evRenew) {
				refuse("nothing is sent over a doubt or a success unasked")
			}
			if ev == evRenew && next != s {
				refuse("renewal changes no state")
			}
			if ev == evRenew && s == agentgw.StateIndeterminate {
				refuse("renewal never revives a doubt")
			}
			if s == agentgw.StateSucceeded && ev != evRepeat && ev != evReserveRepeat && ev != evVoid {
				refuse("a success stands until it is repeated or voided")
			}
			if (ev == evReserve || ev == evReserveRepeat) && next != agentgw.StateClaimed {
				refuse("what needs more is only claimed")
			}
			if ev == evReleaseRetry && next != agentgw.StateIndeterminate || ev == evReleaseRepeat && next != agentgw.StateSucceeded {
				refuse("what stood before a claim comes back")
			}
			if s == agentgw.StateClaimed && ev == evReleaseRetry {
				refuse("a doubt that is tried again is never only claimed")
			}
		}
	}
	for s, want := range map[agentgw.State]int{agentgw.StateFree: 2, agentgw.StateFailed: 2, agentgw.StateVoided: 2, agentgw.StateClaimed: 5,
		agentgw.StateInFlight: 8, agentgw.StateIndeterminate: 6, agentgw.StateSucceeded: 3} {
		if len(table[s]) != want {
			t.Errorf("state %q has %d events, the promises above were written for %d", s, len(table[s]), want)
		}
	}
}

// TestRecord: what is packed is read back, and what only the write could know is filled in from it.
func TestRecord(t *testing.T) {
	op := &agentgw.Operation{Rule: &agentgw.Rule{Name: "x", TTL: time.Hour, Lease: time.Minute, Attempts: &agentgw.Budget{Count: 2, Per: time.Hour}}, Tenant: "acme",
		ID:     agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, agentgw.Digest{1}), Key: agentgw.Digest{1}},
		Fields: []agentgw.Field{{Name: "id", Canon: `"7"`}, {Name: "sum", Role: agentgw.RoleMatch, Canon: `"1.5"`}}}
	e, _ := claimNext(nil, op, &agentgw.Call{Principal: "p", Context: agentgw.Context{Run: "r"}}, agentgw.Fresh, false, 99, false)
	at := time.UnixMicro(1_750_000_000_123_456).UTC()
	got, err := decodeEffect(op.ID.Partition, Record{Name: op.ID.Record(), Version: 7, At: at, Value: encodeEffect(&e)}, at)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != op.ID || got.Fence != 7 || got.Generation != 7 || !got.Claimed.Equal(at) || got.Claim != 99 || !got.Sends[0].Equal(at) {
		t.Errorf("read back: %+v", got)
	}
	done, ok := settleNext(*got, agentgw.Result{Outcome: agentgw.Succeeded, Answer: &agentgw.Answer{Status: 201,
		Header: []agentgw.Header{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}, Body: make([]byte, 5000)}})
	if !ok {
		t.Fatal("in_flight refuses to succeed")
	}
	later := at.Add(time.Second)
	got, err = decodeEffect(op.ID.Partition, Record{Name: op.ID.Record(), Version: 9, At: later, Value: encodeEffect(&done)}, later)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fence != 7 || !got.Expires.Equal(later.Add(time.Hour)) || len(got.Answer.Body) != 5000 || len(got.Answer.Header) != 2 || len(got.Fields) != 2 {
		t.Errorf("read back: %+v", got)
	}
	failed, _ := settleNext(e, agentgw.Result{Outcome: agentgw.Failed})
	if len(failed.Fields) != 1 {
		t.Errorf("a freed record holds must_match values: %v", failed.Fields)
	}
	for cut := range encodeEffect(&done) {
		_, _ = decodeEffect(op.ID.Partition, Record{Name: op.ID.Record(), Version: 9, At: later, Value: encodeEffect(&done)[:cut]}, later) // must not panic
	}
}

// TestRetryStaysInDoubt: what was sent once is never only claimed again, whichever records its next attempt must take first.
func TestRetryStaysInDoubt(t *testing.T) {
	op := &agentgw.Operation{Rule: &agentgw.Rule{Name: "x", Lease: time.Minute}}
	for _, reserve := range []bool{false, true} {
		e, ok := claimNext(&agentgw.Effect{State: agentgw.StateIndeterminate, Generation: 5, Ordinal: 1}, op, &agentgw.Call{}, agentgw.Retry, false, 1, reserve)
		if !ok || e.State != agentgw.StateInFlight || e.Generation != 5 {
			t.Errorf("reserve %v: %v, %s, generation %d", reserve, ok, e.State, e.Generation)
		}
	}
}

// TestClaimed: whatever a judgement says, the machine claims nothing that stands in the way of a claim of its kind.
func TestClaimed(t *testing.T) {
	op := &agentgw.Operation{Rule: &agentgw.Rule{Name: "x", Pattern: agentgw.Once, Lease: time.Minute}}
	over := &agentgw.Operation{Rule: &agentgw.Rule{Name: "x", Pattern: agentgw.Overwrite, Lease: time.Minute}}
	claims := func(op *agentgw.Operation, way agentgw.Way) (from []agentgw.State) {
		for _, s := range states {
			_, ok := claimNext(&agentgw.Effect{State: s}, op, &agentgw.Call{}, way, false, 1, false)
			if _, reserved := claimNext(&agentgw.Effect{State: s}, op, &agentgw.Call{}, way, false, 1, true); ok != reserved {
				t.Errorf("way %d from %s: %v, with needs elsewhere %v", way, s, ok, reserved)
			}
			if ok {
				from = append(from, s)
			}
		}
		return from
	}
	for _, c := range []struct {
		op   *agentgw.Operation
		way  agentgw.Way
		from []agentgw.State
	}{
		{op, agentgw.Fresh, []agentgw.State{agentgw.StateFree, agentgw.StateSucceeded, agentgw.StateFailed, agentgw.StateVoided}},
		{op, agentgw.Again, []agentgw.State{agentgw.StateSucceeded}},
		{op, agentgw.Retry, []agentgw.State{agentgw.StateIndeterminate}},
		{over, agentgw.Fresh, states},
	} {
		if from := claims(c.op, c.way); !slices.Equal(from, c.from) {
			t.Errorf("%s, way %d: claims %q, wanted %q", c.op.Rule.Pattern, c.way, from, c.from)
		}
	}
}
