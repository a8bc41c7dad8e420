// Package simulate runs policy tests: scripted calls and a scripted upstream around the real pipeline, in virtual time.
package simulate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"agentgw"
	"agentgw/ledger"
)

// Suite is one file of policy tests, read and compiled.
type Suite struct {
	File  string
	cases []*testCase
}

// Len is the number of cases.
func (s *Suite) Len() int { return len(s.cases) }

// Options of a run; the zero value runs everything in virtual time on a ledger in memory.
type Options struct {
	// Ledger opens a real store, on which the cases that need no virtual time are run, in real time; the others are skipped. The run
	// closes it. Its records stay, under tenants that no other run has.
	Ledger func() (ledger.Store, error)
}

// CaseResult is how one case went.
type CaseResult struct {
	File    string       `json:"file"`
	Case    string       `json:"case"`
	OK      bool         `json:"ok"`
	Calls   []CallResult `json:"calls"`
	Effects int          `json:"effects"` // what happened upstream, passed calls excepted

	Failures []string `json:"failures,omitempty"` // "file:line: case … step 3: expected replayed, got conflict (fields amount)"
	Skipped  string   `json:"skipped,omitempty"`  // why it was not run; then nothing else is told
}

// CallResult is one call of a case.
type CallResult struct {
	Expect   agentgw.Verdict `json:"expect"` // "" where the test expects nothing
	Decision agentgw.Verdict `json:"decision"`
	Effect   string          `json:"effect"` // id; "" where the decision speaks of none
	Reason   string          `json:"reason"`

	outcome agentgw.Outcome
	fields  []string
}

// Run runs all cases in their order. The error says that the ledger could not be opened, or that ctx has ended.
func (s *Suite) Run(ctx context.Context, o Options) (results []CaseResult, err error) {
	var store ledger.Store
	if o.Ledger != nil {
		if store, err = o.Ledger(); err != nil {
			return nil, err
		}
		defer func() { err = cmp.Or(err, store.Close()) }()
	}
	for _, c := range s.cases {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		written := newWorld(c, inVirtualTime).play()
		if store == nil {
			results = append(results, written)
			continue
		}
		if why := timeMatters(written, newWorld(c, withoutGaps).play()); why != "" {
			results = append(results, CaseResult{File: c.file, Case: c.name, Skipped: why})
			continue
		}
		w := newWorld(c, inRealTime)
		w.store, w.prefix = store, unique()
		results = append(results, w.play())
	}
	return results, nil
}

// timeMatters says why a case needs virtual time; "" where it does not: then it goes the same way when its steps follow each other
// without gaps and the upstream answers at once.
func timeMatters(written, without CaseResult) string {
	if written.Effects != without.Effects {
		return fmt.Sprintf("it needs virtual time: without gaps between its steps %d effects happen instead of %d", without.Effects, written.Effects)
	}
	was, is := newcomers(written.Calls), newcomers(without.Calls)
	for i, a := range written.Calls {
		b := without.Calls[i]
		switch {
		case a.Decision != b.Decision:
			return fmt.Sprintf("it needs virtual time: without gaps between its steps call %d is %s instead of %s", i+1, b.Decision, a.Decision)
		case a.Reason != b.Reason, a.outcome != b.outcome, fmt.Sprint(a.fields) != fmt.Sprint(b.fields), was[i] != is[i], written.OK != without.OK:
			return fmt.Sprintf("it needs virtual time: without gaps between its steps call %d goes another way", i+1)
		}
	}
	return ""
}

// newcomers numbers the effects of calls in the order in which they turn up.
func newcomers(calls []CallResult) []int {
	seen := map[string]int{"": 0}
	numbers := make([]int, len(calls))
	for i, c := range calls {
		if _, ok := seen[c.Effect]; !ok {
			seen[c.Effect] = len(seen)
		}
		numbers[i] = seen[c.Effect]
	}
	return numbers
}

// unique is a word that no other run has.
func unique() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return "test-" + hex.EncodeToString(b) + "-"
}
