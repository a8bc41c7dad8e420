package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// keep renews the lease of a claim while its attempt runs. stop ends that.
func (g *Gateway) keep(ctx context.Context, claim *ledger.Claim) (stop func()) {
	k := &keeper{g: g, ctx: ctx, held: claim, claim: *claim, every: claim.Effect.Lease / 3}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cancel = g.Clock.AfterFunc(k.every, k.renew)
	return k.stop
}

// keeper works on a copy of the claim, and hands the version it renewed last to the settlement. One that is just being renewed the
// settlement finds by itself, so neither waits for the other.
type keeper struct {
	g     *Gateway
	ctx   context.Context
	held  *ledger.Claim // the settlement's
	every time.Duration

	mu      sync.Mutex
	claim   ledger.Claim
	stopped bool
	cancel  func()
}

func (k *keeper) renew() {
	k.mu.Lock()
	claim := k.claim
	k.mu.Unlock()
	err := k.g.Ledger.Renew(k.ctx, &claim)
	if errors.Is(err, ledger.ErrStale) {
		return // lapsed, or settled: nothing revives it
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.claim = claim
	if !k.stopped {
		k.cancel = k.g.Clock.AfterFunc(k.every, k.renew)
	}
}

func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	k.held.Effect = k.claim.Effect
	k.cancel()
}

// settle records how an attempt ended. Where the ledger is away that is tried again until it is written: the caller has the tool's
// answer all the same.
func (g *Gateway) settle(ctx context.Context, claim *ledger.Claim, res agentgw.Result) *agentgw.Effect {
	e, err := g.Ledger.Settle(ctx, claim, res)
	switch {
	case err == nil:
		return e
	case errors.Is(err, ledger.ErrStale):
		g.raise(claim.Effect, fmt.Sprintf("its attempt ended as %s after it had moved on", res.Outcome))
		if e != nil {
			return e
		}
		return claim.Effect
	}
	written := g.spool(claim.Effect, res)
	g.until(ctx, claim.Effect.ID, "an outcome that is not written", func(ctx context.Context) error {
		_, err := g.Ledger.Settle(ctx, claim, res)
		if errors.Is(err, ledger.ErrStale) {
			g.raise(claim.Effect, fmt.Sprintf("its attempt ended as %s after it had moved on", res.Outcome))
			err = nil
		}
		if err == nil {
			written()
		}
		return err
	})
	return claim.Effect
}

func (g *Gateway) raise(e *agentgw.Effect, what string) {
	if g.Observe != nil {
		g.Observe.Raised(e, what)
	}
}

// until repeats what has to reach the ledger, ever more slowly, for a day.
func (g *Gateway) until(ctx context.Context, id agentgw.EffectID, what string, f func(context.Context) error) {
	g.raise(&agentgw.Effect{ID: id}, what)
	end := g.Clock.Now().Add(24 * time.Hour)
	pause := 100 * time.Millisecond
	var again func()
	again = func() {
		if f(ctx) == nil || g.Clock.Now().After(end) {
			return
		}
		pause = min(2*pause, time.Hour)
		g.Clock.AfterFunc(pause, again)
	}
	g.Clock.AfterFunc(pause, again)
}

// upstreamKey is what the upstream dedups by: one for an effect's generation, so that a doubt is tried again under the key it was sent
// with, and what failed, was voided or is wanted once more gets another. "" where the upstream has no header for it.
func (g *Gateway) upstreamKey(p *plan, e *agentgw.Effect) string {
	u := g.upstream(p)
	if u == nil || u.IdempotencyHeader == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", e.ID, e.Generation))
	return "agentgw-" + hex.EncodeToString(sum[:16])
}

// readState asks the tool that tells the state of the call's object, where the policy names one. Nothing is claimed for it: a
// transition that comes between the reading and the claim makes the ledger ask for another.
func (g *Gateway) readState(ctx context.Context, p *plan, a *ledger.Ask) error {
	if p.def.StateTool == nil {
		return nil
	}
	args, err := p.def.StateArguments(p.call, p.args)
	if err != nil {
		return err
	}
	if a.Since, err = g.Ledger.EntityVersion(ctx, p.op); err != nil {
		return err
	}
	answer, err := g.askTool(ctx, p.def, p.call, p.def.StateTool.Tool, args)
	if err != nil {
		return fmt.Errorf("the state of %s is not known: %w", p.op.EntityOf, err)
	}
	answer.Call, answer.Args = p.call, p.args
	state, err := p.def.StateValue(answer)
	a.State = &state
	return err
}
