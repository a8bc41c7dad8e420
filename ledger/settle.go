package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentgw"
)

// Settle records how an attempt ended. A repeat of the same word succeeds; where the effect has moved on under another claim, or was
// settled otherwise by an operator, the word is kept as evidence and the error is ErrStale. Any other error leaves open whether it was
// written: the same call again is safe.
func (l *Ledger) Settle(ctx context.Context, c *Claim, res agentgw.Result) (*agentgw.Effect, error) {
	res = word(c.Effect, res)
	if c.op == nil || res.Outcome == agentgw.Failed && c.Effect.Prior && c.prior == nil {
		return l.settleFound(ctx, c, res) // what stands behind it is not in hand
	}
	for range maxTries {
		next, main, ok := l.settlement(c, res)
		if !ok {
			return nil, ErrStale
		}
		swaps, asked := []Swap{main}, []*need{}
		for _, n := range c.needs {
			if ch, ok := done(n.Hold, n.found, c.Effect, res.Outcome, c.Effect.Now); ok {
				swaps, asked = append(swaps, Swap{Partition: n.Partition, Stamp: l.random(), Changes: []Change{ch}}), append(asked, n)
			}
		}
		replies, err := l.swap(ctx, swaps...)
		if err != nil {
			return nil, err
		}
		missed := false
		for i := range asked {
			missed = missed || !replies[i+1].Applied
		}
		if r := replies[0]; r.Applied {
			next.Version, next.Updated, next.Now = r.Version, r.Now, r.Now
			fill(next)
			if missed {
				err = l.finish(ctx, c.Effect, next, res.Outcome)
			}
			return next, err
		}
		settled, again, err := l.settledElsewhere(ctx, c, replies[0], res)
		if !again {
			return settled, err
		}
	}
	return nil, errContended
}

// settlement is the swap in the effect's own partition that settles c.
func (l *Ledger) settlement(c *Claim, res agentgw.Result) (*agentgw.Effect, Swap, bool) {
	e := c.Effect
	next, ok := settleNext(*e, res)
	if !ok {
		return nil, Swap{}, false
	}
	out := &next
	var more []Change
	if res.Outcome == agentgw.Failed && c.prior != nil {
		back := *c.prior
		back.Sends = e.Sends // those of the repeat count, too
		out = &back
		more = append(more, Change{Name: historyName(e.ID, c.prior.Ordinal), Want: c.Effect.Fence})
	}
	if e.Entity != "" && res.Outcome != agentgw.Indeterminate {
		en := agentgw.Entity{}
		if c.entity != nil {
			en = *c.entity
		}
		en.Version = e.Fence // the claim wrote it
		if res.Outcome == agentgw.Succeeded {
			m := moved(en, e)
			next.Move = m.Moves
			more = append(more, entityChange(m))
		} else {
			more = append(more, entityChange(letGo(en)))
		}
	}
	stored := out
	if out.State == agentgw.StateSucceeded && out.Answer != nil && beyond(out) > 0 {
		out.Apart = true
		more = append(more, Change{Name: answerName(e.ID), Want: c.apart, Value: encodeAnswer(out.Answer), Keep: max(remaining(out, e.Now), time.Millisecond)})
		without := *out
		without.Answer, stored = nil, &without
	}
	own := Change{Name: e.ID.Record(), Want: e.Version, Value: encodeEffect(stored), Keep: keepFor(stored, e.Now), Open: indexed(stored)}
	return out, Swap{Partition: e.ID.Partition, Stamp: l.random(), Changes: append([]Change{own}, more...)}, true
}

// remaining is how long the answer of a success is kept from now on.
func remaining(e *agentgw.Effect, now time.Time) time.Duration {
	if e.Expires.IsZero() {
		return e.TTL
	}
	return e.Expires.Sub(now)
}

// settledElsewhere looks at what a settlement met instead of its claim. again: only the version had moved on.
func (l *Ledger) settledElsewhere(ctx context.Context, c *Claim, r Reply, res agentgw.Result) (_ *agentgw.Effect, again bool, _ error) {
	if r.Records[0].Version == 0 {
		return nil, false, ErrStale
	}
	found, err := decodeEffect(c.Effect.ID.Partition, r.Records[0], r.Now)
	if err != nil {
		return nil, false, err
	}
	if found.Claim == c.Claim() {
		if found.State == agentgw.StateInFlight || found.State == agentgw.StateIndeterminate && res.Outcome != agentgw.Indeterminate {
			if found.Version == c.Effect.Version { // another record of the partition was in the way: it has expired meanwhile
				settled, err := l.settleFound(ctx, &Claim{Effect: found}, res)
				return settled, false, err
			}
			c.Effect = found
			return nil, true, nil
		}
		if string(found.State) == string(res.Outcome) {
			return found, false, nil
		}
	}
	now, err := l.noteLate(ctx, found, c.Effect.Fence, res)
	return now, false, err
}

// Claim is the random name of the claim.
func (c *Claim) Claim() uint64 { return c.Effect.Claim }

// Renew starts the lease again; ErrStale where it has lapsed, or the claim is not this one any more. That only the version has moved on
// (evidence was noted, or the reply to an earlier renewal got lost) ends nothing.
func (l *Ledger) Renew(ctx context.Context, c *Claim) error {
	e := c.Effect
	for range maxTries {
		next, ok := step(*e, evRenew)
		if !ok {
			return ErrStale
		}
		now, applied, err := l.put(ctx, e, &next, nil)
		switch {
		case err != nil:
			return err
		case applied:
			c.Effect = now
			return nil
		case now == nil || now.Claim != e.Claim || now.Lapsed(now.Now):
			return ErrStale
		}
		e = now
	}
	return errContended
}

// RenewFence starts the lease of a claim again, for whoever begins and completes. ErrNotFound; ErrStale where the lease has lapsed or
// the fence is not the claim's any more: renewal never revives a doubt.
func (l *Ledger) RenewFence(ctx context.Context, id agentgw.EffectID, fence uint64) (*agentgw.Effect, error) {
	e, err := l.byFence(ctx, id, fence)
	if err != nil {
		return e, err
	}
	c := Claim{Effect: e}
	err = l.Renew(ctx, &c)
	return c.Effect, err
}

// SettleFence records how an attempt ended, for whoever begins and completes. Errors as Settle's, and ErrNotFound.
func (l *Ledger) SettleFence(ctx context.Context, id agentgw.EffectID, fence uint64, res agentgw.Result) (*agentgw.Effect, error) {
	e, err := l.byFence(ctx, id, fence)
	if err == nil {
		e, err = l.settleFound(ctx, &Claim{Effect: e}, res)
	}
	if errors.Is(err, ErrStale) && e != nil {
		return l.noteLate(ctx, e, fence, res)
	}
	return e, err
}

// byFence is the effect whose claim holds the fence, with a lapse written first.
func (l *Ledger) byFence(ctx context.Context, id agentgw.EffectID, fence uint64) (*agentgw.Effect, error) {
	e, err := l.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if e.Fence == fence && e.Lapsed(e.Now) {
		if e, err = l.lapse(ctx, e, false); err != nil {
			return nil, err
		}
	}
	if e == nil || e.Fence != fence {
		return e, ErrStale
	}
	return e, nil
}

// noteLate keeps as evidence what a writer said that does not count: it came too late, or with a fence that is not the claim's. A claim that has since been made must not gain or lose by it: a lapse
// is written first, for every write starts the lease again, and nothing is written that would not be kept.
func (l *Ledger) noteLate(ctx context.Context, e *agentgw.Effect, fence uint64, res agentgw.Result) (*agentgw.Effect, error) {
	if e.Lapsed(e.Now) {
		now, err := l.lapse(ctx, e, false)
		if err != nil || now == nil {
			return now, errors.Join(ErrStale, err)
		}
		e = now
	}
	if e.State == agentgw.StateClaimed || len(e.Evidence) >= maxEvidence {
		return e, ErrStale
	}
	next := withEvidence(*e, lateWords(e, fence, res))
	if e.Apart {
		next.Answer = nil
	}
	now, applied, err := l.put(ctx, e, &next, nil)
	if err == nil && applied {
		e = now
	}
	return e, errors.Join(ErrStale, err)
}

// lateWords say what was told, and why it does not count. The fence may be an earlier attempt's or nobody's: who told it is not known.
func lateWords(e *agentgw.Effect, fence uint64, res agentgw.Result) string {
	why := "after this attempt was settled"
	if fence != e.Fence {
		why = "but that is not the latest attempt's fence"
	}
	words := fmt.Sprintf("told at %s with fence %d that it ended as %s, %s: it does not count",
		e.Now.UTC().Format(time.RFC3339), fence, res.Outcome, why)
	if res.Why != "" {
		words += " (" + res.Why + ")"
	}
	return words
}

// settleFound settles a claim of which only the effect is in hand: what it held is read first.
// Where only its version moved on meanwhile, by a renewal or a lapse, the word counts all the same.
func (l *Ledger) settleFound(ctx context.Context, c *Claim, res agentgw.Result) (*agentgw.Effect, error) {
	e := c.Effect
	res = word(e, res)
	for range maxTries {
		if string(e.State) == string(res.Outcome) && !e.State.Open() {
			return e, nil
		}
		next, ok := settleNext(*e, res)
		if !ok {
			return e, ErrStale
		}
		now, applied, err := l.conclude(ctx, e, &next, res.Outcome)
		if err != nil || applied {
			return now, err
		}
		if now == nil || now.Claim != e.Claim {
			return now, ErrStale
		}
		e = now
	}
	return e, errContended
}

// conclude writes the end of an effect whose other records are not in hand: it reads them first. Not applied: as put.
func (l *Ledger) conclude(ctx context.Context, e, next *agentgw.Effect, outcome agentgw.Outcome) (*agentgw.Effect, bool, error) {
	if outcome == agentgw.Failed {
		return l.giveBack(ctx, e, next, false)
	}
	var more []Change
	if outcome == agentgw.Succeeded && (e.Entity != "" || beyond(e) > 0) {
		replies, err := l.swap(ctx, look(e.ID.Partition, nameEntity, answerName(e.ID)))
		if err != nil {
			return nil, false, err
		}
		if rec := replies[0].Records[0]; e.Entity != "" && rec.Version != 0 {
			en, err := decodeEntity(rec)
			if err != nil {
				return nil, false, err
			}
			m := moved(*en, e)
			next.Move = m.Moves
			more = append(more, entityChange(m))
		}
		if next.Answer != nil && beyond(e) > 0 {
			more = append(more, Change{Name: answerName(e.ID), Want: replies[0].Records[1].Version, Value: encodeAnswer(next.Answer), Keep: e.TTL})
			next.Apart, next.Answer = true, nil
		}
	}
	now, applied, err := l.put(ctx, e, next, more)
	if err != nil || !applied {
		return now, false, err
	}
	return now, true, l.finish(ctx, e, now, outcome)
}
