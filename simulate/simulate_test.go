package simulate_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"agentgw/internal/redistest"
	"agentgw/ledger"
	"agentgw/ledger/filestore"
	"agentgw/ledger/redisstore"
	"agentgw/simulate"
)

func load(t *testing.T) []*simulate.Suite {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d files of policy tests: %v", len(files), err)
	}
	var suites []*simulate.Suite
	for _, file := range files {
		s, err := simulate.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		suites = append(suites, s)
	}
	return suites
}

func TestCases(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, s := range load(t) {
		run(t, s, simulate.Options{})
	}
}

// Cases that need no virtual time go the same way on real ledgers, twice on one: a run never meets the records of an earlier one.
func TestRealLedgers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	redis := redistest.Start(t, redistest.Options{})
	for name, open := range map[string]func() (ledger.Store, error){
		"file":  func() (ledger.Store, error) { return filestore.Open(file, filestore.Options{}) },
		"redis": func() (ledger.Store, error) { return redisstore.Open(redis.URL, redisstore.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				ran := 0
				for _, s := range load(t) {
					ran += run(t, s, simulate.Options{Ledger: open})
				}
				if ran < 65 {
					t.Errorf("only %d cases ran", ran)
				}
				t.Logf("%d cases", ran)
			}
		})
	}
}

// run counts the cases that were run; every one must pass.
func run(t *testing.T, s *simulate.Suite, o simulate.Options) (ran int) {
	t.Helper()
	results, err := s.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != s.Len() {
		t.Errorf("%s: %d of %d cases", s.File, len(results), s.Len())
	}
	for _, r := range results {
		if r.Skipped == "" {
			ran++
		}
		for _, f := range r.Failures {
			t.Error(f)
		}
	}
	return ran
}
