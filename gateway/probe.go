package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/ledger"
	"agentgw/policy"
)

// prober asks tools how doubts ended. An effect is asked about once in a while only, however many duplicates ask for it.
type prober struct {
	mu    sync.Mutex
	asked map[agentgw.EffectID]time.Time
}

const leastBetweenProbes = time.Second

// due reports whether e may be asked about now, and notes that it is.
func (p *prober) due(e *agentgw.Effect, after time.Duration, now time.Time) bool {
	if e.Now.Before(e.Claimed.Add(after)) {
		return false // the tool may still be at work
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	between := max(after/4, leastBetweenProbes)
	if last, ok := p.asked[e.ID]; ok && now.Before(last.Add(between)) {
		return false
	}
	if p.asked == nil || len(p.asked) > 10_000 {
		p.asked = make(map[agentgw.EffectID]time.Time)
	}
	p.asked[e.ID] = now
	return true
}

// probe settles a doubt by asking the tool that the effect's policy names. true: it is settled. What cannot be told, and what is neither
// done nor not done, stays a doubt and is raised.
func (g *Gateway) probe(ctx context.Context, e *agentgw.Effect) bool {
	def := g.Policy.Operation(e.Operation)
	if e.State != agentgw.StateIndeterminate || def == nil || def.Probe == nil || !g.prober.due(e, def.Probe.After, g.Clock.Now()) {
		return false
	}
	verdict, why := g.askProbe(ctx, def, e)
	outcome := agentgw.Succeeded
	switch verdict {
	case policy.ProbeDone:
	case policy.ProbeNotDone:
		outcome = agentgw.Failed
	default:
		g.raise(e, fmt.Sprintf("its probe: %s (%s)", verdict, why))
		return false
	}
	_, err := g.Ledger.Resolve(ctx, e.ID, e.Version, outcome, nil, "the probe "+def.Probe.Tool, why)
	return err == nil
}

// askProbe sends the probe. Its own failure cannot tell.
func (g *Gateway) askProbe(ctx context.Context, def *policy.Operation, e *agentgw.Effect) (policy.ProbeResult, string) {
	args, err := canonicalize.Parse(e.Arguments)
	if err != nil {
		return policy.ProbeUnknown, "its arguments were too long to be kept"
	}
	first := &policy.ResultView{Args: args, Call: &agentgw.Call{Tenant: e.Tenant, Principal: e.Principal, Context: e.Context, Arguments: e.Arguments}}
	text, err := def.ProbeArguments(first)
	if err != nil {
		return policy.ProbeUnknown, err.Error()
	}
	answer, err := g.askTool(ctx, def, first.Call, def.Probe.Tool, text)
	if err != nil {
		return policy.ProbeUnknown, err.Error()
	}
	return def.Probed(first, answer)
}

// askTool calls a tool that only tells something: nothing is claimed for it.
func (g *Gateway) askTool(ctx context.Context, def *policy.Operation, asker *agentgw.Call, tool string, args []byte) (*policy.ResultView, error) {
	call := &agentgw.Call{Tenant: asker.Tenant, Principal: asker.Principal, Tool: tool, Arguments: args, Context: asker.Context}
	v, err := canonicalize.Parse(args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := g.Clock.WithTimeout(ctx, g.timeout(&plan{call: call, def: def}))
	defer cancel()
	in, err := g.Sender.Send(ctx, &Outgoing{Call: call, Args: v, MaxBytes: defaultMaxAnswer})
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", tool, err)
	}
	if in.Rest != nil {
		in.Rest.Close()
		return nil, fmt.Errorf("the answer of %s is larger than %d bytes", tool, defaultMaxAnswer)
	}
	return &policy.ResultView{Call: call, Args: v, Status: in.Answer.Status, Headers: in.Answer.Header, Body: in.Answer.Body, IsError: in.IsError}, nil
}

// probeDoubts asks about every doubt whose policy has a probe.
func (g *Gateway) probeDoubts(ctx context.Context) {
	f := ledger.Filter{State: agentgw.StateIndeterminate, Limit: 100}
	for {
		doubts, next, err := g.Ledger.List(ctx, f)
		if err != nil {
			return
		}
		for _, e := range doubts {
			g.probe(ctx, e)
		}
		if f.Cursor = next; next == "" {
			return
		}
	}
}
