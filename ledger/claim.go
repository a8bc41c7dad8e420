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

// errContended: so many callers want the same records that none of the tries went through.
var errContended = errors.New("too many callers change the same records at once; try again")

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
	return Finding{}, errContended
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
	replies, err := l.swap(ctx, look(op.ID.Partition, nameEntity))
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
	own    string   // name of the effect's own record
	wants  versions // of the partition's records as last seen; nil: none was
	needs  []*need
	dry    bool
	e      *agentgw.Effect // the claim, once written
	before *agentgw.Effect // what stood there before
	way    agentgw.Way
	index  []wording // meaning: what was claimed in this partition
	looked bool      // the needs were looked at before a refusal
}

func (l *Ledger) newTry(a Ask) *try {
	t := &try{Ledger: l, Ask: a, own: a.Op.ID.Record(), needs: needs(a.Op)}
	t.m.Token, t.m.State = a.Token, a.State
	if len(a.Op.Elements) > 0 {
		t.m.Elements = make([]*agentgw.Effect, len(a.Op.Elements))
	}
	return t
}

func (t *try) inHand() *Claim {
	c := &Claim{Effect: t.e, op: t.Op, needs: t.needs, entity: t.m.Entity}
	if outlived(t.Op.Rule) {
		c.apart = t.wants.of(answerOf(t.own))
	}
	if t.way == agentgw.Again {
		c.prior = t.before
	}
	return c
}

func answerName(id agentgw.EffectID) string { return answerOf(id.Record()) }

// answerOf is the name of the record in which the answer of another one stands apart.
func answerOf(record string) string { return "a" + record[1:] }

func historyName(id agentgw.EffectID, ordinal int) string {
	return fmt.Sprintf("h%s.%d", id.Record()[1:], ordinal)
}

func (t *try) transition() bool { return t.Op.Entity != "" }

// claiming is a swap on the strength of which something is sent.
func (t *try) claiming(p agentgw.Partition, changes ...Change) Swap {
	return Swap{Partition: p, Stamp: t.random(), Claim: true, Replicated: t.Op.Rule.Durability == agentgw.DurabilityReplicated, Changes: changes}
}

// claimMain swaps the effect's own records, and sends the caller's key along. Not applied: the memory is what is there instead.
func (t *try) claimMain(ctx context.Context, j agentgw.Judgement) (bool, error) {
	e, ok := claimNext(t.m.Own, t.Op, t.Call, j.Way, j.Repeat, t.random(), len(t.needs) > 0)
	if !ok {
		return false, fmt.Errorf("%s is %q, and %s has no place there: %w", t.Op.ID, claimedFrom(t.m.Own, t.Op, j.Way), claimEvent(j.Way, len(t.needs) > 0), ErrNotApplied)
	}
	t.way = j.Way
	for _, n := range t.needs {
		e.Holds = append(e.Holds, n.Hold)
	}
	swaps := []Swap{t.claiming(t.Op.ID.Partition, t.mainChanges(&e, j.Way)...)}
	key := t.keyNeed()
	if key != nil && !(key.found.Version != 0 && !key.mine) {
		if v, ok, err := key.take(&e, t.m.Now); err != nil {
			return false, err
		} else if ok {
			swaps = append(swaps, t.claiming(key.Partition, Change{Name: key.name, Want: key.found.Version, Value: v}))
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
	t.before = t.m.Own
	t.m.Now = replies[0].Now
	t.note(replies[0])
	e.Version, e.Updated, e.Now = replies[0].Version, replies[0].Now, replies[0].Now
	fill(&e)
	t.e = &e
	return true, nil
}

func (t *try) mainChanges(e *agentgw.Effect, way agentgw.Way) []Change {
	changes := []Change{{Name: t.own, Want: t.wants.of(t.own), Value: encodeEffect(e), Open: indexed(e)}}
	if t.transition() {
		en := agentgw.Entity{}
		if t.m.Entity != nil {
			en = *t.m.Entity
		}
		en.Holder, en.Fence = e.ID, e.Claim
		changes = append(changes, Change{Name: nameEntity, Want: t.wants.of(nameEntity), Value: encodeEntity(&en)})
	}
	if way == agentgw.Again {
		name := historyName(e.ID, t.m.Own.Ordinal)
		changes = append(changes, Change{Name: name, Want: t.wants.of(name), Value: encodeEffect(t.m.Own), Keep: max(t.m.Own.Gone.Sub(t.m.Now), time.Millisecond)})
	}
	if t.meaning() {
		changes = append(changes, Change{Name: nameIndex, Want: t.wants.of(nameIndex), Value: encodeIndex(t.indexWith(t.Op))})
	}
	if outlived(t.Op.Rule) {
		changes = append(changes, Change{Name: answerOf(t.own), Look: true})
	}
	return changes
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

// launch moves a claim that holds all it needs to in_flight. false: it lapsed meanwhile and was freed.
func (t *try) launch(ctx context.Context) (bool, error) {
	next, ok := step(*t.e, evLaunch)
	if !ok {
		return false, fmt.Errorf("launch from %s", t.e.State)
	}
	swaps := []Swap{t.claiming(t.Op.ID.Partition, Change{Name: t.own, Want: t.e.Version, Value: encodeEffect(&next), Open: indexed(&next)})}
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
	if _, ok := step(*t.e, releaseEvent(t.way)); !ok {
		return fmt.Errorf("release from %s", t.e.State)
	}
	own := Change{Name: t.own, Want: t.e.Version}
	if b := t.before; b != nil {
		own.Value, own.Keep, own.Open = encodeEffect(b), keepFor(b, t.m.Now), indexed(b)
	}
	changes := []Change{own}
	if t.transition() {
		c := Change{Name: nameEntity, Want: t.wants.of(nameEntity)}
		if t.m.Entity != nil {
			c.Value = encodeEntity(t.m.Entity)
		}
		changes = append(changes, c)
	}
	if t.way == agentgw.Again {
		name := historyName(t.e.ID, t.before.Ordinal)
		changes = append(changes, Change{Name: name, Want: t.wants.of(name)})
	}
	if t.meaning() {
		changes = append(changes, Change{Name: nameIndex, Want: t.wants.of(nameIndex), Value: encodeIndex(t.index)})
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
