package gateway

import (
	"context"
	"encoding/json"

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
		if d.Detail == "" {
			d.Detail = g.unrepeated(ctx, p, f, d.Token != "")
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
