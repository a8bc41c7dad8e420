// Package gateway carries a call through the three questions (is it the same operation, may it happen, has it happened) and, if the
// answers allow, to the tool.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/ledger"
	"agentgw/policy"
)

// Options make a Gateway. Policy, Ledger and Sender are needed; the rest has a default.
type Options struct {
	Policy    *policy.Policy
	Ledger    *ledger.Ledger
	Sender    Sender
	Tools     map[string]*Tool
	Upstreams map[string]*Upstream
	Unmatched string                                 // "reads" (default), "pass", "auto", "deny"
	Defaults  canonicalize.Defaults                  // for "auto"
	Allowed   func(principal, operation string) bool // nil: everyone may everything
	Clock     Clock                                  // the real one by default; simulate brings its own
	Observe   Observer                               // nil: nobody
	Spool     *Spool                                 // nil: outcomes that the ledger cannot take wait in memory only
	Wording   Wording                                // nil: free text is compared by its exact wording only
	Judge     Judge                                  // nil: the caller itself is asked
	MCP       *MCP                                   // the MCP servers; nil: none
}

// Observer is told what happened, for metrics and the decision log. Its methods must return soon.
type Observer interface {
	Decided(call *agentgw.Call, d *agentgw.Decision, took time.Duration)
	// Raised tells what an operator should look at: an outcome that came too late to count, one that could not be written.
	Raised(e *agentgw.Effect, what string)
}

// Wording compares free text.
type Wording interface {
	// Nearest says which of earlier texts this one may mean again, the closest first; texts are by field name. It answers soon, whatever
	// becomes of a model that it asks.
	Nearest(ctx context.Context, texts map[string]string, earlier []map[string]string) []agentgw.Likeness
}

// Judge is a model that may answer `similar` for the caller, where the policy allows it. An error means that nobody has judged.
type Judge interface {
	Same(ctx context.Context, operation string, earlier, now map[string]string) (same bool, why string, err error)
}

// Response is a decision with what a door needs to write it.
type Response struct {
	*agentgw.Decision
	Rest io.ReadCloser    // see Incoming.Rest; nil on most answers
	Live []agentgw.Header // see Incoming.Live
}

// Gateway is the whole flow. Its methods are safe for concurrent use.
type Gateway struct {
	Options
	unsafe atomic.Pointer[string] // why the ledger must not be relied on; nil: it may
	secret atomic.Pointer[[]byte]
	near   nearby
	autos  autos
	asked  askedBack
	prober prober
}

// New makes a gateway.
func New(o Options) *Gateway {
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Unmatched == "" {
		o.Unmatched = "reads"
	}
	return &Gateway{Options: o}
}

// Do carries one call. It returns a decision in every case. The caller's going away changes nothing: what was begun is ended and
// recorded on a context of its own.
func (g *Gateway) Do(ctx context.Context, call *agentgw.Call) Response {
	return g.carry(ctx, call, nil)
}

// carry is Do for a call that stands in a message of the MCP door.
func (g *Gateway) carry(ctx context.Context, call *agentgw.Call, link *mcpLink) Response {
	ctx = context.WithoutCancel(ctx)
	start := g.Clock.Now()
	if call.Nonce != "" { // else its caller could say how it ended, over the gateway that sends it
		return Response{Decision: rejected("nonce: belongs to an action that you do yourself. Send it to POST /v1/effects, or leave it out.")}
	}
	res := g.do(ctx, call, link)
	if g.Observe != nil {
		g.Observe.Decided(call, res.Decision, g.Clock.Now().Sub(start))
	}
	return res
}

func (g *Gateway) do(ctx context.Context, call *agentgw.Call, link *mcpLink) Response {
	p, refusal := g.plan(call, link)
	if refusal != nil {
		return Response{Decision: refusal}
	}
	if a := g.asked.take(p); a != nil {
		holds, refusal := g.stillHolds(ctx, p, a)
		switch {
		case refusal != nil:
			return Response{Decision: refusal}
		case holds:
			return g.finish(ctx, p, a, true)
		}
	}
	if refusal := g.cameAgain(ctx, p); refusal != nil {
		return Response{Decision: refusal}
	}
	if p.op == nil {
		return g.pass(ctx, p)
	}
	id := p.op.ID // asking may find that another is meant
	found, refusal := g.ask(ctx, p)
	switch {
	case refusal != nil:
		return Response{Decision: refusal}
	case found.Verdict != agentgw.Executed || call.Mode == agentgw.Check:
		g.offerAgain(ctx, p, id, found.Verdict)
		return Response{Decision: g.decision(ctx, p, found)}
	}
	return g.attempt(ctx, p, found)
}

// pass sends a call that claims nothing.
func (g *Gateway) pass(ctx context.Context, p *plan) Response {
	d := &agentgw.Decision{Verdict: agentgw.Passed}
	if p.def != nil {
		d.Operation = p.def.Name
	}
	if p.call.Mode == agentgw.Check {
		return Response{Decision: d}
	}
	if p.link != nil && p.link.passes != nil {
		defer p.link.passes()()
	}
	in, res := g.send(ctx, p, "")
	return respond(d, in, res)
}

// ask judges a call by the ledger and claims its effect, waiting for a running attempt as long as the policy says. The decision is a
// refusal: the ledger or the tool that tells the state could not be asked.
func (g *Gateway) ask(ctx context.Context, p *plan) (ledger.Finding, *agentgw.Decision) {
	if why := g.unsafe.Load(); why != nil {
		return ledger.Finding{}, g.unavailable(p, *why)
	}
	a := ledger.Ask{Op: p.op, Call: p.call, Judge: policy.Judge}
	if g.Wording != nil {
		a.Alike = func(texts map[string]string, earlier []map[string]string) []agentgw.Likeness {
			return g.Wording.Nearest(ctx, texts, earlier)
		}
	}
	if p.call.SameAs != "" {
		if refusal := g.sameAs(ctx, p); refusal != nil {
			return ledger.Finding{}, refusal
		}
	}
	if p.call.RepeatToken != "" {
		a.Token = g.openToken(ctx, p)
	}
	if err := g.readState(ctx, p, &a); err != nil {
		return ledger.Finding{}, g.unavailable(p, err.Error())
	}
	p.op.Near = g.near.nearest(p.op)
	deadline := g.Clock.Now().Add(p.patience())
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		found, err := g.claim(ctx, p, a)
		if errors.Is(err, ledger.ErrMoved) {
			if err = g.readState(ctx, p, &a); err == nil {
				continue
			}
		}
		if err != nil {
			return found, g.unavailable(p, err.Error())
		}
		if found.Verdict == agentgw.InDoubt && p.call.Mode != agentgw.Check && found.Effect != nil && g.probe(ctx, found.Effect) {
			continue
		}
		if found.Verdict == agentgw.Similar && p.op.Rule.Judge && p.call.Mode != agentgw.Check && g.judge(ctx, p, &a, found) {
			continue
		}
		if found.Verdict != agentgw.InFlight || p.call.Mode == agentgw.Check {
			return found, nil
		}
		left := deadline.Sub(g.Clock.Now())
		if left <= 0 || g.Clock.Sleep(ctx, min(pause, left)) != nil {
			return found, nil
		}
	}
}

// sameAs takes the caller's word that this call means an effect it was asked about: one of the same identity but for its free text.
func (g *Gateway) sameAs(ctx context.Context, p *plan) *agentgw.Decision {
	id, err := agentgw.ParseEffectID(p.call.SameAs)
	if err != nil {
		return rejected("same_as: %v.", err)
	}
	if id.Partition != p.op.ID.Partition || id.Partition[0] != agentgw.PartitionMeaning {
		return rejected("same_as: %s is not an effect that this call could mean: something else than its free text differs. Take one of the candidates.", id)
	}
	e, err := g.Ledger.Get(ctx, id)
	switch {
	case errors.Is(err, ledger.ErrNotFound) || err == nil && e.State.Free():
		return nil // nothing stands there any more: it is judged by its own words
	case err != nil:
		return g.unavailable(p, err.Error())
	}
	p.op.ID, p.op.Digest = id, e.Digest
	return nil
}

func (g *Gateway) claim(ctx context.Context, p *plan, a ledger.Ask) (ledger.Finding, error) {
	if p.call.Mode == agentgw.Check {
		return g.Ledger.Look(ctx, a)
	}
	found, err := g.Ledger.Claim(ctx, a)
	var unsure *ledger.Unsure
	if errors.As(err, &unsure) {
		g.until(ctx, p.op.ID, "a claim that may stand though nothing was sent", unsure.Withdraw)
	}
	return found, err
}

func (g *Gateway) unavailable(p *plan, why string) *agentgw.Decision {
	return &agentgw.Decision{Verdict: agentgw.Unavailable, Operation: p.def.Name,
		Detail: fmt.Sprintf("It cannot be told whether this was done before (%s). Nothing was sent; try this same call again later.", why)}
}

// attempt sends a claimed call and settles it.
func (g *Gateway) attempt(ctx context.Context, p *plan, found ledger.Finding) Response {
	g.near.add(p.op)
	return g.finish(ctx, p, &begun{found.Claim, g.keep(ctx, found.Claim)}, false)
}

// begun is an attempt whose claim is held; stop ends the renewal of its lease.
type begun struct {
	claim *ledger.Claim
	stop  func()
}

// finish sends what an attempt has to send now, and settles it unless the tool asks back. goesOn: the tool has asked back before.
func (g *Gateway) finish(ctx context.Context, p *plan, a *begun, goesOn bool) Response {
	d := &agentgw.Decision{Verdict: agentgw.Executed, Operation: p.def.Name, Canonical: p.op.Fields, Effect: a.claim.Effect}
	if p.op.Rule.Pattern == agentgw.Overwrite {
		d.Verdict = agentgw.Passed
	}
	in, res := g.send(ctx, p, g.upstreamKey(p, a.claim.Effect))
	switch {
	case in != nil && in.Asks:
		g.asked.put(g, p, a, stateOf(in))
		d.Answer = in.Answer
		return Response{Decision: d, Rest: in.Rest}
	case goesOn && res.NeverSent: // the tool has begun, and still waits: so does the claim
		g.asked.put(g, p, a, p.link.state)
		return respond(d, in, res)
	}
	a.stop()
	kept := res
	if in != nil && in.Rest != nil || p.op.Rule.Keep == agentgw.KeepNothing {
		kept.Answer = nil
	}
	d.Effect = g.settle(ctx, a.claim, kept)
	if d.Verdict == agentgw.Passed {
		d.Effect = nil
	}
	return respond(d, in, res)
}

// respond completes a decision with how its attempt ended.
func respond(d *agentgw.Decision, in *Incoming, res agentgw.Result) Response {
	d.Outcome, d.NeverSent, d.Answer = res.Outcome, res.NeverSent, res.Answer
	if d.NeverSent {
		d.RetryAfter = time.Second // nothing happened: the same call may come again
	}
	if in == nil {
		d.Detail = detailOf(d, res.Why)
		return Response{Decision: d}
	}
	return Response{Decision: d, Rest: in.Rest, Live: in.Live}
}
