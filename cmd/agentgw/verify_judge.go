package main

import (
	"fmt"
	"slices"
	"sync"
)

// intent is one wish of the battery, what was said about it, and what came of it.
type intent struct {
	mark       string             // by which the witness counts; no policy looks at it
	tool       func(n int) string // of the nth call, from 0 on
	args       func(n int) string // of the nth call: members of the arguments as JSON, without mark
	wants      int                // effects
	unknowable bool               // whoever calls cannot know whether it happened: a doubt is right
	refusable  bool               // a refusal is right: it asks for something else under the same identity

	mu       sync.Mutex
	calls    int
	doubt    *said  // the first, until an operator settles it
	doubts   int    // calls that ended in doubt: at most one is counted
	known    bool   // an operator has settled it: a doubt from now on is needless
	undone   int    // doubts after that
	refused  string // the last wrong refusal
	gaveUp   bool   // no decision came in time
	answers  []string
	happened int // at the witness
}

// heard keeps what a call was answered.
func (in *intent) heard(s said) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch s.is {
	case isDone:
		if s.answer != "" && !slices.Contains(in.answers, s.answer) {
			in.answers = append(in.answers, s.answer)
		}
	case isUnknown:
		in.doubts++
		if in.known {
			in.undone++
		}
		if in.doubt == nil {
			in.doubt = &s
		}
	case isNo:
		in.refused = s.detail
	}
}

// doubted reports whether a call ended in doubt.
func (in *intent) doubted() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.doubts > 0
}

func (in *intent) next() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.calls++
	return in.calls - 1
}

// tally is what a fault came to. Excess, Missing, WrongRefusals, NeedlessDoubts and Differing are violations.
type tally struct {
	Calls          int `json:"calls"`
	Intended       int `json:"intended"`          // effects that were wished for
	Effects        int `json:"effects"`           // that the witness counted
	Excess         int `json:"excess"`            // beyond what was wished for
	Missing        int `json:"missing"`           // wished for and never happened, also after doubts were settled
	WrongRefusals  int `json:"wrong_refusals"`    // wishes refused, or left undecided, without a reason
	Doubts         int `json:"doubts"`            // where nobody who calls can know: right
	NeedlessDoubts int `json:"needless_doubts"`   // where it could be known
	Differing      int `json:"differing_answers"` // wishes whose duplicates got other answers than the first

	Why []string `json:"why,omitempty"` // of each violation
}

// violated reports whether a promise was broken.
func (t *tally) violated() bool {
	return t.Excess+t.Missing+t.WrongRefusals+t.NeedlessDoubts+t.Differing > 0
}

// add sums up.
func (t *tally) add(o *tally) {
	t.Calls += o.Calls
	t.Intended += o.Intended
	t.Effects += o.Effects
	t.Excess += o.Excess
	t.Missing += o.Missing
	t.WrongRefusals += o.WrongRefusals
	t.Doubts += o.Doubts
	t.NeedlessDoubts += o.NeedlessDoubts
	t.Differing += o.Differing
	t.Why = append(t.Why, o.Why...)
}

// judge counts what came of some intents. It looks at the witness's counts and at what callers were told, at nothing else.
func judge(intents []*intent) *tally {
	t := &tally{}
	for _, in := range intents {
		in.mu.Lock()
		t.Calls += in.calls
		t.Intended += in.wants
		t.Effects += in.happened
		if n := in.happened - in.wants; n > 0 {
			t.Excess += n
			t.because(in, "happened %d times instead of %d", in.happened, in.wants)
		} else if n < 0 {
			t.Missing -= n
			t.because(in, "happened %d times instead of %d", in.happened, in.wants)
		}
		switch {
		case in.refused != "" && !in.refusable:
			t.WrongRefusals++
			t.because(in, "was refused: %s", in.refused)
		case in.refused == "" && in.refusable:
			t.WrongRefusals++
			t.because(in, "asked for something else under the same identity and was not refused")
		case in.gaveUp:
			t.WrongRefusals++
			t.because(in, "was not decided in time")
		}
		switch {
		case in.undone > 0:
			t.NeedlessDoubts++
			t.because(in, "is in doubt again after it was settled")
		case in.doubts > 0 && in.unknowable:
			t.Doubts++
		case in.doubts > 0:
			t.NeedlessDoubts++
			t.because(in, "is in doubt, though it can be known")
		}
		if len(in.answers) > max(1, in.wants) {
			t.Differing++
			t.because(in, "had %d answers: %q", len(in.answers), in.answers)
		}
		in.mu.Unlock()
	}
	return t
}

func (t *tally) because(in *intent, format string, args ...any) {
	t.Why = append(t.Why, in.mark+" "+fmt.Sprintf(format, args...))
}
