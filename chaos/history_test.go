package chaos

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// event is one call as its robot saw it.
type event struct {
	order        int
	began, ended time.Duration
	decision     string
	outcome      string
	effect       string // the one that the answer speaks of: perhaps another, which holds what this one needs
}

// What is known of an effect between two calls. Nobody has it; it may have been sent; it is done.
const (
	nobody = iota
	sent
	done
)

// effectModel is the promise about one effect: once it may have been sent nobody else sends it, until the attempt is known to have had no
// effect; and once it is done that is what everybody is told. The attempt in doubt may turn out done at any time, when its gateway gets
// around to say so.
var effectModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{nobody} },
	Step: func(state, input, output any) []any {
		e := output.(event)
		s := state.(int)
		switch {
		case e.decision == "executed" && e.outcome == "succeeded":
			return when(s == nobody, done)
		case e.decision == "executed" && e.outcome == "failed":
			return when(s == nobody, nobody)
		case e.decision == "executed":
			return when(s == nobody, sent, done)
		case e.decision == "replayed":
			return when(s != nobody, done)
		case e.decision == "indeterminate":
			return when(s == sent, sent, done)
		case e.decision == "resolved" && e.outcome == "failed": // by an operator, who has looked
			return []any{nobody}
		case e.decision == "resolved":
			return []any{done}
		case e.decision == "lost": // it may have done anything that a call does
			if s == nobody {
				return []any{nobody, sent, done}
			}
			return []any{s}
		}
		return []any{s} // in_flight, unavailable: somebody is at it, or nobody can tell
	},
	Equal: func(a, b any) bool { return a == b },
}

func when(ok bool, next ...any) []any {
	if !ok {
		return nil
	}
	return next
}

// linearizable asks porcupine whether, for every effect, one order of its calls explains all answers. Calls that overlap the loss of a
// primary and the window after it may have been told of an earlier state; those say nothing here.
func (in *installation) linearizable() {
	owners := map[string]int{}
	for _, e := range in.history {
		if e.decision == "executed" || e.decision == "replayed" {
			owners[e.effect] = e.order
		}
	}
	byOrder := map[int][]porcupine.Operation{}
	for _, e := range in.history {
		if e.decision == "indeterminate" && (owners[e.effect] != e.order || in.unsettled(e)) {
			continue
		}
		byOrder[e.order] = append(byOrder[e.order], porcupine.Operation{ClientId: len(byOrder[e.order]), Input: e.order, Call: int64(e.began), Output: e, Return: int64(e.ended)})
	}
	model := effectModel.ToModel()
	for order, ops := range byOrder {
		if result := porcupine.CheckOperationsTimeout(model, ops, 20*time.Second); result != porcupine.Ok {
			in.Errorf("no order of the calls explains what was told of order %d (%s): %v", order, result, in.of(order))
		}
	}
}

const window = 25 * time.Second // notice, window, and the end of leases and timeouts that began in it

func (in *installation) unsettled(e event) bool {
	for _, f := range in.faults {
		if f.Target == "primary" && e.ended > f.At && e.began < f.At+f.For+window {
			return true
		}
	}
	return false
}
