package ledger

import (
	"context"
	"time"

	"agentgw"
)

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

// reread looks again at a record that may or may not have become ours.
func (t *try) reread(ctx context.Context, n *need) error {
	replies, err := t.swap(ctx, look(n.Partition, n.name))
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
			swaps = append(swaps, t.claiming(n.Partition, Change{Name: n.name, Want: n.found.Version, Value: v}))
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
	return false, errContended
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
		if x != nil && h.names(x) && x.State.Open() && !(x.ID.Newest() && (x.State == agentgw.StateIndeterminate || x.Lapsed(t.m.Now))) {
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
		if x != nil && turn(x) == r.Turn && (x.State == agentgw.StateSucceeded || x.State == agentgw.StateVoided) {
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
	if !el.Stands(t.m.Now) {
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
			c.Keep = max(own.Gone.Sub(t.m.Now), time.Millisecond)
		}
	}
	_, err := t.swap(ctx, Swap{Partition: n.Partition, Stamp: t.random(), Changes: []Change{c}})
	return err
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
		swaps = append(swaps, look(n.Partition, n.name))
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
	probe, _ := claimNext(t.m.Own, t.Op, t.Call, agentgw.Fresh, false, t.random(), true)
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
