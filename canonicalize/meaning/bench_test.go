package meaning

import (
	"context"
	"fmt"
	"testing"
)

func candidates(n int) []map[string]string {
	out := make([]map[string]string, n)
	for i := range out {
		out[i] = map[string]string{"what": fmt.Sprintf("The blue printer on floor %d next to the kitchen is jammed, please send somebody to look at it before %d PM.", i%7, i%11+1)}
	}
	return out
}

func BenchmarkPrepare(b *testing.B) {
	s := candidates(1)[0]["what"]
	b.ReportAllocs()
	for b.Loop() {
		Prepare(s)
	}
}

// BenchmarkNearest100 compares a new text with a hundred candidates, as a claim does.
func BenchmarkNearest100(b *testing.B) {
	var l Lexical
	all := candidates(100)
	query := map[string]string{"what": "The blue printer on floor 3 next to the kitchen is jammed again, please send someone to have a look at it before 4 PM."}
	b.ReportAllocs()
	for b.Loop() {
		l.Nearest(context.Background(), query, all)
	}
}

// BenchmarkNearest100Cold is the same where no candidate has been seen before.
func BenchmarkNearest100Cold(b *testing.B) {
	all := candidates(100)
	query := map[string]string{"what": "The blue printer on floor 3 next to the kitchen is jammed again, please send someone to have a look at it before 4 PM."}
	b.ReportAllocs()
	for b.Loop() {
		var l Lexical
		l.Nearest(context.Background(), query, all)
	}
}
