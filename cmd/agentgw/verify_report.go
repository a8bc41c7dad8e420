package main

import (
	"fmt"
	"slices"
)

// Verdicts of a fault.
const (
	held     = "held"
	violated = "violated"
	notRun   = "not run"
	cutShort = "interrupted" // of a battery: not all faults ran, and none of those that did was violated
)

// faultReport is what one fault came to.
type faultReport struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Verdict string `json:"verdict"`
	NotRun  string `json:"not_run,omitempty"` // why
	Broken  string `json:"error,omitempty"`   // what kept the fault from being judged
	With    *tally `json:"gateway,omitempty"`
	Without *tally `json:"bare_tool,omitempty"`

	trials []*trial
}

// batteryReport is what all came to.
type batteryReport struct {
	Ledger  string         `json:"ledger"`
	Tenant  string         `json:"tenant"`
	Verdict string         `json:"verdict"`
	Total   *tally         `json:"gateway"`
	Without *tally         `json:"bare_tool,omitempty"`
	Faults  []*faultReport `json:"faults"`

	Interrupted string `json:"interrupted,omitempty"` // the fault at which the run was given up; it is not among Faults
}

// runBattery runs the faults one after the other, and reports.
func (a *app) runBattery(b *battery, chosen []*fault, without bool) error {
	report := &batteryReport{Ledger: shownLedger(b.ledger), Tenant: b.tenant, Verdict: held, Total: &tally{}}
	if without {
		report.Without = &tally{}
	}
	a.verifyHeader(report, without)
	for _, f := range chosen {
		r := b.report(f, without)
		if b.ctx.Err() != nil { // what was broken off proves nothing, either way
			report.Verdict, report.Interrupted = cutShort, f.name
			break
		}
		report.Faults = append(report.Faults, r)
		a.verifyLine(r)
	}
	b.witness.idle(b.ctx)
	for _, r := range report.Faults {
		a.countLate(r)
		report.add(r)
	}
	if a.json {
		a.writeJSON(report)
	} else {
		a.verifyEnd(report)
	}
	if report.Verdict != held {
		return &checkFailed{}
	}
	return nil
}

func (b *battery) report(f *fault, without bool) *faultReport {
	r := &faultReport{Name: f.name, About: f.about, Verdict: held}
	if f.not != nil {
		r.NotRun = f.not(b)
	}
	if r.NotRun != "" {
		r.Verdict = notRun
		return r
	}
	t, err := b.try(f, false)
	r.With, r.trials = t.judge(), []*trial{t}
	if r.With.violated() || err != nil {
		r.Verdict = violated
	}
	if err != nil {
		r.Broken = err.Error()
	}
	if without {
		bare, err := b.try(f, true)
		r.Without, r.trials = bare.judge(), append(r.trials, bare)
		if err != nil {
			r.Broken = "bare tool: " + err.Error()
		}
	}
	return r
}

// countLate counts again at the very end: an effect that came after its fault was judged counts as well.
func (a *app) countLate(r *faultReport) {
	if len(r.trials) == 0 || r.trials[0].judge().Effects == r.With.Effects {
		return
	}
	r.With = r.trials[0].judge()
	r.With.Why = append(r.With.Why, "an effect happened after the fault was over")
	r.Verdict = violated
	a.verifyLine(r)
}

func (r *batteryReport) add(f *faultReport) {
	if f.Verdict == violated {
		r.Verdict = violated
	}
	if f.With != nil {
		r.Total.add(f.With)
	}
	if f.Without != nil {
		r.Without.add(f.Without)
	}
}

// names are those of the faults that the report has.
func (r *batteryReport) names() (names []string) {
	for _, f := range r.Faults {
		names = append(names, f.Name)
	}
	return names
}

const verifyColumns = "%-20s %6v %9v %8v %7v %8v %9v %7v %9v"

func (a *app) verifyHeader(r *batteryReport, without bool) {
	if a.json {
		return
	}
	fmt.Fprintf(a.stdout, "Ledger %s, tenant %s\n\n"+verifyColumns+"  %s\n", r.Ledger, r.Tenant,
		"FAULT", "CALLS", "INTENDED", "EFFECTS", "EXCESS", "MISSING", "REFUSALS", "DOUBTS", "NEEDLESS", "VERDICT")
}

func verifyCells(name string, t *tally) string {
	return fmt.Sprintf(verifyColumns, name, t.Calls, t.Intended, t.Effects, t.Excess, t.Missing, t.WrongRefusals, t.Doubts, t.NeedlessDoubts)
}

// verifyLine writes one fault, and below it what the bare tool did and what went wrong.
func (a *app) verifyLine(r *faultReport) {
	if a.json {
		return
	}
	if r.With == nil {
		fmt.Fprintf(a.stdout, "%-20s %s: %s\n", r.Name, r.Verdict, r.NotRun)
		return
	}
	fmt.Fprintf(a.stdout, "%s  %s\n", verifyCells(r.Name, r.With), r.Verdict)
	if r.Without != nil {
		fmt.Fprintln(a.stdout, verifyCells("  without gateway", r.Without))
	}
	for _, why := range slices.Compact(append(slices.Clone(r.With.Why), r.Broken)) {
		if why != "" {
			fmt.Fprintf(a.stdout, "    %s\n", why)
		}
	}
}

func (a *app) verifyEnd(r *batteryReport) {
	fmt.Fprintf(a.stdout, "\n%s  %s\n", verifyCells("all", r.Total), r.Verdict)
	if r.Without != nil {
		fmt.Fprintln(a.stdout, verifyCells("  without gateway", r.Without))
	}
	if r.Interrupted != "" {
		fmt.Fprintf(a.stdout, "\nInterrupted at %s, which is left out. %s before it ran: %s.\nWhat was under way may stay as a doubt: agentgw effects list --ledger %s --tenant %s\n",
			r.Interrupted, count(len(r.Faults), "fault"), listed(r.names()), r.Ledger, r.Tenant)
	}
	fmt.Fprint(a.stdout, `
Effects are what the tool really did. Refusals are wishes refused without a reason. Doubts are those that nobody who calls can know: each
was resolved as the tool has it, and its call made once more. Needless are doubts about what can be known.
`)
}
