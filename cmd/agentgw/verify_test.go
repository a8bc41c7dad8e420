package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"agentgw/internal/redistest"
)

// TestJudge: each way to break a promise is a violation, and what is right is none.
func TestJudge(t *testing.T) {
	doubt := &said{is: isUnknown}
	for name, c := range map[string]struct {
		in   *intent
		want tally
		bad  bool
	}{
		"done once":              {&intent{wants: 1, happened: 1, calls: 3, answers: []string{"a"}}, tally{Calls: 3, Intended: 1, Effects: 1}, false},
		"done twice":             {&intent{wants: 1, happened: 2}, tally{Intended: 1, Effects: 2, Excess: 1}, true},
		"done four times":        {&intent{wants: 2, happened: 4}, tally{Intended: 2, Effects: 4, Excess: 2}, true},
		"never done":             {&intent{wants: 1}, tally{Intended: 1, Missing: 1}, true},
		"repeat that was merged": {&intent{wants: 2, happened: 1}, tally{Intended: 2, Effects: 1, Missing: 1}, true},
		"doubt that must be":     {&intent{wants: 1, happened: 1, doubt: doubt, doubts: 2, unknowable: true}, tally{Intended: 1, Effects: 1, Doubts: 1}, false},
		"doubt without need":     {&intent{wants: 1, happened: 1, doubts: 1}, tally{Intended: 1, Effects: 1, NeedlessDoubts: 1}, true},
		"doubt undone":           {&intent{wants: 1, happened: 1, doubts: 2, unknowable: true, known: true, undone: 1}, tally{Intended: 1, Effects: 1, NeedlessDoubts: 1}, true},
		"wrong refusal":          {&intent{wants: 1, happened: 1, refused: "blocked"}, tally{Intended: 1, Effects: 1, WrongRefusals: 1}, true},
		"never decided":          {&intent{wants: 1, happened: 1, gaveUp: true}, tally{Intended: 1, Effects: 1, WrongRefusals: 1}, true},
		"right refusal":          {&intent{refused: "conflict", refusable: true}, tally{}, false},
		"refusal that was owed":  {&intent{refusable: true}, tally{WrongRefusals: 1}, true},
		"two answers":            {&intent{wants: 1, happened: 1, answers: []string{"a", "b"}}, tally{Intended: 1, Effects: 1, Differing: 1}, true},
		"two effects' answers":   {&intent{wants: 2, happened: 2, answers: []string{"a", "b"}}, tally{Intended: 2, Effects: 2}, false},
	} {
		got := judge([]*intent{c.in})
		if got.violated() != c.bad || c.bad != (len(got.Why) > 0) {
			t.Errorf("%s: violated is %v, because of %q", name, got.violated(), got.Why)
		}
		if got.Why = nil; !equalTally(got, &c.want) {
			t.Errorf("%s: %+v instead of %+v", name, *got, c.want)
		}
	}
}

func equalTally(a, b *tally) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// runVerify runs the battery, and returns what it found.
func runVerify(t *testing.T, want int, args ...string) *batteryReport {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"--json", "verify"}, args...), nil, &out, &errs, os.Environ())
	r := &batteryReport{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil || code != want {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out.String(), errs.String())
	}
	return r
}

// proven fails the test where the battery found anything, or left out what it should have run.
func proven(t *testing.T, r *batteryReport, left ...string) {
	t.Helper()
	var notRunHere []string
	for _, f := range r.Faults {
		if f.Verdict == notRun {
			notRunHere = append(notRunHere, f.Name)
		} else if f.Verdict != held || f.With.Effects == 0 || f.With.violated() {
			t.Errorf("%s: %s %+v %s", f.Name, f.Verdict, f.With, f.Broken)
		}
	}
	if !slices.Equal(notRunHere, left) {
		t.Errorf("not run: %q instead of %q", notRunHere, left)
	}
	t.Logf("%d faults: %+v", len(r.Faults), *r.Total)
}

// TestClockNeeds: a fault that cannot be run says how it can be.
func TestClockNeeds(t *testing.T) {
	redis := &battery{ledger: "redis-cluster://127.0.0.1:1"}
	if why := needsClock(redis); why != "" {
		t.Errorf("%s (scripts/test.sh installs it)", why)
	}
	t.Setenv("PATH", "")
	if why := needsClock(redis); !strings.Contains(why, "needs redis-server: apt-get install redis-server libfaketime") {
		t.Errorf("without redis-server: %q", why)
	}
	if why := needsClock(&battery{ledger: "file:x"}); why != "" {
		t.Errorf("a file: %q", why)
	}
}

// TestVerifyInterrupted: a fault that was broken off is no violation and is not counted; the report says where, and what ran.
func TestVerifyInterrupted(t *testing.T) {
	t.Parallel()
	var interrupt context.CancelFunc
	b := &battery{tenant: "verify-test", ledger: "memory:"}
	var err error
	if b.witness, err = startWitness(); err != nil {
		t.Fatal(err)
	}
	defer b.witness.close()
	fine := &fault{name: "fine", run: func(*trial) error { return nil }}
	broken := &fault{name: "broken-off", run: func(t *trial) error {
		t.intent() // wished for, and never sent
		interrupt()
		return t.ctx.Err()
	}}
	for _, inJSON := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{ctx: t.Context(), stdout: &out, stderr: &out, json: inJSON}
		b.ctx, interrupt = context.WithCancel(t.Context())
		defer interrupt()
		code := a.fail(a.runBattery(b, []*fault{fine, broken, fine}, false))
		r := &batteryReport{}
		switch {
		case code != exitFailed:
			t.Errorf("exit code %d", code)
		case !inJSON && (!strings.Contains(out.String(), "Interrupted at broken-off, which is left out. 1 fault before it ran: fine.") ||
			!strings.Contains(out.String(), "--tenant verify-test") || strings.Contains(out.String(), violated)):
			t.Errorf("the text does not say so:\n%s", out.String())
		case inJSON && (json.Unmarshal(out.Bytes(), r) != nil || r.Verdict != cutShort || r.Interrupted != "broken-off" || len(r.Faults) != 1 || r.Total.violated()):
			t.Errorf("the JSON does not say so:\n%s", out.String())
		}
	}
}

// TestVerifyFinds: the battery is not blind. A ledger that forgets is found out.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	b := &battery{ctx: t.Context(), env: os.Environ(), dir: t.TempDir(), times: 2, tenant: "verify-test", secret: random(), ledger: server.TCP}
	var err error
	if b.witness, err = startWitness(); err != nil {
		t.Fatal(err)
	}
	defer b.witness.close()
	defer b.closeShared()
	forgets := &fault{name: "forgets", run: func(t *trial) error {
		to, err := t.another(gateOptions{})
		if err != nil {
			return err
		}
		in := t.intent()
		persist(t.ctx, to, in, patient)
		to.kill() // a gateway that lives writes back what its ledger forgot
		if _, err := server.Do("FLUSHALL"); err != nil {
			return err
		}
		if err := to.start(""); err != nil {
			return err
		}
		persist(t.ctx, to, in, patient)
		return nil
	}}
	for _, inJSON := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{ctx: t.Context(), stdout: &out, stderr: &out, json: inJSON}
		err := a.runBattery(b, []*fault{forgets}, true)
		r := &batteryReport{}
		switch {
		case a.fail(err) != exitFailed:
			t.Errorf("a ledger lost all effects, and the exit code is not 1: %v", err)
		case !inJSON && !strings.Contains(out.String(), "violated\n  without gateway"):
			t.Errorf("the text does not say so:\n%s", out.String())
		case inJSON && (json.Unmarshal(out.Bytes(), r) != nil || r.Verdict != violated || r.Total.Excess == 0 || r.Faults[0].Without == nil):
			t.Errorf("the JSON does not say so:\n%s", out.String())
		}
	}
}
