package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// askedBack holds the attempts of tools that answered `input_required` (MCP 2026-07-28, multi round-trip requests): they have begun and
// not ended. They live in this process; with it they lapse into doubt.
type askedBack struct {
	mu   sync.Mutex
	held map[askKey]*asking
}

// askKey names one question: the effect, who may answer it, for which arguments, and the requestState that came with it. All must fit:
// what was claimed, and perhaps approved, were these arguments.
type askKey struct {
	effect            agentgw.EffectID
	tenant, principal string
	arguments         agentgw.Digest
	state             string
}

type asking struct {
	*begun
	cancel func() // of the timer that gives it up
}

// stateOf is the requestState with which a tool asks back; as a value, for clients write the same text with other escapes.
func stateOf(in *Incoming) (state string) {
	json.Unmarshal(memberOf(in.Answer.Body, "requestState"), &state)
	return state
}

// put keeps an attempt until its continuation, or for as long as the attempt may take: then its lease runs out.
func (b *askedBack) put(g *Gateway, p *plan, a *begun, state string) {
	key := keyOf(p, state)
	held := &asking{begun: a}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil {
		b.held = map[askKey]*asking{}
	}
	held.cancel = g.Clock.AfterFunc(min(g.timeout(p), time.Hour), func() { b.drop(key, held) })
	b.held[key] = held
}

func (b *askedBack) drop(key askKey, held *asking) {
	b.mu.Lock()
	mine := b.held[key] == held
	if mine {
		delete(b.held, key)
	}
	b.mu.Unlock()
	if mine {
		held.stop()
	}
}

// take gives out the attempt that a call continues, once. nil where the call continues none.
func (b *askedBack) take(p *plan) *begun {
	if p.op == nil || p.link == nil || !p.link.continues || p.call.Mode == agentgw.Check {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := keyOf(p, p.link.state)
	held := b.held[key]
	if held == nil {
		return nil
	}
	delete(b.held, key)
	held.cancel()
	return held.begun
}

// stillHolds reports whether an attempt that asked back has its claim yet: where this gateway stood still too long, another may have been
// told that the effect is free. Then its continuation is judged like any other call. The decision is a refusal: the ledger cannot be asked.
func (g *Gateway) stillHolds(ctx context.Context, p *plan, a *begun) (bool, *agentgw.Decision) {
	claim := *a.claim // the lease's keeper has one of its own, too
	err := g.Ledger.Renew(ctx, &claim)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ledger.ErrStale):
		a.stop()
		return false, nil
	}
	g.asked.put(g, p, a, p.link.state)
	return false, g.unavailable(p, err.Error())
}

func keyOf(p *plan, state string) askKey {
	return askKey{p.op.ID, p.call.Tenant, p.call.Principal, p.op.ArgDigest, state}
}
