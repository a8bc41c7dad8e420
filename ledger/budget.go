package ledger

import (
	"encoding/binary"
	"slices"
	"time"

	"agentgw"
)

// budget is the record of a limit: what is reserved, and how much was done in each slice of the window. A slice is a 64th of the
// window, so an effect may count up to a 64th too long, never too short.
type budget struct {
	Per      time.Duration
	Reserved []reservation
	Slices   []slice
}

type reservation struct {
	ID    agentgw.EffectID
	Turn  uint64 // see turn
	At    time.Time
	Count int
}

type slice struct {
	Index int64 // time in units of Per/64
	Count int
}

const slicesPerWindow = 64

func (b *budget) encode() []byte {
	out := binary.AppendUvarint(nil, uint64(b.Per))
	out = binary.AppendUvarint(out, uint64(len(b.Slices)))
	for _, s := range b.Slices {
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(s.Index)), uint64(s.Count))
	}
	for _, r := range b.Reserved {
		out = append(out, texts(r.ID.String())...)
		out = binary.BigEndian.AppendUint64(out, r.Turn)
		out = binary.AppendUvarint(binary.AppendUvarint(out, micros(r.At)), uint64(r.Count))
	}
	return out
}

func decodeBudget(v []byte) (b budget, err error) {
	if len(v) == 0 {
		return b, nil
	}
	torn := false
	num := func() uint64 {
		n, k := binary.Uvarint(v)
		if k <= 0 {
			torn = true
			return 0
		}
		v = v[k:]
		return n
	}
	b.Per = time.Duration(num())
	for n := num(); n > 0 && !torn; n-- {
		b.Slices = append(b.Slices, slice{Index: int64(num()), Count: int(num())})
	}
	for len(v) > 0 && !torn {
		var r reservation
		n := num()
		if n+8 > uint64(len(v)) {
			return b, errTorn
		}
		if r.ID, err = agentgw.ParseEffectID(string(v[:n])); err != nil {
			return b, err
		}
		r.Turn = binary.BigEndian.Uint64(v[n:])
		v = v[n+8:]
		r.At, r.Count = fromMicros(num()), int(num())
		b.Reserved = append(b.Reserved, r)
	}
	if torn {
		return b, errTorn
	}
	return b, nil
}

func (b *budget) width() time.Duration { return max(b.Per/slicesPerWindow, time.Microsecond) }

// trim forgets what is older than the window.
func (b *budget) trim(now time.Time) {
	b.Slices = slices.DeleteFunc(b.Slices, func(s slice) bool {
		return !now.Before(time.UnixMicro((s.Index + 1) * b.width().Microseconds()).Add(b.Per))
	})
	b.Reserved = slices.DeleteFunc(b.Reserved, func(r reservation) bool { return !now.Before(r.At.Add(b.Per)) })
}

func (b *budget) count() (n int) {
	for _, s := range b.Slices {
		n += s.Count
	}
	for _, r := range b.Reserved {
		n += r.Count
	}
	return n
}

// reserve counts e against the limit before it is sent; false where the budget is spent. An effect that is tried again while in doubt
// still has its place.
func (b *budget) reserve(e *agentgw.Effect, n int, limit *agentgw.Budget, now time.Time) ([]byte, bool, error) {
	b.Per = limit.Per
	b.trim(now)
	for earlier := 1; earlier < e.Ordinal; earlier++ { // what a repeat stands over was done
		b.settle(e.ID, e.Base+uint64(earlier), agentgw.Succeeded, now)
	}
	b.Reserved = slices.DeleteFunc(b.Reserved, func(r reservation) bool { return r.ID == e.ID })
	if b.count()+n > limit.Count {
		return nil, false, nil
	}
	b.Reserved = append(b.Reserved, reservation{ID: e.ID, Turn: turn(e), At: now, Count: n})
	return b.encode(), true, nil
}

// settle turns an effect's reservation into a count, or returns it.
func (b *budget) settle(id agentgw.EffectID, turn uint64, outcome agentgw.Outcome, now time.Time) bool {
	i := slices.IndexFunc(b.Reserved, func(r reservation) bool { return r.ID == id && r.Turn == turn })
	if i < 0 {
		return false
	}
	r := b.Reserved[i]
	b.Reserved = slices.Delete(b.Reserved, i, i+1)
	b.trim(now)
	if outcome == agentgw.Succeeded {
		index := r.At.UnixMicro() / b.width().Microseconds()
		if at := slices.IndexFunc(b.Slices, func(s slice) bool { return s.Index == index }); at >= 0 {
			b.Slices[at].Count += r.Count
		} else {
			b.Slices = append(b.Slices, slice{Index: index, Count: r.Count})
		}
	}
	return true
}

// restore takes back the reservation that an effect had in an earlier state of the budget.
func (b *budget) restore(before Record, id agentgw.EffectID) {
	old, err := decodeBudget(before.Value)
	if err != nil {
		return
	}
	for _, r := range old.Reserved {
		if r.ID == id {
			b.Reserved = append(b.Reserved, r)
		}
	}
}

// freeAt is when the oldest of what is counted leaves the window.
func (b *budget) freeAt() time.Time {
	var first time.Time
	for _, r := range b.Reserved {
		if t := r.At.Add(b.Per); first.IsZero() || t.Before(first) {
			first = t
		}
	}
	for _, s := range b.Slices {
		if t := time.UnixMicro((s.Index + 1) * b.width().Microseconds()).Add(b.Per).UTC(); first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first
}
