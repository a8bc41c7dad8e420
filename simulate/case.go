package simulate

import (
	"net/http"
	"time"

	"agentgw"
	"agentgw/policy"
)

// testCase is one case, as it was read.
type testCase struct {
	file    string
	line    int
	name    string
	most    int // effects that may happen; -1: any number
	exactly bool
	dedups  bool
	policy  *policy.Policy
	answers map[string]script // of tools that the gateway itself asks
	steps   []*step
}

// step is one thing that happens at its moment: a call, or something that happens to the gateway, the ledger or the upstream.
type step struct {
	line, number int
	at           time.Duration
	id           string

	call    *callStep
	event   *eventStep
	policy  *policy.Policy    // a new version takes over
	answers map[string]script // tools that the gateway asks answer otherwise from now on
}

// callStep is a call and what is expected of it.
type callStep struct {
	call     agentgw.Call  // by tool; of a call by HTTP only who calls
	request  *http.Request // by HTTP; nil by tool
	body     []byte        // of request
	script   script
	hangUp   time.Duration // the caller goes away so long after its call; 0: it stays
	repeatOf string        // id of the step with whose token it is sent
	sameAs   string        // id of the step whose effect it names
	expect   expectation
}

// answerKind is what an upstream does with a call.
type answerKind string

const (
	answerOK      answerKind = "ok"
	answerTimeout answerKind = "timeout"    // it got the call, and its answer does not come in time
	answerReset   answerKind = "reset"      // it got the call, and its answer is lost
	answerRefused answerKind = "refused"    // it never got the call
	answerUnsaved answerKind = "ok_unsaved" // it did it, and the gateway can never write so
)

// script is what the upstream does with one call.
type script struct {
	answer answerKind
	status int
	header http.Header
	body   []byte // nil: one that no other call gets
	takes  time.Duration
	effect *bool // nil: as the answer says
}

// happens reports whether the upstream does what it is asked for.
func (s *script) happens() bool {
	switch {
	case s.effect != nil:
		return *s.effect
	case s.answer == answerUnsaved:
		return true
	}
	return s.answer == answerOK && s.status >= 200 && s.status <= 299
}

// expectation is what a test says about a decision. What is empty is not looked at.
type expectation struct {
	decision     agentgw.Verdict
	distinct     bool
	sameAnswerAs string // id of a step
	noAnswer     bool
	fields       []string
	reason       string
	outcome      agentgw.Outcome
	state        agentgw.State
	sends        int // -1: not looked at
}

// eventStep is something that happens.
type eventStep struct {
	name    string
	step    string // id of the step whose effect it is about; "" for the latest that it fits
	refused bool   // the test expects that it is refused
}
