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
var events map[string]func(w *world, about *subject) error

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
	events = map[string]func(*world, *subject) error{
		"gateway_dies":             (*world).gatewayDies,
		"gateway_dies_before_send": (*world).gatewayDiesBeforeSend,
		"ledger_down":              func(w *world, _ *subject) error { w.down.Store(true); return nil },
		"ledger_up":                func(w *world, _ *subject) error { w.down.Store(false); return nil },
		"failover":                 (*world).failover,
		"pause":                    (*world).pause,
		"resume":                   (*world).resume,
		"resolve_succeeded":        resolve(agentgw.Succeeded),
		"resolve_failed":           resolve(agentgw.Failed),
		"void": func(w *world, about *subject) error {
			_, err := w.operator().Void(context.Background(), about.id, 0, "operator", "the test says so")
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
	about, err := w.about(s.event)
	if err == nil {
		err = events[s.event.name](w, about)
	}
	switch {
	case err != nil && !s.event.refused:
		w.failStep(s, "%s cannot be: %v", s.event.name, err)
	case err == nil && s.event.refused:
		w.failStep(s, "expected that %s is refused", s.event.name)
	}
}

// subject is the effect that an event is about, and the call that was told of it.
type subject struct {
	id   agentgw.EffectID
	call *run
}

// about finds what an event is about: the effect of the step it names, or the latest that it fits. nil: it is about no effect.
func (w *world) about(e *eventStep) (*subject, error) {
	fits := aboutEffect[e.name]
	if fits == nil {
		return nil, nil
	}
	if e.step != "" {
		r := w.named[e.step]
		if id := r.effect(); r.decision != nil && !id.IsZero() {
			return &subject{id, r}, nil
		}
		return nil, fmt.Errorf("the answer of step %s speaks of no effect", e.step)
	}
	for _, r := range slices.Backward(w.runs) {
		id := r.effect()
		if id.IsZero() {
			continue
		}
		found, err := w.operator().Get(context.Background(), id)
		if err == nil && fits(found) {
			return &subject{id, r}, nil
		}
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return nil, err
		}
	}
	return nil, errors.New("it fits no effect so far")
}

func (w *world) gatewayDies(*subject) error {
	w.end(w.serving)
	w.serve()
	return nil
}

// gatewayDiesBeforeSend: what was about to be sent never reaches the upstream.
func (w *world) gatewayDiesBeforeSend(*subject) error {
	for _, r := range w.runs {
		if r.life == w.serving && r.decision == nil {
			w.unsent(r)
		}
	}
	return w.gatewayDies(nil)
}

// failover breaks all connections to the ledger. What was confirmed is there on the new primary.
func (w *world) failover(*subject) error {
	for _, l := range w.lives {
		l.broken.Store(true)
	}
	return nil
}

// pause freezes the gateway that serves; another serves from then on.
func (w *world) pause(*subject) error {
	if w.paused != nil {
		return errors.New("a gateway is paused already")
	}
	w.paused = w.serving
	w.paused.frozen = true
	w.serve()
	return nil
}

func (w *world) resume(*subject) error {
	if w.paused == nil {
		return errors.New("no gateway is paused")
	}
	w.thaw(w.paused)
	w.paused = nil
	return nil
}

func resolve(o agentgw.Outcome) func(*world, *subject) error {
	return func(w *world, about *subject) error {
		_, err := w.operator().Resolve(context.Background(), about.id, 0, o, nil, "operator", "the test says so")
		return err
	}
}

// complete is the word of a caller that began an effect, with the fence it was given.
func complete(o agentgw.Outcome) func(*world, *subject) error {
	return func(w *world, about *subject) error {
		_, err := w.serving.Complete(context.Background(), about.call.call.Tenant, about.id, about.fence(), agentgw.Result{Outcome: o, Why: "the caller says so"})
		return err
	}
}

func (w *world) renew(about *subject) error {
	_, err := w.serving.Renew(context.Background(), about.call.call.Tenant, about.id, about.fence())
	return err
}

// fence is the one that the call was given.
func (s *subject) fence() uint64 {
	if s.call.decision.Effect == nil {
		return 0
	}
	return s.call.decision.Effect.Fence
}
