package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agentgw/internal/redistest"
)

// ledgerKind is a kind of ledger that the battery runs on.
type ledgerKind struct {
	name  string
	start func(*testing.T) string // its URL
	left  []string                // faults that cannot be run there
}

var ledgerKinds = []ledgerKind{
	{"memory", func(*testing.T) string { return "memory:" }, []string{"kill-before-send", "kill-after-send", "kill-before-settle",
		"paused-then-done", "paused-then-lost", "kill-before-claim", "kill-after-claim", "kill-before-outcome", "kill-after-outcome"}},
	{"file", func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "ledger.db") }, nil},
	{"redis", func(t *testing.T) string { return redistest.Start(t, redistest.Options{}).TCP }, nil},
	{"rediss", func(t *testing.T) string {
		s := redistest.Start(t, redistest.Options{TLS: true})
		return s.URL + "?ca=" + s.CertFile
	}, nil},
	{"redis-sentinel", func(t *testing.T) string { return redistest.StartSentinel(t, 1).URL }, nil},
	{"redis-cluster", func(t *testing.T) string { return redistest.StartCluster(t).URL }, nil},
}

// TestVerify runs every fault on every kind of ledger, and on the bare tool: once each, or VERIFY_TIMES times. With that it writes the
// table of docs/verify.md.
func TestVerify(t *testing.T) {
	t.Parallel()
	times, long := os.LookupEnv("VERIFY_TIMES")
	if !long {
		times = "1"
	}
	reports := make([]*batteryReport, len(ledgerKinds))
	var all sync.WaitGroup // not t.Parallel: they mostly wait, and together take a minute instead of three
	for i, kind := range ledgerKinds {
		all.Go(func() {
			t.Run(kind.name, func(t *testing.T) {
				reports[i] = runVerify(t, exitFine, "--ledger", kind.start(t), "--without", "--times", times)
				proven(t, reports[i], kind.left...)
				bareToolFails(t, reports[i])
			})
		})
	}
	all.Wait()
	if long && !t.Failed() {
		fmt.Print(verifyTable(reports))
	}
}

// bareToolFails: without a gateway the faults do harm, or they would prove nothing.
func bareToolFails(t *testing.T, r *batteryReport) {
	t.Helper()
	atLeast := map[string]int{"settle-then-lose": 1, "reused-connection": 1, "half-answer": 1, "5xx-after-settle": 1, "caller-left": 1, "duplicate-storm": stormCalls - 1,
		"rewording": wordings - 1, "changed-amount": 1, "deliberate-repeat": 1, "kill-after-send": 1, "kill-before-settle": 1}
	for _, f := range r.Faults {
		if f.Without != nil && f.Without.Excess < atLeast[f.Name] {
			t.Errorf("%s: %d effects too many without a gateway, expected %d", f.Name, f.Without.Excess, atLeast[f.Name])
		}
	}
	if !r.Without.violated() {
		t.Errorf("without a gateway: %+v", r.Without)
	}
}

// verifyTable is the table of docs/verify.md.
func verifyTable(reports []*batteryReport) string {
	var b strings.Builder
	b.WriteString("| ledger | faults | intended | excess | missing | wrong refusals | doubts: unknowable | doubts: knowable | bare tool: excess | missing | wrong refusals | doubts |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, r := range reports {
		run := 0
		for _, f := range r.Faults {
			if f.With != nil {
				run++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", ledgerKinds[i].name, run, r.Total.Intended,
			r.Total.Excess, r.Total.Missing, r.Total.WrongRefusals, r.Total.Doubts, r.Total.NeedlessDoubts,
			r.Without.Excess, r.Without.Missing, r.Without.WrongRefusals, r.Without.Doubts+r.Without.NeedlessDoubts)
	}
	return b.String()
}
