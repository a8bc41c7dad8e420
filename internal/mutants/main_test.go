package main

import (
	"path/filepath"
	"testing"
)

// TestListFits: every mutant still has its place in the code, so that the list does not rot between its runs.
func TestListFits(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if _, err := m.mutate(root); err != nil {
			t.Errorf("%s: %v", m.Rule, err)
		}
	}
}
