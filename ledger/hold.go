package ledger

import (
	"encoding/binary"
	"time"

	"agentgw"
)

// A claim may need records in other partitions: the lock of a resource, the binding of the caller's key, a place in a budget, the
// elements of a batch. Each such record names the effect and its claim, and counts only while the effect says the same. So whoever
// meets another's record looks at that effect first, and a record that was left behind by a crash is simply taken over.

// need is one such record on its way to being held.
type need struct {
	agentgw.Hold
	name    string
	element int                // index into Elements; -1
	op      *agentgw.Operation // the batch, or the operation itself
	found   Record             // as last seen; Version 0: absent
	before  Record             // what stood there before it was ours
	vacant  bool               // found names another, who has been looked at and no longer counts
	mine    bool
}

// names of records outside of effects' partitions.
const (
	nameKey    = "k"
	nameLock   = "l"
	nameBudget = "b"
	nameEntity = "s"
)

// needs lists what a claim of op must hold elsewhere; none for an effect of one partition.
func needs(op *agentgw.Operation) []*need {
	var all []*need
	add := func(p agentgw.Partition, name, of string, element int) {
		if p != "" {
			all = append(all, &need{Hold: agentgw.Hold{Kind: p[0], Partition: p, Of: of}, name: name, element: element, op: op})
		}
	}
	add(op.CallerKey, nameKey, "", -1)
	add(op.Lock, nameLock, op.LockOf, -1)
	add(op.Limit, nameBudget, "", -1)
	for i := range op.Elements {
		add(op.Elements[i].ID.Partition, op.Elements[i].ID.Record(), "", i)
	}
	return all
}

func holdName(h agentgw.Hold) string {
	switch h.Kind {
	case agentgw.PartitionCallerKey:
		return nameKey
	case agentgw.PartitionLock:
		return nameLock
	case agentgw.PartitionLimit:
		return nameBudget
	}
	return string(h.Partition) // an element alone in its partition: "e" and its key
}

// holder is what a lock, or a caller's key, names: one ordinal of an effect, whichever of its attempts is at it.
type holder struct {
	ID      agentgw.EffectID
	Base    uint64
	Ordinal int
}

// names reports whether h names what e is doing, or has done last. Base is random: no two effects share one.
func (h holder) names(e *agentgw.Effect) bool { return h.Base == e.Base && h.Ordinal == e.Ordinal }

// turn names the ordinal of an effect in one number.
func turn(e *agentgw.Effect) uint64 { return e.Base + uint64(e.Ordinal) }

func (h holder) encode() []byte {
	b := texts(h.ID.String())
	b = binary.BigEndian.AppendUint64(b, h.Base)
	return binary.AppendUvarint(b, uint64(h.Ordinal))
}

func decodeHolder(b []byte) (h holder, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n+8 >= uint64(len(b)-k)+1 {
		return h, errTorn
	}
	if h.ID, err = agentgw.ParseEffectID(string(b[k : k+int(n)])); err != nil {
		return h, err
	}
	b = b[k+int(n):]
	h.Base = binary.BigEndian.Uint64(b)
	ordinal, _ := binary.Uvarint(b[8:])
	h.Ordinal = int(ordinal)
	return h, nil
}

// take is the value that makes the record e's, and whether it may be written over what was found. The limit's value counts e's effects.
func (n *need) take(e *agentgw.Effect, now time.Time) (value []byte, ok bool, err error) {
	switch n.Kind {
	case agentgw.PartitionCallerKey, agentgw.PartitionLock:
		if n.found.Version != 0 && !n.vacant {
			h, err := decodeHolder(n.found.Value)
			if err != nil || h.ID != e.ID {
				return nil, false, err
			}
		}
		return holder{ID: e.ID, Base: e.Base, Ordinal: e.Ordinal}.encode(), true, nil
	case agentgw.PartitionLimit:
		b, err := decodeBudget(n.found.Value)
		if err != nil {
			return nil, false, err
		}
		return b.reserve(e, max(1, len(n.op.Elements)), n.op.Rule.Limit, now)
	}
	el := n.op.Elements[n.element]
	next := elementOf(e, &el)
	if n.found.Version != 0 && !n.vacant {
		old, err := decodeEffect(n.Partition, n.found, now)
		if err != nil || !e.Prior || old.State != agentgw.StateSucceeded || old.Batch != e.ID || old.Base != e.Base || old.Ordinal != e.Ordinal-1 {
			return nil, false, err
		}
		next.Prior, next.Settled, next.Expires, next.Gone = true, old.Settled, old.Expires, old.Gone // it comes back if the repeat fails
	}
	return encodeEffect(next), true, nil
}

// elementOf is the record of a batch's element while the batch is under way: the batch's own state decides. It belongs to one ordinal of
// the batch, whichever claim settles that.
func elementOf(batch *agentgw.Effect, el *agentgw.Operation) *agentgw.Effect {
	return &agentgw.Effect{
		ID: el.ID, Operation: batch.Operation, Tenant: batch.Tenant, Principal: batch.Principal, Context: batch.Context, Digest: el.Digest,
		State: agentgw.StateClaimed, Claim: batch.Claim, Batch: batch.ID, Ordinal: batch.Ordinal, Base: batch.Base, Attempt: 1, Lease: batch.Lease,
		Fields: remember(el.Fields), TTL: batch.TTL, Sliding: batch.Sliding, Tomb: batch.Tomb, Keep: agentgw.KeepNothing, Linger: batch.Linger,
	}
}

// done is what becomes of a held record when its effect e is settled: a change, or none where the record is not e's (any more).
func done(h agentgw.Hold, r Record, e *agentgw.Effect, outcome agentgw.Outcome, now time.Time) (Change, bool) {
	if r.Version == 0 || outcome == agentgw.Indeterminate {
		return Change{}, false
	}
	c := Change{Name: r.Name, Want: r.Version}
	switch h.Kind {
	case agentgw.PartitionCallerKey:
		k, err := decodeHolder(r.Value)
		if err != nil || !k.names(e) {
			return c, false
		}
		if outcome == agentgw.Succeeded {
			c.Value, c.Keep = r.Value, e.TTL+e.Tomb
		}
		return c, true
	case agentgw.PartitionLock:
		k, err := decodeHolder(r.Value)
		return c, err == nil && k.names(e)
	case agentgw.PartitionLimit:
		b, err := decodeBudget(r.Value)
		if err != nil || !b.settle(e.ID, turn(e), outcome, now) {
			return c, false
		}
		c.Value, c.Keep = b.encode(), b.Per+time.Minute
		return c, true
	}
	el, err := decodeEffect(h.Partition, r, now)
	if err != nil || !ofOrdinal(el, e) {
		return c, false
	}
	switch {
	case outcome == agentgw.Succeeded:
		el.State, el.Prior, el.Settled, el.Expires, el.Gone = agentgw.StateSucceeded, false, time.Time{}, time.Time{}, time.Time{}
		c.Value, c.Keep = encodeEffect(el), el.TTL+el.Tomb
	case el.Prior:
		c.Value, c.Keep = encodeEffect(fallBack(el)), keepFor(el, now)
	}
	return c, true
}

// ofOrdinal reports whether an element belongs to what its batch is doing, or has done last.
func ofOrdinal(el, batch *agentgw.Effect) bool {
	return el.Batch == batch.ID && el.Base == batch.Base && el.Ordinal == batch.Ordinal
}

// fallBack turns the element of a repeat that failed into the success it repeated.
func fallBack(el *agentgw.Effect) *agentgw.Effect {
	el.State, el.Prior, el.Ordinal = agentgw.StateSucceeded, false, el.Ordinal-1
	return el
}

// giveUp puts back what stood in the record before it was taken for e. A doubt that is tried again had taken it already.
func (n *need) giveUp(e *agentgw.Effect, now time.Time) Change {
	c := Change{Name: n.name, Want: n.found.Version}
	switch {
	case n.Kind == agentgw.PartitionLimit:
		b, err := decodeBudget(n.found.Value)
		if err == nil && b.settle(e.ID, turn(e), agentgw.Failed, now) {
			b.restore(n.before, e.ID)
			c.Value, c.Keep = b.encode(), b.Per+time.Minute
		}
	case n.before.Version == 0:
	case n.Kind == agentgw.PartitionLock:
		c.Value = n.before.Value
	case n.Kind == agentgw.PartitionCallerKey:
		c.Value, c.Keep = n.before.Value, unfinished
	default:
		if el, err := decodeEffect(n.Partition, n.before, now); err == nil {
			c.Value, c.Keep = n.before.Value, keepFor(el, now)
		}
	}
	return c
}

// unfinished is how long the binding of a caller's key to an unfinished effect is kept: long enough for any doubt that someone still
// cares for.
const unfinished = 400 * 24 * time.Hour
