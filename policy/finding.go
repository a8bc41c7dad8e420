package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agentgw/canonicalize"
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

// DidYouMean proposes the nearest of the right names for a remedy, or lists them all where they are few.
func DidYouMean(name string, right []string) string {
	if near := canonicalize.Nearest(name, right); near != "" {
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
