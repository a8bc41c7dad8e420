package agentgw

import (
	"encoding/json"
	"time"
)

// Verdict is the one word of a decision.
type Verdict string

const (
	Executed         Verdict = "executed"
	Passed           Verdict = "passed"
	Replayed         Verdict = "replayed"
	InFlight         Verdict = "in_flight"
	Conflict         Verdict = "conflict"
	InDoubt          Verdict = "indeterminate"
	Blocked          Verdict = "blocked"
	Similar          Verdict = "similar"
	Held             Verdict = "held"
	Denied           Verdict = "denied"
	Expired          Verdict = "expired"
	Rejected         Verdict = "rejected"
	Unavailable      Verdict = "unavailable"
	ClaimedForCaller Verdict = "claimed" // begin and complete only: go ahead, and say how it ended
)

// Reasons beside a verdict.
const (
	ReasonRunning  = "running"
	ReasonLocked   = "locked"
	ReasonState    = "state"
	ReasonStale    = "stale"
	ReasonLimit    = "limit"
	ReasonTooLarge = "too_large"
)

// Decision is the answer to a call: a value, never an error.
type Decision struct {
	Verdict   Verdict
	Outcome   Outcome // of the attempt, where one was sent
	NeverSent bool
	Reason    string
	Detail    string // one or two plain sentences: what happened and what to do next
	Operation string
	Effect    *Effect // nil where the call has none, or it may not be shown
	Answer    *Answer // the tool's, or the first one's on a replay; nil where none came or none was kept

	Fields     []string // conflict: what differs
	Ignored    map[string][2]json.RawMessage
	Churn      bool // asked before under another key of the caller's
	Candidates []Candidate
	Token      string // repeat_token
	RetryAfter time.Duration
	Canonical  []Field // for people: raw and canonical
}

// Candidate is an earlier effect that a `similar` call may mean.
type Candidate struct {
	ID      EffectID
	Text    map[string]string // its free text, by field, as it came then
	Differs []string          // words that only one of the two has: "+again", "-still"
	Score   float64           // closeness, 0 to 1
}

// Likeness is a candidate by its place in a list.
type Likeness struct {
	Index   int
	Score   float64
	Differs []string
}

// Sent reports whether the decision let a request leave for the tool.
func (v Verdict) Sent() bool { return v == Executed || v == Passed }
