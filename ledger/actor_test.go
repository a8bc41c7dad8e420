package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentgw"
	"agentgw/ledger"
	"agentgw/policy"
)

// actor is a coroutine that stops before each of its steps.
type actor struct {
	part
	*stage
	ledger.Store
	name  byte
	token *agentgw.Token
	yield func(move) bool
	goOn  func() (move, bool)
	die   func()
	next  move
	alive bool
}

type death struct{}

// step waits until the schedule lets the actor go on.
func (a *actor) step(m move) {
	m.who, m.what = a.name, 's'
	if !a.yield(m) {
		panic(death{})
	}
}

// Swap implements ledger.Store: each swap is a step.
func (a *actor) Swap(ctx context.Context, swaps ...ledger.Swap) (replies []ledger.Reply, _ error) {
	for _, sw := range swaps {
		a.step(move{where: sw.Partition, look: reads(sw), about: describe(sw)})
		r, err := a.store.Swap(ctx, sw)
		if err != nil {
			return nil, err
		}
		replies = append(replies, r...)
	}
	return replies, nil
}

func reads(sw ledger.Swap) bool {
	return !slices.ContainsFunc(sw.Changes, func(c ledger.Change) bool { return !c.Look })
}

func describe(sw ledger.Swap) string {
	var b strings.Builder
	for _, c := range sw.Changes {
		switch {
		case c.Look:
			b.WriteString("look ")
		case c.Value == nil:
			b.WriteString("delete ")
		default:
			b.WriteString("write ")
		}
		fmt.Fprintf(&b, "%s/%.3s ", sw.Partition[:3], c.Name)
	}
	return strings.TrimSpace(b.String())
}

// play is the actor's part: claim, send, settle.
func (a *actor) play(yield func(move) bool) {
	a.yield = yield
	defer func() {
		if r := recover(); r != nil && r != (death{}) {
			a.fail("%c panicked: %v", a.name, r)
		}
	}()
	l := ledger.New(a)
	f, err := l.Claim(context.Background(), a.ask())
	if err != nil {
		a.fail("%c could not claim: %v", a.name, err)
		return
	}
	if f.Claim == nil {
		a.note("%c is told %s", a.name, f.Verdict)
		return
	}
	a.step(move{about: "send"})
	a.send()
	a.step(move{about: "answer"})
	a.leave()
	res := succeeded("{}")
	if a.vain {
		res = agentgw.Result{Outcome: agentgw.Failed, Answer: &agentgw.Answer{Status: 422}}
	}
	if _, err := l.Settle(context.Background(), f.Claim, res); err != nil && !errors.Is(err, ledger.ErrStale) {
		a.fail("%c could not settle: %v", a.name, err)
	}
}

// ask is the actor's call; where it is a repeat, with a token for it.
func (a *actor) ask() ledger.Ask {
	return ledger.Ask{Op: a.op, Call: &a.call, Judge: policy.Judge, Token: a.token}
}

// effects are what the call does to the world.
func (p *part) effects() []agentgw.EffectID {
	if len(p.op.Elements) == 0 {
		return []agentgw.EffectID{p.op.ID}
	}
	var all []agentgw.EffectID
	for i := range p.op.Elements {
		all = append(all, p.op.Elements[i].ID)
	}
	return all
}

// send is the moment of truth: nobody else may be at the same thing, and it may not have happened.
func (a *actor) send() {
	for _, p := range []agentgw.Partition{a.op.Lock, a.op.Entity} {
		if p == "" {
			continue
		}
		if a.at[p]++; a.at[p] > 1 {
			a.fail("two are at %s", p)
		}
	}
	if a.vain {
		return
	}
	for _, id := range a.effects() {
		a.happen(id)
	}
}

// leave: the tool has answered.
func (a *actor) leave() {
	for _, p := range []agentgw.Partition{a.op.Lock, a.op.Entity} {
		if p != "" {
			a.at[p]--
		}
	}
}
