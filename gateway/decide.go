package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/ledger"
)

// decision is what is said of a call that the ledger judged and that is not sent.
func (g *Gateway) decision(ctx context.Context, p *plan, f ledger.Finding) *agentgw.Decision {
	d := &agentgw.Decision{Verdict: f.Verdict, Reason: f.Reason, Detail: f.Detail, Operation: p.def.Name, Fields: f.Fields,
		RetryAfter: f.RetryAfter, Canonical: p.op.Fields, Effect: f.Effect}
	if p.op.Rule.Pattern == agentgw.Overwrite && d.Verdict == agentgw.Executed {
		d.Verdict = agentgw.Passed
	}
	if d.Verdict == agentgw.Similar {
		d.Candidates, d.Effect = f.Candidates, nil
		d.Token = g.sealToken(ctx, p, &agentgw.Effect{ID: p.op.ID, Now: f.Now})
		return d
	}
	if d.Effect == nil {
		return d
	}
	if d.Verdict == agentgw.Replayed {
		d.Outcome, d.Answer = agentgw.Succeeded, d.Effect.Answer
		if repeatable(p, f) {
			d.Token = g.sealToken(ctx, p, f.Effect)
		}
	}
	if f.Holder == nil && d.Effect.ID == p.op.ID && d.Verdict != agentgw.Executed {
		d.Churn = churned(d.Effect, p.op.CallerKey)
		d.Ignored = ignored(d.Effect.Arguments, p)
	}
	if p.op.Rule.Pattern == agentgw.Overwrite {
		d.Effect = nil // what it claims is no effect
	}
	return d
}

// repeatable reports whether a replay says how to ask for the effect once more: on asking, or with each replay, as the policy has it.
func repeatable(p *plan, f ledger.Finding) bool {
	if f.Effect.ID != p.op.ID || f.Ordinal != 0 {
		return false
	}
	switch p.op.Rule.Repeat {
	case agentgw.RepeatToken:
		return p.call.Mode == agentgw.Check
	case agentgw.RepeatOffer:
		return true
	}
	return false
}

// churned reports whether an effect was first asked for under another key of the caller's.
func churned(e *agentgw.Effect, key agentgw.Partition) bool {
	for _, h := range e.Holds {
		if h.Kind == agentgw.PartitionCallerKey {
			return key != "" && h.Partition != key
		}
	}
	return false
}

// ignored are the arguments that are in no typed field and came otherwise the first time: name -> first value, this value.
func ignored(first []byte, p *plan) map[string][2]json.RawMessage {
	was, err := canonicalize.Parse(first)
	if err != nil || was.Kind != canonicalize.Object {
		return nil
	}
	var out map[string][2]json.RawMessage
	note := func(name string, a, b canonicalize.Value) {
		if p.def.Spec.Uses(name) || a.Same(b) {
			return
		}
		if out == nil {
			out = map[string][2]json.RawMessage{}
		}
		out[name] = [2]json.RawMessage{a.AppendJSON(nil), b.AppendJSON(nil)}
	}
	for _, m := range p.args.Members {
		old, _ := was.Member(m.Name)
		note(m.Name, old, m.Value)
	}
	for _, m := range was.Members {
		if _, still := p.args.Member(m.Name); !still {
			note(m.Name, m.Value, canonicalize.Value{})
		}
	}
	return out
}

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
	if e, err := g.begun(ctx, tenant, id); err != nil {
		return e, err
	}
	return g.Ledger.RenewFence(context.WithoutCancel(ctx), id, fence)
}

// Complete says how a begun action ended. Saying the same again succeeds; something else is ledger.ErrStale, and is kept as evidence.
func (g *Gateway) Complete(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64, res agentgw.Result) (*agentgw.Effect, error) {
	if e, err := g.begun(ctx, tenant, id); err != nil {
		return e, err
	}
	e, err := g.Ledger.SettleFence(context.WithoutCancel(ctx), id, fence, res)
	if errors.Is(err, ledger.ErrStale) {
		g.raise(e, "it was completed too late, or otherwise than before")
	}
	return e, err
}

// begun is an effect whose outcome its caller tells. What was sent through a gateway is settled by that, whoever knows its fence.
func (g *Gateway) begun(ctx context.Context, tenant string, id agentgw.EffectID) (*agentgw.Effect, error) {
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

// CheckHealth asks the store whether it may be relied on; until it says so again, guarded calls are unavailable.
func (g *Gateway) CheckHealth(ctx context.Context) error {
	err := g.Ledger.Health(ctx)
	if err == nil {
		g.unsafe.Store(nil)
		return nil
	}
	why := err.Error()
	g.unsafe.Store(&why)
	return err
}

// Watch looks after the ledger until ctx ends: its health every few seconds, and once a minute what has lapsed. doubts is told how many
// effects are in doubt, by operation; nil where nobody cares.
func (g *Gateway) Watch(ctx context.Context, doubts func(map[string]int)) {
	for n := 0; ; n++ {
		_ = g.CheckHealth(ctx)
		if n%12 == 0 {
			if found, err := g.Ledger.Sweep(ctx); err == nil && doubts != nil {
				doubts(found)
			}
			g.probeDoubts(ctx)
		}
		if g.Clock.Sleep(ctx, 5*time.Second) != nil {
			return
		}
	}
}
