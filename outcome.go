package agentgw

// Outcome is how an attempt ended.
type Outcome string

const (
	Succeeded     Outcome = "succeeded"
	Failed        Outcome = "failed"        // known to have had no effect: the effect is free again
	Indeterminate Outcome = "indeterminate" // may have had its effect: only a probe, an operator or the attempt itself can tell
)

// Answer is what the tool said, kept for whoever asks again. Hop-by-hop headers, Date and Set-Cookie are not in it.
type Answer struct {
	Status  int
	Header  []Header
	Body    []byte
	Trailer []Header
}

// Result is the end of one attempt.
type Result struct {
	Outcome   Outcome
	NeverSent bool    // failed before the first byte left: the upstream key stays the same
	Answer    *Answer // nil where none came or none is to be kept
	Why       string  // one sentence for people and for the log
}
