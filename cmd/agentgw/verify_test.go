package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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

var needWire = []string{"kill-before-claim", "kill-after-claim", "kill-before-outcome", "kill-after-outcome"}

// TestVerifyMemory also lets the faults hit the bare tool: there they must show.
func TestVerifyMemory(t *testing.T) {
	t.Parallel()
	r := runVerify(t, exitFine, "--ledger", "memory:", "--without", "--times", "2")
	proven(t, r, append([]string{"kill-before-send", "kill-after-send", "kill-before-settle", "paused-then-done", "paused-then-lost"}, needWire...)...)
	excess := map[string]int{}
	for _, f := range r.Faults {
		if f.Without != nil {
			excess[f.Name] = f.Without.Excess
		}
	}
	for name, least := range map[string]int{"settle-then-lose": 2, "half-answer": 2, "5xx-after-settle": 2, "caller-left": 2,
		"duplicate-storm": 2 * (stormCalls - 1), "rewording": wordings - 1, "changed-amount": 2, "deliberate-repeat": 2} {
		if excess[name] < least {
			t.Errorf("%s: %d effects too many without a gateway, wanted %d", name, excess[name], least)
		}
	}
	if r.Without.Excess == 0 || !r.Without.violated() {
		t.Errorf("without a gateway: %+v", r.Without)
	}
}

// TestVerifyFile proves an embedded ledger that already has a life of its own, and shows the kills without a gateway beside it.
func TestVerifyFile(t *testing.T) {
	t.Parallel()
	r := runVerify(t, exitFine, "--ledger", "file:"+filepath.Join(t.TempDir(), "ledger.db"), "--times", "2", "--without")
	proven(t, r, needWire...)
	for _, f := range r.Faults {
		if strings.HasPrefix(f.Name, "kill-after") && f.Without != nil && f.Without.Excess != 2 {
			t.Errorf("%s: %d effects too many without a gateway", f.Name, f.Without.Excess)
		}
	}
}

// TestVerifyRedis runs every fault that there is but the jump of a clock that is not ours.
func TestVerifyRedis(t *testing.T) {
	t.Parallel()
	proven(t, runVerify(t, exitFine, "--ledger", redistest.Start(t, redistest.Options{}).TCP, "--times", "2"), "clock-jump")
}

// TestVerifySentinel and TestVerifyCluster run the faults that another kind of Redis can make a difference to.
func TestVerifySentinel(t *testing.T) {
	t.Parallel()
	proven(t, runVerify(t, exitFine, append([]string{"--ledger", redistest.StartSentinel(t, 1).URL}, fewFaults...)...))
}

func TestVerifyCluster(t *testing.T) {
	t.Parallel()
	proven(t, runVerify(t, exitFine, append([]string{"--ledger", redistest.StartCluster(t).URL}, fewFaults...)...))
}

var fewFaults = []string{"--times", "2", "--only", "cut-*", "--only", "kill-*-se*", "--only", "paused-*", "--only", "duplicate-storm"}

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
	tr, err := b.try(forgets, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := tr.judge(); !got.violated() {
		t.Errorf("a ledger lost all effects, and nothing was found: %+v", got)
	}
}
