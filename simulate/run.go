package simulate

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/gateway"
)

// run is one call on its way.
type run struct {
	*world
	step *step
	life *life
	call *agentgw.Call
	key  agentgw.EffectID // of the operation that it asks for; zero where it asks for none
	many int              // effects that it asks for

	sent      bool // the upstream got it
	happened  bool // and did it
	hung      func()
	unsaved   atomic.Bool // nothing about it can be written any more
	dedupKey  string      // under which the upstream remembers it
	abandoned bool        // its gateway died

	decision *agentgw.Decision // nil: none yet
	answer   *agentgw.Answer
}

type runKey struct{}

// runOf is the call for which something is done; nil: for none.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// play makes the call and waits for its decision.
func (r *run) play() {
	r.life = r.serving
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), runKey{}, r))
	defer cancel()
	call, refusal := r.read()
	if refusal != nil {
		r.finish(refusal)
		return
	}
	r.call = call
	r.identify()
	r.leave(cancel)
	if call.Nonce != "" {
		r.arrive(r.life.Begin(ctx, call))
		return
	}
	res := r.life.Do(ctx, call)
	if res.Answer != nil && res.Rest != nil {
		whole := *res.Answer
		rest, _ := io.ReadAll(res.Rest) // from memory
		whole.Body = slices.Concat(whole.Body, rest)
		r.answer = &whole
	}
	if res.Rest != nil {
		_ = res.Rest.Close()
	}
	r.arrive(res.Decision)
}

// leave lets the caller hang up at its time.
func (r *run) leave(cancel func()) {
	switch d := r.step.call.hangUp; {
	case d == 0:
	case r.manner == inVirtualTime:
		r.begin(r.now.Add(d), classProcess, nil, cancel)
	default:
		r.hung = cancel // as soon as it is sent
	}
}

// read makes the call of the step, through the door it comes in by.
func (r *run) read() (*agentgw.Call, *agentgw.Decision) {
	c := r.step.call
	call := c.call
	if c.request != nil {
		req := c.request.Clone(context.Background())
		req.Body = io.NopCloser(bytes.NewReader(c.body))
		read, refusal := r.life.ReadRequest(req, &gateway.Principal{Name: c.call.Principal, Tenant: c.call.Tenant})
		if refusal != nil {
			return nil, refusal
		}
		call = *read
	}
	call.Tenant = r.prefix + call.Tenant
	if c.repeatOf != "" {
		if first := r.before(c.repeatOf); first != nil && first.decision.Token == "" {
			r.failStep(r.step, "the answer of step %s carried no repeat token", c.repeatOf)
		} else if first != nil {
			call.RepeatToken = first.decision.Token
		}
	}
	if c.sameAs != "" {
		if first := r.before(c.sameAs); first != nil {
			call.SameAs = first.effect().String()
		}
	}
	return &call, nil
}

// before is the run of an earlier step; nil where it has no answer yet.
func (r *run) before(id string) *run {
	first := r.named[id]
	if first.decision == nil {
		r.failStep(r.step, "step %s has no answer yet", id)
		return nil
	}
	return first
}

// identify finds which effect the call asks for. What cannot be read asks for none.
func (r *run) identify() {
	r.many = 1
	repair, decode := r.rules.Reading(r.call)
	args, _, err := canonicalize.ParseArguments(r.call.Arguments, repair, decode)
	if err != nil {
		return
	}
	def, err := r.rules.Match(r.call, args)
	if err != nil || def == nil || def.Reads() {
		return
	}
	if op, err := def.Spec.Operation(&def.Rule, r.call, args); err == nil {
		r.key, r.many = op.ID, max(1, len(op.Elements))
	}
}

// arrive takes a decision, unless its gateway has died meanwhile.
func (r *run) arrive(d *agentgw.Decision) {
	if r.decision == nil {
		r.finish(d)
	}
}

func (r *run) finish(d *agentgw.Decision) {
	r.decision = d
	if r.answer == nil {
		r.answer = d.Answer
	}
	r.check()
}

// effect is what the decision speaks of; of a call whose gateway died, what it asked for.
func (r *run) effect() agentgw.EffectID {
	if r.abandoned {
		return r.key
	}
	if r.decision == nil || r.decision.Effect == nil {
		return agentgw.EffectID{}
	}
	return r.decision.Effect.ID
}

// effects is how often the call's effect happened: once, or once an element.
func (r *run) effects() int {
	if !r.happened || r.decision.Verdict == agentgw.Passed {
		return 0
	}
	return r.many
}

func (r *run) result() CallResult {
	return CallResult{Expect: r.step.call.expect.decision, Decision: r.decision.Verdict, Effect: r.effect().String(), Reason: r.decision.Reason,
		outcome: r.decision.Outcome, fields: r.decision.Fields}
}
