package ledger

import (
	"context"
	"fmt"
	"time"

	"agentgw"
)

// versions are those of a few records.
type versions []seen

type seen struct {
	name    string
	version uint64
}

// of is 0 for a record that is absent or was not seen.
func (vs versions) of(name string) uint64 {
	for _, v := range vs {
		if v.name == name {
			return v.version
		}
	}
	return 0
}

func (vs *versions) set(name string, version uint64) {
	for i := range *vs {
		if v := &(*vs)[i]; v.name == name {
			v.version = version
			return
		}
	}
	*vs = append(*vs, seen{name, version})
}

// note keeps the versions that a reply names.
func (t *try) note(r Reply) {
	if t.wants == nil {
		t.wants = make(versions, 0, len(r.Records))
	}
	for _, rec := range r.Records {
		t.wants.set(rec.Name, rec.Version)
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
	case t.own:
		t.m.Own, err = decodeEffect(t.Op.ID.Partition, rec, now)
		if err == nil && t.m.Own.Digest != t.Op.Digest {
			return fmt.Errorf("%s: its key is also the key of another operation; nothing is sent for either", t.Op.ID)
		}
	case nameEntity:
		t.m.Entity, err = decodeEntity(rec)
	case nameIndex:
		t.index, err = decodeIndex(rec.Value)
	case answerOf(t.own):
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
		t.wants.set(t.own, e.Version)
	} else {
		t.wants.set(t.own, 0)
	}
	if !t.dry && t.transition() { // the entity's record changed with it
		replies, err := t.swap(ctx, look(t.Op.ID.Partition, nameEntity))
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
	if !x.Stands(t.m.Now) || x.Base != h.Base {
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

// readAll looks at everything that a claim would swap.
func (t *try) readAll(ctx context.Context) error {
	names := []string{t.own}
	if t.transition() {
		names = append(names, nameEntity)
	}
	if t.meaning() {
		names = append(names, nameIndex)
	}
	if outlived(t.Op.Rule) {
		names = append(names, answerOf(t.own))
	}
	swaps := []Swap{look(t.Op.ID.Partition, names...)}
	for _, n := range t.needs {
		swaps = append(swaps, look(n.Partition, n.name))
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
