package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agentgw"
)

// Judge decides a call by what the ledger remembers, in the contract's order: the effect's own record, the holder of its entity, then
// what forbids it. It is pure: the same operation and memory give the same judgement. Executed means that the effect may be claimed;
// locks and budgets in other partitions have the last word when they are claimed too.
func Judge(op *agentgw.Operation, call *agentgw.Call, m *agentgw.Remembered) agentgw.Judgement {
	if op.Rule.Pattern == agentgw.Overwrite {
		return judgeOverwrite(op, m)
	}
	if b := m.Bound; b != nil && b.ID != op.ID {
		return agentgw.Judgement{Verdict: agentgw.Conflict, Fields: b.Fields, Detail: fmt.Sprintf(
			"The idempotency key %q already belongs to another %s (%s)%s. Send each key with one operation only; nothing was sent.",
			op.CallerID, op.Rule.Name, b.ID, differing(b.Fields))}
	}
	own := judgeOwn(op, call, m)
	if own.Verdict != agentgw.Executed {
		return own
	}
	if len(op.Elements) > 0 && own.Way != agentgw.Retry {
		again := own.Way == agentgw.Again
		if j := judgeElements(op, m); j.Verdict != agentgw.Executed && !(again && j.Verdict == agentgw.Replayed) {
			return j
		}
	}
	if m.Holder != nil {
		return held(m)
	}
	if own.Way == agentgw.Retry { // its object waits for it
		return budgets(op, m, own)
	}
	if op.Rule.Pattern == agentgw.Transition && !startable(op.Rule, stateOf(op.Rule, m)) {
		return blockedByState(op, m)
	}
	if own = budgets(op, m, own); own.Verdict == agentgw.Executed && len(m.Similar) > 0 && !another(op, m) {
		return agentgw.Judgement{Verdict: agentgw.Similar, Candidates: m.Similar}
	}
	return own
}

// another reports whether the caller was asked and said that it means another effect than those worded alike.
func another(op *agentgw.Operation, m *agentgw.Remembered) bool {
	t := m.Token
	return t != nil && t.ID == op.ID && t.Ordinal == 0 && m.Now.Before(t.Expires)
}

// judgeOwn looks at the effect's own record only.
func judgeOwn(op *agentgw.Operation, call *agentgw.Call, m *agentgw.Remembered) agentgw.Judgement {
	e := m.Own
	if !e.Stands(m.Now) {
		return agentgw.Judgement{Verdict: agentgw.Executed}
	}
	if d := Differs(e.Fields, op.Fields, agentgw.RoleMatch); len(d) > 0 && !freed(op, call, m) {
		return agentgw.Judgement{Verdict: agentgw.Conflict, Fields: d, Detail: fmt.Sprintf(
			"This %s was asked for before with other values%s. Check which is right; nothing was sent.", op.Rule.Name, differing(d))}
	}
	if b := m.Bound; b != nil && b.Base == e.Base && b.Ordinal < e.Ordinal && e.State != agentgw.StateSucceeded {
		return replay(b.Ordinal, e) // what this key stands for was done, whatever becomes of a later one
	}
	switch e.State {
	case agentgw.StateClaimed, agentgw.StateInFlight:
		if !e.Lapsed(m.Now) {
			return running(e, m.Now)
		}
		j := doubt(op, e)
		j.Lapse = true
		return j
	case agentgw.StateIndeterminate:
		return doubt(op, e)
	case agentgw.StateSucceeded:
		return judgeSuccess(op, call, m)
	case agentgw.StateDenied:
		return agentgw.Judgement{Verdict: agentgw.Denied}
	default:
		return agentgw.Judgement{Verdict: agentgw.Held}
	}
}

func running(e *agentgw.Effect, now time.Time) agentgw.Judgement {
	return agentgw.Judgement{Verdict: agentgw.InFlight, Reason: agentgw.ReasonRunning, RetryAfter: retryAfter(e, now)}
}

// retryAfter tells a caller to come back soon at first, and less often the longer the attempt runs.
func retryAfter(e *agentgw.Effect, now time.Time) time.Duration {
	return min(max(now.Sub(e.Claimed)/2, time.Second), 30*time.Second).Round(time.Second)
}

func doubt(op *agentgw.Operation, e *agentgw.Effect) agentgw.Judgement {
	if op.Rule.OnIndeterminate == agentgw.DoubtRetry {
		return agentgw.Judgement{Verdict: agentgw.Executed, Way: agentgw.Retry}
	}
	return agentgw.Judgement{Verdict: agentgw.InDoubt}
}

// judgeSuccess: a recorded success is replayed, unless the caller asks for it once more in a way that the policy allows, or a later
// transition has made room for it again.
func judgeSuccess(op *agentgw.Operation, call *agentgw.Call, m *agentgw.Remembered) agentgw.Judgement {
	e, r, room := m.Own, op.Rule, freed(op, call, m)
	if !m.Now.Before(e.Expires) && !room {
		return agentgw.Judgement{Verdict: agentgw.Expired}
	}
	if b := m.Bound; b != nil && b.Base == e.Base {
		return replay(b.Ordinal, e)
	}
	if call.Mode == agentgw.Redeliver {
		return agentgw.Judgement{Verdict: agentgw.Replayed}
	}
	if t := m.Token; t != nil && r.Repeat != agentgw.RepeatNever && t.ID == op.ID && t.Base == e.Base && m.Now.Before(t.Expires) {
		switch {
		case t.Ordinal == e.Ordinal:
			return agentgw.Judgement{Verdict: agentgw.Executed, Way: agentgw.Again, Repeat: true}
		case t.Ordinal == e.Ordinal-1 && e.Repeat:
			return agentgw.Judgement{Verdict: agentgw.Replayed}
		case t.Ordinal < e.Ordinal-1:
			return replay(t.Ordinal+1, e)
		}
	}
	if r.Repeat == agentgw.RepeatNewKey && call.IdempotencyKey != "" && m.Bound == nil {
		return agentgw.Judgement{Verdict: agentgw.Executed, Way: agentgw.Again, Repeat: true}
	}
	if room {
		return agentgw.Judgement{Verdict: agentgw.Executed, Way: agentgw.Again}
	}
	return agentgw.Judgement{Verdict: agentgw.Replayed}
}

// freed reports whether a later transition has made room for a recorded one again: then it stands in nobody's way, whatever its values
// were and whether or not its answer is still kept. A bulk resend, and the caller's key it was done under, ask for the recorded one.
func freed(op *agentgw.Operation, call *agentgw.Call, m *agentgw.Remembered) bool {
	e, r := m.Own, op.Rule
	return r.Pattern == agentgw.Transition && e.State == agentgw.StateSucceeded && call.Mode != agentgw.Redeliver &&
		(m.Bound == nil || m.Bound.Base != e.Base) && m.Entity != nil && m.Entity.Moves > e.Move && startable(r, stateOf(r, m))
}

func replay(ordinal int, e *agentgw.Effect) agentgw.Judgement {
	if ordinal == e.Ordinal {
		ordinal = 0
	}
	return agentgw.Judgement{Verdict: agentgw.Replayed, Ordinal: ordinal}
}

// budgets enforces the budget of sends of one effect, and that of effects of one operation.
func budgets(op *agentgw.Operation, m *agentgw.Remembered, j agentgw.Judgement) agentgw.Judgement {
	if m.Spent != nil && j.Verdict == agentgw.Executed {
		return agentgw.Judgement{Verdict: agentgw.Blocked, Reason: agentgw.ReasonLimit, Detail: fmt.Sprintf(
			"The budget of %s (%d within %s) is spent. Do not try again before %s.",
			op.Rule.Name, op.Rule.Limit.Count, op.Rule.Limit.Per, m.Spent.UTC().Format(time.RFC3339))}
	}
	b := op.Rule.Attempts
	if b == nil || m.Own == nil || j.Verdict != agentgw.Executed {
		return j
	}
	recent := m.Own.Sends
	for len(recent) > 0 && !m.Now.Before(recent[0].Add(b.Per)) {
		recent = recent[1:]
	}
	if len(recent) < b.Count {
		return j
	}
	return agentgw.Judgement{Verdict: agentgw.Blocked, Reason: agentgw.ReasonLimit, Detail: fmt.Sprintf(
		"This %s was tried %d times within %s, which is all its policy allows. Do not try again before %s.",
		op.Rule.Name, len(recent), b.Per, recent[len(recent)-b.Count].Add(b.Per).UTC().Format(time.RFC3339))}
}

// held judges a call whose entity or lock another effect holds: it is told to wait while that one runs, and that it is in doubt once
// its lease has run out or its outcome is unknown.
func held(m *agentgw.Remembered) agentgw.Judgement {
	h, of := m.Holder, m.Held
	if h.State == agentgw.StateIndeterminate || h.Lapsed(m.Now) {
		return agentgw.Judgement{Verdict: agentgw.InDoubt, Holder: h, Detail: fmt.Sprintf(
			"An earlier %s on %s was sent and its outcome is not known (%s). Until an operator settles it nothing else may touch %s; ask one, do not try another way.",
			h.Operation, of, h.ID, of)}
	}
	return agentgw.Judgement{Verdict: agentgw.InFlight, Reason: agentgw.ReasonLocked, Holder: h, RetryAfter: retryAfter(h, m.Now), Detail: fmt.Sprintf(
		"%s is being worked on by another %s (%s). Nothing was sent; make this same call again in a moment.", of, h.Operation, h.ID)}
}

// judgeElements judges a batch by its elements: all new, all done, or neither.
func judgeElements(op *agentgw.Operation, m *agentgw.Remembered) agentgw.Judgement {
	var done, differ []string
	doubt, running := (*agentgw.Effect)(nil), (*agentgw.Effect)(nil)
	for i, e := range m.Elements {
		if e == nil {
			continue
		}
		name := fmt.Sprintf("%d", i)
		switch {
		case e.State == agentgw.StateIndeterminate || e.State == agentgw.StateInFlight && e.Lapsed(m.Now):
			doubt = e
		case e.State == agentgw.StateInFlight || e.State == agentgw.StateClaimed:
			running = e
		default:
			done = append(done, name)
			for _, f := range Differs(e.Fields, op.Elements[i].Fields, agentgw.RoleMatch) {
				differ = append(differ, name+"."+f)
			}
		}
	}
	switch {
	case doubt != nil:
		return agentgw.Judgement{Verdict: agentgw.InDoubt, Holder: doubt}
	case running != nil:
		return agentgw.Judgement{Verdict: agentgw.InFlight, Reason: agentgw.ReasonRunning, Holder: running, RetryAfter: retryAfter(running, m.Now)}
	case len(differ) > 0:
		return agentgw.Judgement{Verdict: agentgw.Conflict, Fields: differ, Detail: fmt.Sprintf(
			"Elements of this %s were done before with other values%s (counted from 0). Nothing was sent.", op.Rule.Name, differing(differ))}
	case len(done) == 0:
		return agentgw.Judgement{Verdict: agentgw.Executed}
	case len(done) == len(op.Elements):
		return agentgw.Judgement{Verdict: agentgw.Replayed}
	}
	return agentgw.Judgement{Verdict: agentgw.Conflict, Fields: done, Detail: fmt.Sprintf(
		"Elements %s of this %s (counted from 0) are done already, the others are not. Send the others alone; nothing was sent.",
		strings.Join(done, ", "), op.Rule.Name)}
}

func stateOf(r *agentgw.Rule, m *agentgw.Remembered) string {
	switch {
	case m.State != nil:
		return *m.State
	case m.Entity != nil && m.Entity.State != "":
		return m.Entity.State
	}
	return r.Initial
}

func startable(r *agentgw.Rule, state string) bool {
	return r.FromAny || slices.Contains(r.From, state)
}

func blockedByState(op *agentgw.Operation, m *agentgw.Remembered) agentgw.Judgement {
	state, by := stateOf(op.Rule, m), ""
	if en := m.Entity; en != nil && m.State == nil && !en.By.IsZero() {
		by = fmt.Sprintf(" since %s, by %s (%s)", en.At.UTC().Format(time.RFC3339), en.ByWhom, en.By)
	}
	return agentgw.Judgement{Verdict: agentgw.Blocked, Reason: agentgw.ReasonState, Detail: fmt.Sprintf(
		"%s is %q%s; %s needs %s. Nothing was sent; look at its state before you plan anew.",
		op.EntityOf, state, by, op.Rule.Name, strings.Join(op.Rule.From, " or "))}
}

// judgeOverwrite lets a value pass that is not older than the newest one done or in doubt, one at a time, and one for each lock.
func judgeOverwrite(op *agentgw.Operation, m *agentgw.Remembered) agentgw.Judgement {
	e := m.Own
	if e == nil {
		e = &agentgw.Effect{}
	}
	newest := e.Newer
	if e.State == agentgw.StateInFlight || e.State == agentgw.StateClaimed {
		if !e.Lapsed(m.Now) {
			j := running(e, m.Now)
			j.Reason = agentgw.ReasonLocked
			return j
		}
		if e.State == agentgw.StateInFlight {
			newest = max(newest, e.Pending)
		}
	}
	j := agentgw.Judgement{Verdict: agentgw.Executed}
	switch {
	case m.Holder != nil:
		j = held(m)
	case op.Newer < newest:
		j = agentgw.Judgement{Verdict: agentgw.Blocked, Reason: agentgw.ReasonStale, Detail: fmt.Sprintf(
			"A newer value for this %s is already set or on its way. This older one was not sent; read the current value before you write again.", op.Rule.Name)}
	}
	j.Lapse = e.Lapsed(m.Now)
	return j
}

// Differs names the fields of a role whose canonical values differ between what is remembered (a) and what is asked (b); one that only
// one side has differs unless it is empty there.
func Differs(a, b []agentgw.Field, role agentgw.Role) []string {
	var names []string
	for _, f := range b {
		if f.Role == role && canonOf(a, f.Name) != f.Kept() {
			names = append(names, f.Name)
		}
	}
	for _, f := range a {
		if f.Role == role && f.Canon != "" && !slices.ContainsFunc(b, func(g agentgw.Field) bool { return g.Name == f.Name }) {
			names = append(names, f.Name)
		}
	}
	return names
}

func canonOf(fields []agentgw.Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Canon
		}
	}
	return ""
}

func differing(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return "; what differs: " + strings.Join(fields, ", ")
}
