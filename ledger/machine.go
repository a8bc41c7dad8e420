package ledger

import (
	"fmt"
	"slices"
	"time"

	"agentgw"
)

// event is what can happen to an effect. Table says in which states it may, and where it leads; the functions below add what is written
// beside the state. Both are pure: the table draws docs/ledger.md, and its test walks every state × event.
type event string

const (
	evClaim         event = "claim"   // one partition: straight to in_flight
	evReserve       event = "reserve" // several partitions: claimed first
	evLaunch        event = "launch"  // all partitions are held: now it may be sent
	evRetry         event = "retry"   // a doubt, tried again under the same upstream key
	evRepeat        event = "repeat"  // over a success, which stays behind it
	evReserveRepeat event = "reserve to repeat"
	evRenew         event = "renew"   // the lease starts again
	evRelease       event = "release" // refused elsewhere, or known not to stand: nothing was sent, and what stood before comes back
	evReleaseRepeat event = "release of a repeat"
	evReleaseRetry  event = "release of a retry"
	evLapse         event = "lapse"       // the lease ran out
	evSucceed       event = "succeed"     // the attempt's own word, also late, while its claim stands
	evFail          event = "fail"        // likewise
	evDoubt         event = "doubt"       // likewise
	evResolveYes    event = "resolve yes" // an operator's word
	evResolveNo     event = "resolve no"
	evVoid          event = "void"
)

// table[state][event] is the next state; what is not in it is refused.
var table = map[agentgw.State]map[event]agentgw.State{
	agentgw.StateFree:   {evClaim: agentgw.StateInFlight, evReserve: agentgw.StateClaimed},
	agentgw.StateFailed: {evClaim: agentgw.StateInFlight, evReserve: agentgw.StateClaimed},
	agentgw.StateVoided: {evClaim: agentgw.StateInFlight, evReserve: agentgw.StateClaimed},
	agentgw.StateClaimed: {
		evLaunch: agentgw.StateInFlight, evRenew: agentgw.StateClaimed, evLapse: agentgw.StateFailed,
		evRelease: agentgw.StateFree, evReleaseRepeat: agentgw.StateSucceeded,
	},
	agentgw.StateInFlight: {
		evRenew: agentgw.StateInFlight, evLapse: agentgw.StateIndeterminate,
		evRelease: agentgw.StateFree, evReleaseRepeat: agentgw.StateSucceeded, evReleaseRetry: agentgw.StateIndeterminate,
		evSucceed: agentgw.StateSucceeded, evFail: agentgw.StateFailed, evDoubt: agentgw.StateIndeterminate,
	},
	agentgw.StateIndeterminate: {
		evRetry: agentgw.StateInFlight, evSucceed: agentgw.StateSucceeded, evFail: agentgw.StateFailed, evDoubt: agentgw.StateIndeterminate,
		evResolveYes: agentgw.StateSucceeded, evResolveNo: agentgw.StateFailed,
	},
	agentgw.StateSucceeded: {evRepeat: agentgw.StateInFlight, evReserveRepeat: agentgw.StateClaimed, evVoid: agentgw.StateVoided},
}

// endings are the events that an attempt's own words are.
var endings = map[agentgw.Outcome]event{agentgw.Succeeded: evSucceed, agentgw.Failed: evFail, agentgw.Indeterminate: evDoubt}

// step moves a copy of e along the table; false where the event has no place in its state.
func step(e agentgw.Effect, ev event) (agentgw.Effect, bool) {
	next, ok := table[e.State][ev]
	e.State = next
	return e, ok
}

// claimEvent is what a claim is to the effect, by its way. A doubt that is tried again was sent before: a crash on the way back in must
// leave it a doubt, so that it is in flight at once, whatever it needs elsewhere.
func claimEvent(way agentgw.Way, reserve bool) event {
	switch {
	case way == agentgw.Retry:
		return evRetry
	case way == agentgw.Again && reserve:
		return evReserveRepeat
	case way == agentgw.Again:
		return evRepeat
	case reserve:
		return evReserve
	}
	return evClaim
}

// releaseEvent takes a claim back by the way it came.
func releaseEvent(way agentgw.Way) event {
	return map[agentgw.Way]event{agentgw.Fresh: evRelease, agentgw.Again: evReleaseRepeat, agentgw.Retry: evReleaseRetry}[way]
}

// claimedFrom is the state that a claim finds. To a fresh one a success is free, for it was judged that its retention is over; and so is
// whatever an overwrite overwrites.
func claimedFrom(old *agentgw.Effect, op *agentgw.Operation, way agentgw.Way) agentgw.State {
	if old == nil || way == agentgw.Fresh && (old.State == agentgw.StateSucceeded || op.Rule.Pattern == agentgw.Overwrite) {
		return agentgw.StateFree
	}
	return old.State
}

// claimNext is the record of a new claim by claim id: what stood before (nil for nothing), the operation, and the way. false: what stands
// there cannot be claimed in this way.
func claimNext(old *agentgw.Effect, op *agentgw.Operation, call *agentgw.Call, way agentgw.Way, repeat bool, claim uint64, reserve bool) (agentgw.Effect, bool) {
	r := op.Rule
	e, ok := step(agentgw.Effect{State: claimedFrom(old, op, way),
		ID: op.ID, Operation: r.Name, Tenant: op.Tenant, Principal: call.Principal, Context: call.Context, Digest: op.Digest,
		Claim: claim, Ordinal: 1, Base: claim, Attempt: 1, Lease: r.Lease,
		Fields: remember(op.Fields), Arguments: keptArguments(op.Arguments), Entity: op.Entity, Nonce: call.Nonce,
		TTL: r.TTL, Sliding: r.Sliding, Tomb: r.Tombstone, Keep: r.Keep, To: r.To, Linger: linger(r), Pending: op.Newer, NearTo: op.Near,
	}, claimEvent(way, reserve))
	if r.Attempts != nil {
		e.Sends = []time.Time{{}}
	}
	if old == nil {
		return e, ok
	}
	e.FirstSeen, e.Evidence, e.Newer = old.FirstSeen, old.Evidence, old.Newer
	if old.State == agentgw.StateInFlight { // an overwrite that was not heard of again: its value may be there
		e.Newer = max(e.Newer, old.Pending)
	}
	if r.Attempts != nil {
		e.Sends = append(recentSends(old.Sends, old.Now, r.Attempts), time.Time{})
	}
	switch {
	case way == agentgw.Again:
		e.Ordinal, e.Base, e.Repeat, e.Prior = old.Ordinal+1, old.Base, repeat, true
		e.Attempt = old.Attempt + 1
	case way == agentgw.Retry:
		e.Doubted = true
		e.Generation, e.Ordinal, e.Base, e.Repeat, e.Prior = old.Generation, old.Ordinal, old.Base, old.Repeat, old.Prior
		e.Attempt = old.Attempt + 1
	case old.State.Free() || old.State == agentgw.StateClaimed:
		e.Attempt = old.Attempt + 1
		if old.Settled.IsZero() { // never sent: the upstream may go on with the same key
			e.Generation = old.Generation
		}
	default: // a success whose retention is over
		e.FirstSeen, e.Evidence = time.Time{}, nil
	}
	return e, ok
}

func recentSends(sends []time.Time, now time.Time, b *agentgw.Budget) []time.Time {
	for len(sends) > 0 && !now.Before(sends[0].Add(b.Per)) {
		sends = sends[1:]
	}
	return append([]time.Time(nil), sends...)
}

// linger is how long a failed record is kept, and one that has sends to count: for its budget of attempts, for lists and for callers that poll.
func linger(r *agentgw.Rule) time.Duration {
	d := min(r.TTL, 24*time.Hour)
	if r.Attempts != nil {
		d = max(d, r.Attempts.Per)
	}
	return max(d, time.Hour)
}

// word is what an attempt's end says about its effect. Where an earlier attempt is in doubt, the failure of this one settles nothing.
func word(e *agentgw.Effect, res agentgw.Result) agentgw.Result {
	if e.Doubted && res.Outcome == agentgw.Failed {
		res.Outcome, res.Why = agentgw.Indeterminate, res.Why+"; an earlier attempt is still in doubt"
	}
	return res
}

// settleNext is the record after an attempt's own word. The times of settling and expiry are those of the write.
func settleNext(e agentgw.Effect, res agentgw.Result) (agentgw.Effect, bool) {
	next, ok := step(e, endings[res.Outcome])
	if !ok {
		return e, false
	}
	next.Why = res.Why
	switch next.State {
	case agentgw.StateSucceeded:
		succeed(&next, res.Answer)
	case agentgw.StateFailed:
		free(&next, e.Now, res.NeverSent)
		next.Answer = nil
	case agentgw.StateIndeterminate:
		next.Answer = nil
		next.Newer, next.Pending = max(next.Newer, next.Pending), ""
	}
	return next, true
}

func succeed(e *agentgw.Effect, answer *agentgw.Answer) {
	e.Settled, e.Expires, e.Gone = time.Time{}, time.Time{}, time.Time{}
	e.Prior, e.Doubted = false, false
	e.Holds = slices.DeleteFunc(slices.Clone(e.Holds), func(h agentgw.Hold) bool { // bindings and elements live as long as the success
		return h.Kind == agentgw.PartitionLock || h.Kind == agentgw.PartitionLimit
	})
	if e.Keep != agentgw.KeepNothing {
		e.Answer = answer
	}
	if e.Pending != "" {
		e.Newer, e.Pending = max(e.Newer, e.Pending), ""
	}
}

// free keeps of a freed effect only what the next claim needs. A record that was sent says so by its time of settling.
func free(e *agentgw.Effect, now time.Time, neverSent bool) {
	e.Settled = now
	if neverSent {
		e.Settled = time.Time{}
	}
	e.Fields = slices.DeleteFunc(slices.Clone(e.Fields), func(f agentgw.Field) bool { return f.Role == agentgw.RoleMatch })
	e.Holds, e.Prior, e.Doubted, e.Pending = nil, false, false, ""
	e.Expires, e.Gone = time.Time{}, time.Time{}
}

// resolveNext is the record after an operator's word. The claim changes its name: the attempt's own late word is evidence now.
func resolveNext(e agentgw.Effect, outcome agentgw.Outcome, answer *agentgw.Answer, claim uint64, why string) (agentgw.Effect, bool) {
	ev := evResolveNo
	if outcome == agentgw.Succeeded {
		ev = evResolveYes
	}
	next, ok := step(e, ev)
	if !ok {
		return e, false
	}
	next.Claim, next.Why = claim, why
	if next.State == agentgw.StateSucceeded {
		succeed(&next, answer)
	} else {
		free(&next, e.Now, false)
	}
	return next, true
}

// lapseNext is the record after its lease ran out: a doubt, or free where nothing was sent.
func lapseNext(e agentgw.Effect, claim uint64) (agentgw.Effect, bool) {
	next, ok := step(e, evLapse)
	if !ok {
		return e, false
	}
	next.Why = fmt.Sprintf("the attempt was not heard of for %s", e.Lease)
	if next.State == agentgw.StateFailed {
		free(&next, e.Now, true)
		next.Claim = claim
	} else {
		next.Newer, next.Pending = max(next.Newer, next.Pending), ""
	}
	return next, true
}

// withEvidence notes what a writer said that does not count.
func withEvidence(e agentgw.Effect, text string) agentgw.Effect {
	if len(e.Evidence) < maxEvidence {
		e.Evidence = append(append([]string(nil), e.Evidence...), text)
	}
	return e
}

// beyond is how long the record of a success is kept after it has ceased to be the answer: as a tombstone, and for its budget of sends.
func beyond(e *agentgw.Effect) time.Duration {
	if len(e.Sends) == 0 {
		return e.Tomb
	}
	return max(e.Tomb, e.Linger-e.TTL)
}

// outlived reports whether successes under a rule are kept beyond the life of their answers: then these stand apart.
func outlived(r *agentgw.Rule) bool {
	return r.Tombstone > 0 || r.Attempts != nil && linger(r) > r.TTL
}

// keepFor is how long the store keeps a record in this state from a write at now on; 0: for ever.
func keepFor(e *agentgw.Effect, now time.Time) time.Duration {
	if e.ID.Newest() {
		return 0 // what is newest does not age
	}
	switch e.State {
	case agentgw.StateSucceeded:
		if e.Expires.IsZero() {
			return e.TTL + beyond(e)
		}
		return max(e.Expires.Add(beyond(e)).Sub(now), time.Millisecond)
	case agentgw.StateFailed, agentgw.StateVoided:
		return e.Linger
	}
	return 0
}
