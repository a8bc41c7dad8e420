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

const maxPrepared = 4096

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
// is not compared, one that is the same to the letter is the same.
func (l *Lexical) Nearest(_ context.Context, texts map[string]string, earlier []map[string]string) []agentgw.Likeness {
	var out []agentgw.Likeness
	for i, e := range earlier {
		like := agentgw.Likeness{Index: i, Score: 1}
		alike := true
		for name, s := range texts {
			other, ok := e[name]
			if !ok || other == s {
				continue
			}
			a, b := l.prepare(s), l.prepare(other)
			if alike = !differing(a, b); !alike {
				break
			}
			score := closeness(a, b)
			if alike = score >= Threshold; !alike {
				break
			}
			like.Score = min(like.Score, score)
			like.Differs = append(like.Differs, wordsApart(a, b)...)
		}
		if alike {
			out = append(out, like)
		}
	}
	slices.SortStableFunc(out, func(a, b agentgw.Likeness) int { return cmp.Compare(b.Score, a.Score) })
	return out
}
