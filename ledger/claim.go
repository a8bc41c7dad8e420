package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentgw"
)

// Ask is one call's question to the ledger.
type Ask struct {
	Op    *agentgw.Operation
	Call  *agentgw.Call
	Token *agentgw.Token // nil without a repeat token that fits
	State *string        // the entity's state as a tool tells it; nil: the ledger's own
	Since uint64         // the EntityVersion before that was asked
	Judge func(*agentgw.Operation, *agentgw.Call, *agentgw.Remembered) agentgw.Judgement
	// Alike says which of earlier wordings this one may mean again, by field name; the closest first. nil: none is ever asked about.
	Alike func(texts map[string]string, earlier []map[string]string) []agentgw.Likeness
	Apart map[agentgw.EffectID]bool // effects that are known to be others, however alike they are worded
}

// Finding is what came of an Ask: a judgement, the effect it speaks of (nil where none is remembered), and the claim where one was made.
type Finding struct {
	agentgw.Judgement
	Now    time.Time // the store's clock
	Effect *agentgw.Effect
	Claim  *Claim
}

// Claim is an attempt in hand: in_flight in the ledger, to be settled by whoever holds it.
type Claim struct {
	Effect *agentgw.Effect
	op     *agentgw.Operation
	prior  *agentgw.Effect // the success that comes back if this fails
	entity *agentgw.Entity
	apart  uint64 // version of the record of an answer that stands apart
	needs  []*need
}

// Unsure is the error of a claim of which it is not known whether it was written. Withdraw makes sure that it does not stand; it is to
// be called again until it succeeds.
type Unsure struct {
	Err      error
	Withdraw func(context.Context) error
}

func (u *Unsure) Error() string { return u.Err.Error() }
func (u *Unsure) Unwrap() error { return u.Err }

// ErrContended: so many callers want the same records that none of the tries went through.
var ErrContended = errors.New("too many callers change the same records at once; try again")

// ErrMoved: another transition touched the entity after its state was read; read it again.
var ErrMoved = errors.New("the object has moved on since its state was read")

const maxTries = 24

// Claim judges a call by what is remembered and, where the judgement is Executed, claims its effect: in one round trip where the effect
// stands alone, so that nothing has to be read first. A refusal is a value; the error says that the store could not be asked.
func (l *Ledger) Claim(ctx context.Context, a Ask) (Finding, error) {
	t := l.newTry(a)
	for range maxTries {
		j := a.Judge(a.Op, a.Call, &t.m)
		if moved, err := t.tellLapse(ctx, j); err != nil {
			return Finding{}, err
		} else if moved {
			continue
		}
		if j.Verdict != agentgw.Executed && t.wants == nil {
			// A transition that may not begin in the initial state: only now is it asked which state that is.
			if err := t.readAll(ctx); err != nil {
				return Finding{}, err
			}
			t.looked = true
			continue
		}
		if t.movedSince() && j.Verdict != agentgw.InFlight && j.Verdict != agentgw.InDoubt {
			return Finding{}, ErrMoved
		}
		if j.Verdict != agentgw.Executed {
			if again, err := t.lookElsewhere(ctx, j); err != nil {
				return Finding{}, err
			} else if again {
				continue
			}
			err := t.dropKey(ctx, j)
			return t.finding(ctx, j, err)
		}
		claimed, err := t.claimMain(ctx, j)
		if err != nil {
			return Finding{}, err
		}
		if !claimed {
			continue
		}
		if held, err := t.takeNeeds(ctx); err != nil {
			_ = t.release(ctx) // what stays is freed when its lease lapses
			return Finding{}, err
		} else if !held {
			if err := t.release(ctx); err != nil {
				return Finding{}, err
			}
			continue
		}
		if len(t.needs) > 0 && t.e.State == agentgw.StateClaimed {
			if launched, err := t.launch(ctx); err != nil || !launched {
				if err != nil {
					return Finding{}, err
				}
				continue
			}
		}
		return Finding{Judgement: j, Effect: t.e, Claim: t.inHand()}, nil
	}
	return Finding{}, ErrContended
}

// Look judges a call and leaves nothing behind.
func (l *Ledger) Look(ctx context.Context, a Ask) (Finding, error) {
	t := l.newTry(a)
	t.dry = true
	if err := t.readAll(ctx); err != nil {
		return Finding{}, err
	}
	return t.finding(ctx, a.Judge(a.Op, a.Call, &t.m), nil)
}

// EntityVersion is the version of a transition's entity; it changes whenever a transition takes the entity, lets it go or moves it.
func (l *Ledger) EntityVersion(ctx context.Context, op *agentgw.Operation) (uint64, error) {
	replies, err := l.swap(ctx, Swap{Partition: op.ID.Partition, Changes: []Change{{Name: nameEntity, Look: true}}})
	if err != nil {
		return 0, err
	}
	return replies[0].Records[0].Version, nil
}

// movedSince reports whether the state that a tool told may be that of before another transition.
func (t *try) movedSince() bool {
	now := uint64(0)
	if t.m.Entity != nil {
		now = t.m.Entity.Version
	}
	return t.State != nil && t.wants != nil && now != t.Since
}

// try is one Ask on its way.
type try struct {
	*Ledger
	Ask
	m      agentgw.Remembered
	wants  map[string]uint64 // versions of the partition's records as last seen
	needs  []*need
	dry    bool
	e      *agentgw.Effect // the claim, once written
	before *agentgw.Effect // what stood there before
	way    agentgw.Way
	index  []wording // meaning: what was claimed in this partition
	looked bool      // the needs were looked at before a refusal
}

func (l *Ledger) newTry(a Ask) *try {
	t := &try{Ledger: l, Ask: a, needs: needs(a.Op)}
	t.m.Token, t.m.State = a.Token, a.State
	if len(a.Op.Elements) > 0 {
		t.m.Elements = make([]*agentgw.Effect, len(a.Op.Elements))
	}
	return t
}

func (t *try) inHand() *Claim {
	c := &Claim{Effect: t.e, op: t.Op, needs: t.needs, entity: t.m.Entity, apart: t.wants[t.answerName()]}
	if t.way == agentgw.Again {
		c.prior = t.before
	}
	return c
}

func (t *try) ownName() string    { return t.Op.ID.Record() }
func (t *try) answerName() string { return answerName(t.Op.ID) }

func answerName(id agentgw.EffectID) string { return "a" + id.Record()[1:] }

func historyName(id agentgw.EffectID, ordinal int) string {
	return fmt.Sprintf("h%s.%d", id.Record()[1:], ordinal)
}

func (t *try) transition() bool { return t.Op.Entity != "" }

// claimMain swaps the effect's own records, and sends the caller's key along. Not applied: the memory is what is there instead.
func (t *try) claimMain(ctx context.Context, j agentgw.Judgement) (bool, error) {
	e := claimNext(t.m.Own, t.Op, t.Call, j.Way, j.Repeat, t.random(), len(t.needs) > 0)
	for _, n := range t.needs {
		e.Holds = append(e.Holds, n.Hold)
	}
	swaps := []Swap{{Partition: t.Op.ID.Partition, Stamp: t.random(), Claim: true, Changes: t.mainChanges(&e, j.Way)}}
	key := t.keyNeed()
	if key != nil && !(key.found.Version != 0 && !key.mine) {
		if v, ok, err := key.take(&e, t.m.Now); err != nil {
			return false, err
		} else if ok {
			swaps = append(swaps, Swap{Partition: key.Partition, Stamp: t.random(), Claim: true, Changes: []Change{{Name: key.name, Want: key.found.Version, Value: v}}})
		}
	}
	replies, err := t.swapSurely(ctx, swaps)
	if err != nil {
		return false, t.unsure(ctx, err, swaps)
	}
	if len(replies) > 1 {
		key.reply(replies[1])
	}
	if !replies[0].Applied {
		return false, t.remember(ctx, replies[0])
	}
	t.way, t.before = j.Way, t.m.Own
	t.m.Now = replies[0].Now
	t.note(replies[0])
	e.Version, e.Updated, e.Now = replies[0].Version, replies[0].Now, replies[0].Now
	fill(&e)
	t.e = &e
	return true, nil
}

func (t *try) mainChanges(e *agentgw.Effect, way agentgw.Way) []Change {
	changes := []Change{{Name: t.ownName(), Want: t.wants[t.ownName()], Value: encodeEffect(e), Open: indexed(e)}}
	if t.transition() {
		en := agentgw.Entity{}
		if t.m.Entity != nil {
			en = *t.m.Entity
		}
		en.Holder, en.Fence = e.ID, e.Claim
		changes = append(changes, Change{Name: nameEntity, Want: t.wants[nameEntity], Value: encodeEntity(&en)})
	}
	if way == agentgw.Again {
		name := historyName(e.ID, t.m.Own.Ordinal)
		changes = append(changes, Change{Name: name, Want: t.wants[name], Value: encodeEffect(t.m.Own), Keep: keepFor(t.m.Own, t.m.Now)})
	}
	if t.meaning() {
		changes = append(changes, Change{Name: nameIndex, Want: t.wants[nameIndex], Value: encodeIndex(t.indexWith(t.Op))})
	}
	if t.Op.Rule.Tombstone > 0 {
		changes = append(changes, Change{Name: t.answerName(), Look: true})
	}
	return changes
}

func (t *try) keyNeed() *need {
	for _, n := range t.needs {
		if n.Kind == agentgw.PartitionCallerKey {
			return n
		}
	}
	return nil
}

// reply notes what a swap of this record found.
func (n *need) reply(r Reply) {
	switch {
	case r.Applied && !n.mine && n.vacant:
		n.before = Record{} // nothing that counts
	case r.Applied && !n.mine:
		n.before = n.found
	}
	n.mine = r.Applied
	n.found, n.vacant = r.Records[0], false
}

// swapSurely sends swaps, and the same again once where it is not known whether they were applied: their stamps make that safe. That the
// second ones were not applied says nothing of the first.
func (t *try) swapSurely(ctx context.Context, swaps []Swap) ([]Reply, error) {
	replies, err := t.swap(ctx, swaps...)
	if err == nil || errors.Is(err, ErrNotApplied) || errors.Is(err, ErrUnreplicated) || ctx.Err() != nil {
		return replies, err
	}
	replies, again := t.swap(ctx, swaps...)
	if errors.Is(again, ErrNotApplied) {
		return nil, err
	}
	return replies, again
}

// unsure wraps the error of a claim that may have been written after all. One that is known to stand is withdrawn at once.
func (t *try) unsure(ctx context.Context, err error, swaps []Swap) error {
	if errors.Is(err, ErrNotApplied) {
		return err
	}
	main, before, needs := swaps[0], t.m.Own, t.needs
	main.Claim = false // nothing is sent any more
	u := &Unsure{Err: err, Withdraw: func(ctx context.Context) error {
		again := *t
		again.needs = needs
		replies, err := t.swap(ctx, main)
		if err != nil || !replies[0].Applied {
			return err
		}
		e, err := decodeEffect(main.Partition, replies[0].Records[0], replies[0].Now)
		if err != nil {
			return err
		}
		again.e, again.before = e, before
		again.note(replies[0])
		if key := again.keyNeed(); key != nil {
			again.needs = []*need{key}
			if err := again.reread(ctx, key); err != nil {
				return err
			}
		}
		return again.release(ctx)
	}}
	if errors.Is(err, ErrUnreplicated) && u.Withdraw(ctx) == nil {
		return err
	}
	return u
}

// reread looks again at a record that may or may not have become ours.
func (t *try) reread(ctx context.Context, n *need) error {
	replies, err := t.swap(ctx, Swap{Partition: n.Partition, Changes: []Change{{Name: n.name, Look: true}}})
	if err != nil {
		return err
	}
	n.found, n.before = replies[0].Records[0], Record{}
	if n.found.Version != 0 {
		h, err := decodeHolder(n.found.Value)
		n.mine = err == nil && h.names(t.e)
	}
	return nil
}

// note keeps the versions that a reply names.
func (t *try) note(r Reply) {
	if t.wants == nil {
		t.wants = make(map[string]uint64, len(r.Records))
	}
	for _, rec := range r.Records {
		t.wants[rec.Name] = rec.Version
	}
}

// remember takes a reply about the effect's own partition as the memory to judge by.
func (t *try) remember(ctx context.Context, r Reply) error {
	t.note(r)
	t.m.Now, t.m.Own, t.m.Entity, t.m.Holder, t.m.Held, t.m.Spent, t.m.Similar = r.Now, nil, nil, nil, "", nil, nil
	t.looked = false
	clear(t.m.Elements)
	for _, rec := range r.Records {
		if err := t.rememberRecord(rec, r.Now); err != nil {
			return err
		}
	}
	if own := t.m.Own; own != nil && own.State == agentgw.StateClaimed && own.Lapsed(r.Now) {
		if err := t.freeLapsed(ctx); err != nil {
			return err
		}
	}
	if err := t.rememberHolder(ctx); err != nil {
		return err
	}
	if err := t.rememberSimilar(ctx); err != nil {
		return err
	}
	return t.rememberKey(ctx)
}

func (t *try) rememberRecord(rec Record, now time.Time) (err error) {
	if rec.Version == 0 {
		return nil
	}
	switch rec.Name {
	case t.ownName():
		t.m.Own, err = decodeEffect(t.Op.ID.Partition, rec, now)
		if err == nil && t.m.Own.Digest != t.Op.Digest {
			return fmt.Errorf("%s: its key is also the key of another operation; nothing is sent for either", t.Op.ID)
		}
	case nameEntity:
		t.m.Entity, err = decodeEntity(rec)
	case nameIndex:
		t.index, err = decodeIndex(rec.Value)
	case t.answerName():
		if t.m.Own != nil && t.m.Own.Apart {
			t.m.Own.Answer, err = decodeAnswer(rec.Value)
		}
	}
	return err
}

// freeLapsed frees a claim of which nothing was sent in its time; its holder finds its version gone and does not send.
func (t *try) freeLapsed(ctx context.Context) error {
	e, err := t.lapse(ctx, t.m.Own, t.dry)
	if err != nil {
		return err
	}
	t.m.Own = e
	if e != nil {
		t.wants[t.ownName()] = e.Version
	} else {
		delete(t.wants, t.ownName())
	}
	if !t.dry && t.transition() { // the entity's record changed with it
		replies, err := t.swap(ctx, Swap{Partition: t.Op.ID.Partition, Changes: []Change{{Name: nameEntity, Look: true}}})
		if err != nil {
			return err
		}
		t.note(replies[0])
		t.m.Entity, err = nil, nil
		if rec := replies[0].Records[0]; rec.Version != 0 {
			t.m.Entity, err = decodeEntity(rec)
		}
		return err
	}
	return nil
}

// rememberHolder looks at who holds the entity.
func (t *try) rememberHolder(ctx context.Context) error {
	en := t.m.Entity
	if en == nil || en.Holder.IsZero() || en.Holder == t.Op.ID {
		return nil
	}
	x, err := t.occupant(ctx, en.Holder)
	if err == nil && x != nil && x.Claim == en.Fence && x.State.Open() {
		t.m.Holder, t.m.Held = x, t.Op.EntityOf
	}
	return err
}

// rememberKey looks at what the caller's key is bound to, where a swap found it bound.
func (t *try) rememberKey(ctx context.Context) error {
	t.m.Bound = nil
	n := t.keyNeed()
	if n == nil || n.mine || n.found.Version == 0 {
		return nil
	}
	h, err := decodeHolder(n.found.Value)
	if err != nil {
		return err
	}
	if h.ID == t.Op.ID {
		if own := t.m.Own; own != nil && own.Base == h.Base && h.Ordinal <= own.Ordinal && !own.State.Free() {
			t.m.Bound = &agentgw.Binding{ID: h.ID, Base: h.Base, Ordinal: h.Ordinal}
		}
		return nil
	}
	x, err := t.occupant(ctx, h.ID)
	if err != nil {
		return err
	}
	if x == nil || x.Base != h.Base || x.State.Free() || x.State == agentgw.StateSucceeded && !t.m.Now.Before(x.Gone) {
		n.vacant = true
		return nil
	}
	t.m.Bound = &agentgw.Binding{ID: h.ID, Base: h.Base, Ordinal: h.Ordinal, Fields: differing(x.Fields, t.Op.Fields)}
	return nil
}

// differing names the fields that have other values.
func differing(a, b []agentgw.Field) (names []string) {
	for _, f := range b {
		for _, g := range a {
			if g.Name == f.Name && g.Canon != f.Kept() {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// takeNeeds takes every record that the claim needs elsewhere. false: another is in the way, and the memory says who.
func (t *try) takeNeeds(ctx context.Context) (bool, error) {
	for range maxTries {
		var swaps []Swap
		var asked []*need
		free := true
		for _, n := range t.needs {
			if n.mine {
				continue
			}
			v, ok, err := n.take(t.e, t.m.Now)
			if err != nil {
				return false, err
			}
			if !ok {
				if ok, err = t.examine(ctx, n); err != nil {
					return false, err
				}
				if !ok {
					free = false
					continue
				}
				if v, ok, err = n.take(t.e, t.m.Now); err != nil || !ok {
					return false, err
				}
			}
			swaps = append(swaps, Swap{Partition: n.Partition, Stamp: t.random(), Claim: true, Changes: []Change{{Name: n.name, Want: n.found.Version, Value: v}}})
			asked = append(asked, n)
		}
		if !free || len(swaps) == 0 {
			return free, nil
		}
		replies, err := t.swapSurely(ctx, swaps)
		if err != nil {
			return false, err
		}
		for i, n := range asked {
			n.reply(replies[i])
		}
	}
	return false, ErrContended
}

// examine looks at the effect that a found record names. true: it does not count any more, and may be written over.
func (t *try) examine(ctx context.Context, n *need) (bool, error) {
	switch n.Kind {
	case agentgw.PartitionCallerKey:
		err := t.rememberKey(ctx)
		return n.vacant, err
	case agentgw.PartitionLock:
		h, err := decodeHolder(n.found.Value)
		if err != nil {
			return false, err
		}
		x, err := t.occupant(ctx, h.ID)
		if err != nil {
			return false, err
		}
		if x != nil && h.names(x) && x.State.Open() && !(x.ID.Record() == "n" && (x.State == agentgw.StateIndeterminate || x.Lapsed(t.m.Now))) {
			t.m.Holder, t.m.Held = x, t.Op.LockOf
			return false, nil
		}
		n.vacant = true
		return true, nil
	case agentgw.PartitionLimit:
		return t.examineBudget(ctx, n)
	}
	return t.examineElement(ctx, n)
}

// examineBudget drops reservations whose attempts ended without returning them.
func (t *try) examineBudget(ctx context.Context, n *need) (bool, error) {
	b, err := decodeBudget(n.found.Value)
	if err != nil {
		return false, err
	}
	b.Per = t.Op.Rule.Limit.Per
	b.trim(t.m.Now)
	for _, r := range append([]reservation(nil), b.Reserved...) {
		x, err := t.occupant(ctx, r.ID)
		if err != nil {
			return false, err
		}
		if x != nil && turn(x) == r.Turn && x.State == agentgw.StateSucceeded {
			b.settle(r.ID, r.Turn, agentgw.Succeeded, t.m.Now)
		} else if x == nil || turn(x) != r.Turn || x.State.Free() {
			b.settle(r.ID, r.Turn, agentgw.Failed, t.m.Now)
		}
	}
	n.found.Value = b.encode()
	if b.count()+max(1, len(t.Op.Elements)) <= t.Op.Rule.Limit.Count {
		return true, nil
	}
	until := b.freeAt()
	t.m.Spent = &until
	return false, nil
}

// examineElement tells what is remembered of one element of a batch.
func (t *try) examineElement(ctx context.Context, n *need) (bool, error) {
	el, err := decodeEffect(n.Partition, n.found, t.m.Now)
	if err != nil {
		return false, err
	}
	if el.State == agentgw.StateClaimed {
		if el, err = t.elementState(ctx, el); err != nil {
			return false, err
		}
	}
	if el == nil || el.State == agentgw.StateSucceeded && !t.m.Now.Before(el.Gone) || el.State.Free() {
		n.vacant = true
		return true, nil
	}
	t.m.Elements[n.element] = el
	return false, nil
}

// elementState is an element as its batch has it; nil: free. What is under way or in doubt is never forgotten, so a batch that is gone
// has ended, and its time is over.
func (t *try) elementState(ctx context.Context, el *agentgw.Effect) (*agentgw.Effect, error) {
	x, err := t.occupant(ctx, el.Batch)
	switch {
	case err != nil:
		return nil, err
	case x != nil && ofOrdinal(el, x) && !x.State.Free() && x.ID != t.Op.ID:
		el.State, el.Updated, el.Lease, el.Expires, el.Gone = x.State, x.Updated, x.Lease, x.Expires, x.Gone
		return el, nil
	case el.Prior:
		return fallBack(el), nil
	}
	return nil, nil
}

// launch moves a claim that holds all it needs to in_flight. false: it lapsed meanwhile and was freed.
func (t *try) launch(ctx context.Context) (bool, error) {
	next, ok := step(*t.e, evLaunch)
	if !ok {
		return false, fmt.Errorf("launch from %s", t.e.State)
	}
	swaps := []Swap{{Partition: t.Op.ID.Partition, Stamp: t.random(), Claim: true, Changes: []Change{
		{Name: t.ownName(), Want: t.e.Version, Value: encodeEffect(&next), Open: indexed(&next)}}}}
	replies, err := t.swapSurely(ctx, swaps)
	if err != nil {
		return false, t.unsure(ctx, err, swaps)
	}
	if !replies[0].Applied {
		return false, errors.Join(t.undo(ctx), t.remember(ctx, replies[0]))
	}
	next.Version, next.Updated, next.Now = replies[0].Version, replies[0].Now, replies[0].Now
	t.e = &next
	t.note(replies[0])
	return true, nil
}

// release puts back what stood before the claim, everywhere.
func (t *try) release(ctx context.Context) error {
	own := Change{Name: t.ownName(), Want: t.e.Version}
	if b := t.before; b != nil {
		own.Value, own.Keep, own.Open = encodeEffect(b), keepFor(b, t.m.Now), indexed(b)
	}
	changes := []Change{own}
	if t.transition() {
		c := Change{Name: nameEntity, Want: t.wants[nameEntity]}
		if t.m.Entity != nil {
			c.Value = encodeEntity(t.m.Entity)
		}
		changes = append(changes, c)
	}
	if t.way == agentgw.Again {
		name := historyName(t.e.ID, t.before.Ordinal)
		changes = append(changes, Change{Name: name, Want: t.wants[name]})
	}
	if t.meaning() {
		changes = append(changes, Change{Name: nameIndex, Want: t.wants[nameIndex], Value: encodeIndex(t.index)})
	}
	replies, err := t.swapSurely(ctx, []Swap{{Partition: t.Op.ID.Partition, Stamp: t.random(), Changes: changes}})
	if err != nil {
		return err
	}
	t.note(replies[0])
	if b := t.before; b != nil && replies[0].Applied {
		b.Version = replies[0].Version
	}
	return t.undo(ctx)
}

// undo puts back the records elsewhere that had become ours.
func (t *try) undo(ctx context.Context) error {
	var swaps []Swap
	for _, n := range t.needs {
		if !n.mine {
			continue
		}
		swaps = append(swaps, Swap{Partition: n.Partition, Stamp: t.random(), Changes: []Change{n.giveUp(t.e, t.m.Now)}})
		n.mine, n.found, n.before = false, Record{Name: n.name}, Record{}
	}
	if len(swaps) == 0 {
		return nil
	}
	_, err := t.swapSurely(ctx, swaps)
	return err
}

// dropKey undoes or completes the binding of a caller's key that was sent along with a claim which then was not made: a duplicate
// binds it to what it was told about, a refusal leaves nothing behind.
func (t *try) dropKey(ctx context.Context, j agentgw.Judgement) error {
	n := t.keyNeed()
	if n == nil || !n.mine {
		return nil
	}
	c := Change{Name: n.name, Want: n.found.Version}
	if own := t.m.Own; own != nil && (j.Verdict == agentgw.Replayed || j.Verdict == agentgw.InFlight || j.Verdict == agentgw.InDoubt) && j.Holder == nil {
		c.Value = holder{ID: own.ID, Base: own.Base, Ordinal: own.Ordinal}.encode()
		c.Keep = unfinished
		if own.State == agentgw.StateSucceeded {
			c.Keep = keepFor(own, t.m.Now)
		}
	}
	_, err := t.swap(ctx, Swap{Partition: n.Partition, Stamp: t.random(), Changes: []Change{c}})
	return err
}

// readAll looks at everything that a claim would swap.
func (t *try) readAll(ctx context.Context) error {
	names := []string{t.ownName()}
	if t.transition() {
		names = append(names, nameEntity)
	}
	if t.meaning() {
		names = append(names, nameIndex)
	}
	if t.Op.Rule.Tombstone > 0 {
		names = append(names, t.answerName())
	}
	main := Swap{Partition: t.Op.ID.Partition}
	for _, name := range names {
		main.Changes = append(main.Changes, Change{Name: name, Look: true})
	}
	swaps := []Swap{main}
	for _, n := range t.needs {
		swaps = append(swaps, Swap{Partition: n.Partition, Changes: []Change{{Name: n.name, Look: true}}})
	}
	replies, err := t.swap(ctx, swaps...)
	if err != nil {
		return err
	}
	for i, n := range t.needs {
		n.found = replies[i+1].Records[0]
	}
	if err := t.remember(ctx, replies[0]); err != nil {
		return err
	}
	return t.examineNeeds(ctx)
}

// lookElsewhere looks at the needs of a claim before it is refused for a reason that comes after them in the order of judgement. true:
// judge again.
func (t *try) lookElsewhere(ctx context.Context, j agentgw.Judgement) (bool, error) {
	if t.looked || len(t.needs) == 0 || j.Verdict != agentgw.Blocked && j.Verdict != agentgw.Similar {
		return false, nil
	}
	t.looked = true
	var swaps []Swap
	for _, n := range t.needs {
		swaps = append(swaps, Swap{Partition: n.Partition, Changes: []Change{{Name: n.name, Look: true}}})
	}
	replies, err := t.swap(ctx, swaps...)
	if err != nil {
		return false, err
	}
	for i, n := range t.needs {
		if !n.mine {
			n.found, n.vacant = replies[i].Records[0], false
		}
	}
	return true, t.examineNeeds(ctx)
}

// examineNeeds says who would be in the way elsewhere.
func (t *try) examineNeeds(ctx context.Context) error {
	probe := claimNext(t.m.Own, t.Op, t.Call, agentgw.Fresh, false, t.random(), true)
	for _, n := range t.needs {
		if n.Kind == agentgw.PartitionCallerKey {
			continue // remember did
		}
		_, ok, err := n.take(&probe, t.m.Now)
		if err == nil && !ok {
			_, err = t.examine(ctx, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
