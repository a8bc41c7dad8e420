// Package ledger answers "Has it happened?": it remembers effects, and moves them from state to state in single atomic steps.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"agentgw"
)

// ErrNotFound: there is no such effect.
var ErrNotFound = errors.New("no such effect")

// ErrStale: the effect has moved on since the version or fence that was named.
var ErrStale = errors.New("the effect has moved on")

// Ledger is the shared logic over a Store. Its methods are safe for concurrent use.
type Ledger struct {
	store Store
	trips atomic.Uint64
}

// New makes a ledger over a store.
func New(s Store) *Ledger { return &Ledger{store: s} }

// Health says why guarded calls must not rely on the store now; nil: safe.
func (l *Ledger) Health(ctx context.Context) error { return l.store.Health(ctx) }

// Close closes the store.
func (l *Ledger) Close() error { return l.store.Close() }

// Trips counts the round trips to the store so far.
func (l *Ledger) Trips() uint64 { return l.trips.Load() }

func (l *Ledger) swap(ctx context.Context, swaps ...Swap) ([]Reply, error) {
	l.trips.Add(1)
	replies, err := l.store.Swap(ctx, swaps...)
	if err != nil {
		return nil, err
	}
	return replies, firstError(replies)
}

// look is a swap that only reads.
func look(p agentgw.Partition, names ...string) Swap {
	s := Swap{Partition: p, Changes: make([]Change, len(names))}
	for i, name := range names {
		s.Changes[i] = Change{Name: name, Look: true}
	}
	return s
}

// firstError is what went wrong with any of several swaps. It says that nothing was applied only where that is true of all.
func firstError(replies []Reply) (err error) {
	some := false
	for _, r := range replies {
		some = some || r.Err == nil && r.Applied
		if err == nil || r.Err != nil && !errors.Is(r.Err, ErrNotApplied) {
			err = cmp.Or(r.Err, err)
		}
	}
	if some && errors.Is(err, ErrNotApplied) {
		return errors.New("a part was written: " + err.Error())
	}
	return err
}

// random names a claim or a swap; never 0.
func (l *Ledger) random() uint64 { return rand.Uint64() | 1 }

// finding completes a refusal with the effect it speaks of.
func (t *try) finding(ctx context.Context, j agentgw.Judgement, err error) (Finding, error) {
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Judgement: j, Now: t.m.Now, Effect: t.m.Own}
	switch {
	case j.Holder != nil && !j.Holder.Batch.IsZero(): // it is the batch that ends, and can be resolved
		f.Effect, err = t.Get(ctx, j.Holder.Batch)
	case j.Holder != nil:
		f.Effect = j.Holder
	case j.Verdict == agentgw.Conflict && t.m.Bound != nil && t.m.Bound.ID != t.Op.ID:
		f.Effect, err = t.Get(ctx, t.m.Bound.ID)
	case j.Verdict == agentgw.Replayed && j.Ordinal > 0:
		f.Effect, err = t.history(ctx, t.m.Own, j.Ordinal)
	case j.Verdict == agentgw.Replayed && len(t.Op.Elements) > 0 && f.Effect == nil:
		f.Effect, err = t.commonBatch(ctx)
	}
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	if err == nil && j.Verdict == agentgw.Replayed && !t.dry && f.Effect != nil && f.Effect.Sliding {
		name := f.Effect.ID.Record()
		if j.Ordinal > 0 {
			name = historyName(f.Effect.ID, j.Ordinal)
		}
		err = t.touch(ctx, f.Effect, name)
	}
	return f, err
}

// history is the success that a later one of the same effect stands over; without an answer where that is no longer kept.
func (l *Ledger) history(ctx context.Context, own *agentgw.Effect, ordinal int) (*agentgw.Effect, error) {
	name := historyName(own.ID, ordinal)
	replies, err := l.swap(ctx, look(own.ID.Partition, name))
	if err != nil {
		return nil, err
	}
	if rec := replies[0].Records[0]; rec.Version != 0 {
		return decodeEffect(own.ID.Partition, rec, replies[0].Now)
	}
	e := *own
	e.Ordinal, e.Answer = ordinal, nil
	return &e, nil
}

// commonBatch is the batch that did all elements of this one, with its answer; an element without an answer where several did.
func (t *try) commonBatch(ctx context.Context) (*agentgw.Effect, error) {
	first := t.m.Elements[0]
	for _, e := range t.m.Elements {
		if e.Batch != first.Batch {
			return first, nil
		}
	}
	return t.Get(ctx, first.Batch)
}

// touch starts the retention of a success again; name is its record's, which is another where a later one stands over it.
func (t *try) touch(ctx context.Context, e *agentgw.Effect, name string) error {
	next := *e
	next.Expires, next.Gone = time.Time{}, time.Time{}
	own := Change{Name: name, Want: e.Version, Keep: e.TTL + beyond(e)}
	main := Swap{Partition: e.ID.Partition, Stamp: t.random(), Changes: []Change{own}}
	if e.Apart && e.Answer != nil && name == e.ID.Record() {
		next.Answer = nil
		main.Changes = append(main.Changes, Change{Name: answerName(e.ID), Want: t.wants.of(answerName(e.ID)), Value: encodeAnswer(e.Answer), Keep: e.TTL})
	}
	main.Changes[0].Value = encodeEffect(&next)
	_, err := t.swap(ctx, main) // not applied: another replay did it
	if err == nil && len(e.Holds) > 0 {
		err = t.finish(ctx, e, e, agentgw.Succeeded)
	}
	return err
}

// tellLapse writes that a lease has run out before anyone is told so, or tries it again: from then on its holder cannot renew it. true:
// look again.
func (t *try) tellLapse(ctx context.Context, j agentgw.Judgement) (bool, error) {
	if !j.Lapse {
		return false, nil
	}
	e, err := t.lapse(ctx, t.m.Own, false)
	if err != nil {
		return false, err
	}
	t.m.Own = e
	if e != nil {
		t.wants.set(t.own, e.Version)
		t.m.Now = e.Now
	}
	return true, nil
}

// occupant is the effect that a record elsewhere names, as it stands now: what has lapsed is first written so. nil: forgotten.
func (t *try) occupant(ctx context.Context, id agentgw.EffectID) (*agentgw.Effect, error) {
	e, err := t.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil || !e.Lapsed(e.Now) || e.ID.Newest() {
		return e, err
	}
	return t.lapse(ctx, e, t.dry)
}

// lapse writes what a lapsed lease means, and returns the effect as it is then (nil: free and forgotten). dry: it is only said.
func (l *Ledger) lapse(ctx context.Context, e *agentgw.Effect, dry bool) (*agentgw.Effect, error) {
	next, ok := lapseNext(*e, l.random())
	if !ok {
		return e, nil
	}
	if next.State == agentgw.StateIndeterminate {
		if dry {
			return &next, nil
		}
		now, _, err := l.put(ctx, e, &next, nil)
		return now, err
	}
	now, _, err := l.giveBack(ctx, e, &next, dry)
	return now, err
}

// put writes next over e, with more changes of the same partition. Not applied: it returns what another wrote meanwhile, nil for nothing.
func (l *Ledger) put(ctx context.Context, e, next *agentgw.Effect, more []Change) (now *agentgw.Effect, applied bool, err error) {
	own := Change{Name: e.ID.Record(), Want: e.Version, Value: encodeEffect(next), Keep: keepFor(next, e.Now), Open: indexed(next)}
	replies, err := l.swap(ctx, Swap{Partition: e.ID.Partition, Stamp: l.random(), Changes: append([]Change{own}, more...)})
	if err != nil {
		return nil, false, err
	}
	r := replies[0]
	if !r.Applied {
		if r.Records[0].Version == 0 {
			return nil, false, nil
		}
		now, err = decodeEffect(e.ID.Partition, r.Records[0], r.Now)
		return now, false, err
	}
	next.Version, next.Updated, next.Now = r.Version, r.Now, r.Now
	fill(next)
	return next, true, nil
}

// indexed reports whether a record belongs in the index of open effects; what an overwrite claims is none.
func indexed(e *agentgw.Effect) bool { return e.State.Open() && !e.ID.Newest() }

// giveBack frees an effect that had none: the success that stands behind it comes back, its entity and its holds are let go. next is
// the freed record, used where no success stands behind. dry: it is only said.
func (l *Ledger) giveBack(ctx context.Context, e, next *agentgw.Effect, dry bool) (*agentgw.Effect, bool, error) {
	back, more, err := l.behind(ctx, e, next)
	if err != nil || dry {
		return back, false, err
	}
	now, applied, err := l.put(ctx, e, back, more)
	if err != nil || !applied {
		return now, false, err
	}
	return now, true, l.finish(ctx, e, now, agentgw.Failed)
}

// behind is what a freed effect becomes, with the other changes in its partition: its history and its entity.
func (l *Ledger) behind(ctx context.Context, e, next *agentgw.Effect) (*agentgw.Effect, []Change, error) {
	if !e.Prior && e.Entity == "" {
		return next, nil, nil
	}
	hist := historyName(e.ID, e.Ordinal-1)
	replies, err := l.swap(ctx, look(e.ID.Partition, hist, nameEntity))
	if err != nil {
		return nil, nil, err
	}
	var more []Change
	if rec := replies[0].Records[0]; e.Prior && rec.Version != 0 {
		if next, err = decodeEffect(e.ID.Partition, rec, replies[0].Now); err != nil {
			return nil, nil, err
		}
		next.Sends = e.Sends // those of the repeat count, too
		more = append(more, Change{Name: hist, Want: rec.Version})
	}
	if rec := replies[0].Records[1]; e.Entity != "" && rec.Version != 0 {
		en, err := decodeEntity(rec)
		if err != nil {
			return nil, nil, err
		}
		if en.Holder == e.ID && en.Fence == e.Claim {
			more = append(more, entityChange(letGo(*en)))
		}
	}
	return next, more, nil
}

// finish brings the records that e held elsewhere to what its end means for them. after is e as it ended.
func (l *Ledger) finish(ctx context.Context, e, after *agentgw.Effect, outcome agentgw.Outcome) error {
	if len(e.Holds) == 0 || outcome == agentgw.Indeterminate {
		return nil
	}
	for range maxTries {
		looks := make([]Swap, len(e.Holds))
		for i, h := range e.Holds {
			looks[i] = look(h.Partition, holdName(h))
		}
		replies, err := l.swap(ctx, looks...)
		if err != nil {
			return err
		}
		var swaps []Swap
		for i, h := range e.Holds {
			if c, ok := done(h, replies[i].Records[0], e, outcome, after.Now); ok {
				swaps = append(swaps, Swap{Partition: h.Partition, Stamp: l.random(), Changes: []Change{c}})
			}
		}
		if len(swaps) == 0 {
			return nil
		}
		if replies, err = l.swap(ctx, swaps...); err != nil {
			return err
		}
		all := true
		for _, r := range replies {
			all = all && r.Applied
		}
		if all {
			return nil
		}
	}
	return errContended
}

// Get shows one effect; ErrNotFound.
func (l *Ledger) Get(ctx context.Context, id agentgw.EffectID) (*agentgw.Effect, error) {
	name := id.Record()
	replies, err := l.swap(ctx, look(id.Partition, name, answerName(id)))
	if err != nil {
		return nil, err
	}
	r := replies[0]
	if r.Records[0].Version == 0 {
		return nil, ErrNotFound
	}
	e, err := decodeEffect(id.Partition, r.Records[0], r.Now)
	if err == nil && e.Apart && r.Records[1].Version != 0 {
		e.Answer, err = decodeAnswer(r.Records[1].Value)
	}
	return e, err
}
