package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agentgw"
	"agentgw/ledger"
)

// events are what a test can let happen. nil: not supported yet. The error says why it could not be.
var events map[string]func(w *world, id agentgw.EffectID) error

// aboutEffect are the events that are an operator's or a caller's word about an effect, and the effects that they fit.
var aboutEffect = map[string]func(e *agentgw.Effect) bool{
	"resolve_succeeded":  inDoubt,
	"resolve_failed":     inDoubt,
	"void":               func(e *agentgw.Effect) bool { return e.State == agentgw.StateSucceeded },
	"complete_succeeded": begun,
	"complete_failed":    begun,
	"renew":              begun,
}

func inDoubt(e *agentgw.Effect) bool {
	return e.State == agentgw.StateIndeterminate || lapsedInto(e) == agentgw.StateIndeterminate
}

func begun(e *agentgw.Effect) bool { return e.Nonce != "" }

// lapsedInto is the state of an effect, with a lease that ran out counted.
func lapsedInto(e *agentgw.Effect) agentgw.State {
	switch {
	case !e.Lapsed(e.Now):
		return e.State
	case e.State == agentgw.StateClaimed:
		return agentgw.StateFailed
	}
	return agentgw.StateIndeterminate
}

func init() { // the handlers refer to the table
	events = map[string]func(*world, agentgw.EffectID) error{
		"gateway_dies":             (*world).gatewayDies,
		"gateway_dies_before_send": (*world).gatewayDiesBeforeSend,
		"ledger_down":              func(w *world, _ agentgw.EffectID) error { w.down.Store(true); return nil },
		"ledger_up":                func(w *world, _ agentgw.EffectID) error { w.down.Store(false); return nil },
		"failover":                 (*world).failover,
		"pause":                    (*world).pause,
		"resume":                   (*world).resume,
		"resolve_succeeded":        resolve(agentgw.Succeeded),
		"resolve_failed":           resolve(agentgw.Failed),
		"void": func(w *world, id agentgw.EffectID) error {
			_, err := w.operator().Void(context.Background(), id, 0, "operator", "the test says so")
			return err
		},
		"complete_succeeded": complete(agentgw.Succeeded),
		"complete_failed":    complete(agentgw.Failed),
		"renew":              (*world).renew,
		"approve":            nil,
		"deny":               nil,
	}
}

func eventNames() []string { return slices.Sorted(maps.Keys(events)) }

// event lets something happen, and tells where it went otherwise than the test says.
func (w *world) event(s *step) {
	id, err := w.about(s.event)
	if err == nil {
		err = events[s.event.name](w, id)
	}
	switch {
	case err != nil && !s.event.refused:
		w.failStep(s, "%s cannot be: %v", s.event.name, err)
	case err == nil && s.event.refused:
		w.failStep(s, "expected that %s is refused", s.event.name)
	}
}

// about finds the effect that an event is about: that of the step it names, or the latest that it fits.
func (w *world) about(e *eventStep) (agentgw.EffectID, error) {
	fits := aboutEffect[e.name]
	if fits == nil {
		return agentgw.EffectID{}, nil
	}
	if e.step != "" {
		r := w.named[e.step]
		if id := r.effect(); r.decision != nil && !id.IsZero() {
			return id, nil
		}
		return agentgw.EffectID{}, fmt.Errorf("the answer of step %s speaks of no effect", e.step)
	}
	for _, r := range slices.Backward(w.runs) {
		id := r.effect()
		if id.IsZero() {
			continue
		}
		found, err := w.operator().Get(context.Background(), id)
		if err == nil && fits(found) {
			return id, nil
		}
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return id, err
		}
	}
	return agentgw.EffectID{}, errors.New("it fits no effect so far")
}

func (w *world) gatewayDies(agentgw.EffectID) error {
	w.end(w.serving)
	w.serve()
	return nil
}

// gatewayDiesBeforeSend: what was about to be sent never reaches the upstream.
func (w *world) gatewayDiesBeforeSend(agentgw.EffectID) error {
	for _, r := range w.runs {
		if r.life == w.serving && r.decision == nil {
			w.unsent(r)
		}
	}
	return w.gatewayDies(agentgw.EffectID{})
}

// failover breaks all connections to the ledger. What was confirmed is there on the new primary.
func (w *world) failover(agentgw.EffectID) error {
	for _, l := range w.lives {
		l.broken.Store(true)
	}
	return nil
}

// pause freezes the gateway that serves; another serves from then on.
func (w *world) pause(agentgw.EffectID) error {
	if w.paused != nil {
		return errors.New("a gateway is paused already")
	}
	w.paused = w.serving
	w.paused.frozen = true
	w.serve()
	return nil
}

func (w *world) resume(agentgw.EffectID) error {
	if w.paused == nil {
		return errors.New("no gateway is paused")
	}
	w.thaw(w.paused)
	w.paused = nil
	return nil
}

func resolve(o agentgw.Outcome) func(*world, agentgw.EffectID) error {
	return func(w *world, id agentgw.EffectID) error {
		_, err := w.operator().Resolve(context.Background(), id, 0, o, nil, "operator", "the test says so")
		return err
	}
}

// complete is the word of a caller that began an effect, with the fence it was given.
func complete(o agentgw.Outcome) func(*world, agentgw.EffectID) error {
	return func(w *world, id agentgw.EffectID) error {
		r := w.beginner(id)
		_, err := w.serving.Complete(context.Background(), r.call.Tenant, id, r.decision.Effect.Fence, agentgw.Result{Outcome: o, Why: "the caller says so"})
		return err
	}
}

func (w *world) renew(id agentgw.EffectID) error {
	r := w.beginner(id)
	_, err := w.serving.Renew(context.Background(), r.call.Tenant, id, r.decision.Effect.Fence)
	return err
}

// beginner is the latest call that was told to go ahead with an effect.
func (w *world) beginner(id agentgw.EffectID) *run {
	for _, r := range slices.Backward(w.runs) {
		if r.decision != nil && r.decision.Verdict == agentgw.ClaimedForCaller && r.effect() == id {
			return r
		}
	}
	return nil
}
