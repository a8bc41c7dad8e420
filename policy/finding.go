package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is something to say about one place of a policy file.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // counted from 1; 0 where the file itself is meant
	Col     int    `json:"col"`  // counted from 1, in characters
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// String is "file:line:col: message; remedy".
func (f Finding) String() string {
	s := f.File
	if f.Line > 0 {
		s += fmt.Sprintf(":%d:%d", f.Line, f.Col)
	}
	s += ": " + f.Message
	if f.Remedy != "" {
		s += "; " + f.Remedy
	}
	return s
}

// Errors is everything that keeps policies from loading, sorted by place.
type Errors []Finding

// Error is one finding a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders findings by place and drops those said twice.
func sorted(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.Compact(found)
}

// didYouMean proposes the nearest of the right names, or lists them all where they are few.
func didYouMean(name string, right []string) string {
	if near := nearest(name, right); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(right) == 0 || len(right) > 12 {
		return ""
	}
	return "choose " + oneOf(right)
}

// oneOf lists names as people say them: "a, b or c".
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// nearest is the candidate that takes the fewest edits to reach, "" where all are too far to be a slip of the pen.
func nearest(name string, candidates []string) string {
	length := len([]rune(name))
	best, bestAt := "", 1+max(1, min(2, length/2), length/3)
	for _, c := range candidates {
		if d := edits(strings.ToLower(name), strings.ToLower(c)); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// edits is the optimal string alignment distance: insertions, deletions, changes, and swaps of neighbours.
func edits(s, t string) int {
	a, b := []rune(s), []rune(t)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
