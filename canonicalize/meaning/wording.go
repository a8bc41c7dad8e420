package meaning

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"agentgw"
)

// Lexical compares the free text of calls by gates and closeness, with no model. Its zero value is ready; it keeps the texts it has
// prepared, and is safe for concurrent use.
type Lexical struct {
	mu       sync.Mutex
	prepared map[string]Text
}

const maxPrepared = 2048

func (l *Lexical) prepare(s string) Text {
	l.mu.Lock()
	t, ok := l.prepared[s]
	l.mu.Unlock()
	if ok {
		return t
	}
	t = Prepare(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.prepared == nil || len(l.prepared) >= maxPrepared {
		l.prepared = make(map[string]Text)
	}
	l.prepared[s] = t
	return t
}

// Nearest says which of earlier texts this one may mean again, the closest first; texts are by field name. A field that only one side has
// is not compared, one that is the same to the letter is the same, and at least one must be on both sides.
func (l *Lexical) Nearest(_ context.Context, texts map[string]string, earlier []map[string]string) []agentgw.Likeness {
	var out []agentgw.Likeness
	for i, e := range earlier {
		like, alike := agentgw.Likeness{Index: i, Score: 1}, l.gates(texts, e)
		for name, s := range texts {
			other := e[name]
			if !alike {
				break
			}
			if s == "" || other == "" || s == other {
				continue
			}
			a, b := l.prepare(s), l.prepare(other)
			score := closeness(a, b)
			alike = score >= Threshold
			like.Score = min(like.Score, score)
			like.Differs = append(like.Differs, wordsApart(a, b)...)
		}
		if alike {
			out = append(out, like)
		}
	}
	closestFirst(out)
	return out
}

// gates reports whether two calls may mean the same at all: they have a field in common, and in none of those anything differs exactly.
func (l *Lexical) gates(texts, earlier map[string]string) bool {
	common := false
	for name, s := range texts {
		other := earlier[name]
		if s == "" || other == "" {
			continue
		}
		common = true
		if s != other && differing(l.prepare(s), l.prepare(other)) {
			return false
		}
	}
	return common
}

func closestFirst(found []agentgw.Likeness) {
	slices.SortStableFunc(found, func(a, b agentgw.Likeness) int { return cmp.Compare(b.Score, a.Score) })
}
