package simulate_test

import (
	"path/filepath"
	"testing"

	"agentgw/simulate"
)

// later are the cases whose rules are not built yet.
var later = map[string]bool{
	"N30 Worded alike - the caller is asked, and says it is that one or another": true,
}

func load(t *testing.T) []*simulate.Suite {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 7 {
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
	for _, s := range load(t) {
		results, err := s.Run(t.Context(), simulate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			switch {
			case later[r.Case] && r.OK:
				t.Errorf("%s: %s passes now: take it out of the list", r.File, r.Case)
			case !later[r.Case]:
				for _, f := range r.Failures {
					t.Error(f)
				}
			}
		}
	}
}
