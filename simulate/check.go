package simulate

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"agentgw"
)

// check compares a decision with what the test expects, and notes what differs.
func (r *run) check() {
	e, d := &r.step.call.expect, r.decision
	if e.decision != "" && e.decision != d.Verdict {
		r.failStep(r.step, "expected %s, got %s", e.decision, described(d))
		return // the rest follows from it
	}
	differs := func(what string, want, got any) {
		r.failStep(r.step, "expected %s %v, got %v in %s", what, want, got, described(d))
	}
	if e.reason != "" && e.reason != d.Reason {
		differs("reason", e.reason, orNone(d.Reason))
	}
	if e.outcome != "" && e.outcome != d.Outcome {
		differs("outcome", e.outcome, orNone(string(d.Outcome)))
	}
	if want, got := slices.Sorted(slices.Values(e.fields)), slices.Sorted(slices.Values(d.Fields)); len(want) > 0 && !slices.Equal(want, got) {
		differs("fields", strings.Join(want, ", "), orNone(strings.Join(got, ", ")))
	}
	if e.distinct {
		r.checkDistinct()
	}
	r.checkAnswer(e)
	if e.sends >= 0 {
		if n := r.sendsSoFar(); n != e.sends {
			differs("sends", e.sends, n)
		}
	}
	if e.state != "" {
		if s := r.stateNow(); s != e.state {
			differs("state", e.state, orNone(string(s)))
		}
	}
}

// checkDistinct: executed, under a key that no earlier call had.
func (r *run) checkDistinct() {
	if r.decision.Verdict != agentgw.Executed {
		r.failStep(r.step, "expected an effect of its own, got %s", described(r.decision))
		return
	}
	for _, other := range r.runs {
		if other == r {
			return
		}
		if other.key == r.key {
			r.failStep(r.step, "expected a key of its own, got that of step %d", other.step.number)
			return
		}
	}
}

func (r *run) checkAnswer(e *expectation) {
	if e.noAnswer && r.answer != nil {
		r.failStep(r.step, "expected no answer, got %s", shown(r.answer))
	}
	if e.sameAnswerAs == "" {
		return
	}
	first := r.before(e.sameAnswerAs)
	if first != nil && (first.answer == nil || !sameAnswer(first.answer, r.answer)) {
		r.failStep(r.step, "expected the answer of step %s (%s), got %s", e.sameAnswerAs, shown(first.answer), shown(r.answer))
	}
}

func sameAnswer(a, b *agentgw.Answer) bool {
	return b != nil && a.Status == b.Status && slices.Equal(a.Header, b.Header) && bytes.Equal(a.Body, b.Body)
}

// sendsSoFar is how often the upstream got the decision's effect.
func (r *run) sendsSoFar() (n int) {
	id := r.effect()
	for _, other := range r.runs {
		if other.sent && !id.IsZero() && (other.effect() == id || other.key == id) {
			n++
		}
	}
	return n
}

// stateNow is the state on record of the decision's effect, "" where there is none.
func (r *run) stateNow() agentgw.State {
	id := r.effect()
	if id.IsZero() {
		return ""
	}
	e, err := r.operator().Get(context.Background(), id)
	if err != nil {
		return ""
	}
	return lapsedInto(e)
}

// described is a decision in a few words.
func described(d *agentgw.Decision) string {
	var more []string
	if d.Reason != "" {
		more = append(more, "reason "+d.Reason)
	}
	if len(d.Fields) > 0 {
		more = append(more, "fields "+strings.Join(d.Fields, ", "))
	}
	s := string(d.Verdict)
	if len(more) > 0 {
		s += " (" + strings.Join(more, "; ") + ")"
	}
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

func shown(a *agentgw.Answer) string {
	if a == nil {
		return "none"
	}
	return fmt.Sprintf("%d %v %.200q", a.Status, a.Header, a.Body)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// joined lists words as people do; "nothing was sent" where there are none.
func joined(words []string) string {
	if len(words) == 0 {
		return "by no step"
	}
	return "by " + strings.Join(words, ", ")
}
