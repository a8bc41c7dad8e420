package gateway

import (
	"context"
	"errors"

	"agentgw"
	"agentgw/ledger"
)

// Begin claims an effect for an action that the caller does itself (call.Nonce names the claim). The verdict is ClaimedForCaller, with
// Decision.Effect carrying fence and lease, or a refusal.
func (g *Gateway) Begin(ctx context.Context, call *agentgw.Call) *agentgw.Decision {
	ctx = context.WithoutCancel(ctx)
	start := g.Clock.Now()
	d := g.begin(ctx, call)
	if g.Observe != nil {
		g.Observe.Decided(call, d, g.Clock.Now().Sub(start))
	}
	return d
}

func (g *Gateway) begin(ctx context.Context, call *agentgw.Call) *agentgw.Decision {
	if call.Nonce == "" {
		return rejected("A nonce is needed: a text of your own that names this action, the same when you ask again.")
	}
	p, refusal := g.plan(call, nil)
	if refusal != nil {
		return refusal
	}
	if p.op == nil {
		return &agentgw.Decision{Verdict: agentgw.Passed, Detail: "No effect is remembered for this call; go ahead."}
	}
	found, refusal := g.ask(ctx, p)
	if refusal != nil {
		return refusal
	}
	if found.Verdict == agentgw.Executed && call.Mode != agentgw.Check {
		return &agentgw.Decision{Verdict: agentgw.ClaimedForCaller, Operation: p.def.Name, Effect: found.Effect, Canonical: p.op.Fields}
	}
	d := g.decision(ctx, p, found)
	// A claim that still needs records elsewhere may yet be refused: nobody is told to go ahead with it.
	if e := found.Effect; d.Verdict == agentgw.InFlight && e != nil && e.State == agentgw.StateInFlight && e.ID == p.op.ID &&
		e.Nonce == call.Nonce && e.Principal == call.Principal {
		d.Effect = e
		d.Verdict, d.Reason, d.Detail, d.RetryAfter = agentgw.ClaimedForCaller, "", "", 0
	}
	return d
}

// Renew starts the lease of a claim again. ledger.ErrStale where the fence is not the claim's any more, or the lease has lapsed.
func (g *Gateway) Renew(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64) (*agentgw.Effect, error) {
	if e, err := g.ofCaller(ctx, tenant, id); err != nil {
		return e, err
	}
	return g.Ledger.RenewFence(context.WithoutCancel(ctx), id, fence)
}

// Complete says how a begun action ended. Saying the same again succeeds; something else is ledger.ErrStale, and is kept as evidence.
func (g *Gateway) Complete(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64, res agentgw.Result) (*agentgw.Effect, error) {
	if e, err := g.ofCaller(ctx, tenant, id); err != nil {
		return e, err
	}
	e, err := g.Ledger.SettleFence(context.WithoutCancel(ctx), id, fence, res)
	if errors.Is(err, ledger.ErrStale) {
		g.raise(e, "its outcome was told too late, otherwise than before, or with a fence that is not its latest attempt's")
	}
	return e, err
}

// ofCaller is an effect whose outcome its caller tells. What was sent through a gateway is settled by that, whoever knows its fence.
func (g *Gateway) ofCaller(ctx context.Context, tenant string, id agentgw.EffectID) (*agentgw.Effect, error) {
	e, err := g.Effect(ctx, tenant, id)
	if err == nil && e.Nonce == "" {
		err = ledger.ErrStale
	}
	return e, err
}

// Effect shows one effect of a tenant; ledger.ErrNotFound where there is none, or it is another tenant's.
func (g *Gateway) Effect(ctx context.Context, tenant string, id agentgw.EffectID) (*agentgw.Effect, error) {
	e, err := g.Ledger.Get(ctx, id)
	if err == nil && e.Tenant != tenant {
		err = ledger.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}
