package main

import (
	"errors"
	"fmt"
	"strconv"
)

// redeliverReport says what became of all lines, those of earlier runs included.
type redeliverReport struct {
	Lines      int    `json:"lines"`
	Already    int    `json:"done_already"`
	Executed   int    `json:"executed"`
	Refused    int    `json:"refused"`
	Doubt      int    `json:"in_doubt"`
	Failed     int    `json:"failed"`
	Unreadable int    `json:"unreadable,omitempty"`  // and skipped
	Left       int    `json:"left"`                  // not sent before the interruption
	Earlier    int    `json:"earlier,omitempty"`     // of them settled by earlier runs
	Same       int    `json:"same_effect,omitempty"` // of those done already: whose effect another line asks for, too
	Attention  []mark `json:"attention,omitempty"`   // what is not done

	lines map[string]int // of each effect
}

// newRedeliverReport begins with what earlier runs settled.
func newRedeliverReport(bulk *bulk, done *journal) *redeliverReport {
	r := &redeliverReport{lines: map[string]int{}, Lines: bulk.lines, Unreadable: len(bulk.unreadable), Left: bulk.lines}
	for _, was := range done.known {
		if was.final() {
			r.add(was)
			r.Earlier++
		}
	}
	return r
}

func (r *redeliverReport) add(was mark) {
	r.Left--
	if was.Effect != "" && (was.Is == isAlready || was.Is == isExecuted) {
		if r.lines[was.Effect]++; r.lines[was.Effect] > 1 && was.Is == isAlready {
			r.Same++
		}
	}
	switch was.Is {
	case isAlready:
		r.Already++
	case isExecuted:
		r.Executed++
	case isRefused:
		r.Refused++
	case isDoubt:
		r.Doubt++
	default:
		r.Failed++
	}
	if was.Is != isAlready && was.Is != isExecuted {
		r.Attention = append(r.Attention, was)
	}
}

// showRedelivered writes the report. Its error is the exit code.
func (a *app) showRedelivered(file string, r *redeliverReport) error {
	var failed error
	if len(r.Attention) > 0 || r.Left > 0 {
		failed = &checkFailed{}
	}
	sortMarks(r.Attention)
	if a.json {
		return errors.Join(a.writeJSON(r), failed)
	}
	rows := [][]string{}
	for _, row := range []struct {
		name string
		n    int
	}{{"done already", r.Already}, {"executed", r.Executed}, {"refused", r.Refused}, {"in doubt", r.Doubt}, {"failed", r.Failed}} {
		rows = append(rows, []string{row.name, strconv.Itoa(row.n)})
	}
	a.table(rows)
	if r.Earlier > 0 {
		fmt.Fprintf(a.stdout, "%d of them by earlier runs, as %s.done says.\n", r.Earlier, file)
	}
	if r.Same > 0 {
		fmt.Fprintf(a.stdout, "%d of those done already ask for an effect that another line asks for, too. Where one was meant once more and is missing, "+
			"make that call by itself with agentgw call.\n", r.Same)
	}
	for _, was := range r.Attention {
		fmt.Fprintf(a.stdout, "%s:%d: %s: %s\n", file, was.Line, words(was.Decision, was.Outcome, was.Reason, was.Effect), was.Detail)
	}
	if r.Unreadable > 0 {
		fmt.Fprintf(a.stdout, "%d lines could not be read and were left out.\n", r.Unreadable)
	}
	if r.Left > 0 {
		fmt.Fprintf(a.stdout, "%d lines are left: the same command goes on with them.\n", r.Left)
	}
	return failed
}
