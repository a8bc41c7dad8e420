package canonicalize

import "strings"

// Nearest is the right name that a name was probably meant to be: the one that takes the fewest edits to reach, whatever its case, dashes
// and underscores; "" where all are too far to be a slip of the pen.
func Nearest(name string, right []string) string {
	name = plainName(name)
	length := len([]rune(name))
	best, bestAt := "", 1+max(1, min(2, length/2), length/3)
	for _, r := range right {
		if d := Edits(name, plainName(r)); d < bestAt {
			best, bestAt = r, d
		}
	}
	return best
}

func plainName(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// Edits is the optimal string alignment distance: insertions, deletions, changes, and swaps of neighbours.
func Edits(s, t string) int {
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
