package accuracy

import (
	"encoding/json"
)

// labelled is one call of real agents with what it means: the same intent is the same business operation.
type labelled struct {
	ID          string          `json:"id"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"`
	Intent      string          `json:"intent"`
	Run         string          `json:"run"`
	Task        string          `json:"task"`
	Count       int             `json:"n"` // how many runs made this very call
	SideEffect  bool            `json:"side_effect"`
	Trust       string          `json:"trust"` // A and B count; N is negatives only
	Family      string          `json:"family"`
	Independent bool            `json:"independent"` // the label does not come from the arguments
}

func (c *labelled) counts() bool {
	return c.SideEffect && c.Intent != "" && (c.Trust == "A" || c.Trust == "B" || c.Trust == "N")
}

type pair struct{ a, b string }

func pairOf(a, b string) pair {
	if a > b {
		a, b = b, a
	}
	return pair{a, b}
}

// figures are what score.py prints. Pairs are weighted by how many runs made the calls.
type figures struct {
	Pairs        int     // same-intent pairs of different runs of one task
	Recall       float64 // of them, those that share a key
	RecallMean   float64 // the same, mean over intents
	Asked        float64 // of them, those that do not share a key and would have been asked about
	AskedMean    float64 // share of pairs that share a key or would have been asked about, mean over intents
	AskedWrongly int     // different-intent pairs of one tool and task that would have been asked about
	MergesTask   int     // different-intent pairs of one tool and task that share a key
	PairsTask    int
	MergesAll    int // the same over all tasks
	PairsAll     int
}

// score compares keys with labels as score.py does.
func score(rows []*labelled, keys map[string]string, asked map[pair]bool) figures {
	var f figures
	f.recall(rows, keys, asked)
	f.MergesTask, f.PairsTask = merges(rows, keys, func(c *labelled) string { return c.Task })
	f.MergesAll, f.PairsAll = merges(rows, keys, func(*labelled) string { return "" })
	byID := map[string]*labelled{}
	for _, c := range rows {
		byID[c.ID] = c
	}
	for p := range asked {
		a, b := byID[p.a], byID[p.b]
		if a != nil && b != nil && a.Tool == b.Tool && a.Task == b.Task && a.Intent != b.Intent {
			f.AskedWrongly += a.Count * b.Count
		}
	}
	return f
}

func (f *figures) recall(rows []*labelled, keys map[string]string, asked map[pair]bool) {
	groups := map[pair][]*labelled{}
	var order []pair
	for _, c := range rows {
		if c.Trust == "N" {
			continue
		}
		g := pair{c.Intent, c.Task}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], c)
	}
	hits, asks, intents := 0, 0, 0
	for _, g := range order {
		same, hit, ask := countGroup(groups[g], keys, asked)
		f.Pairs += same
		hits += hit
		asks += ask
		if same > 0 {
			intents++
			f.RecallMean += float64(hit) / float64(same)
			f.AskedMean += float64(hit+ask) / float64(same)
		}
	}
	if f.Pairs > 0 {
		f.Recall, f.Asked = float64(hits)/float64(f.Pairs), float64(asks)/float64(f.Pairs)
		f.RecallMean /= float64(intents)
		f.AskedMean /= float64(intents)
	}
}

func countGroup(group []*labelled, keys map[string]string, asked map[pair]bool) (same, hit, ask int) {
	for i, a := range group {
		for _, b := range group[i+1:] {
			if a.Run == b.Run && a.Count == 1 && b.Count == 1 {
				continue
			}
			w := a.Count * b.Count
			same += w
			switch {
			case keys[a.ID] != "" && keys[a.ID] == keys[b.ID]:
				hit += w
			case asked[pairOf(a.ID, b.ID)]:
				ask += w
			}
		}
		own := a.Count * (a.Count - 1) / 2
		same += own
		if keys[a.ID] != "" {
			hit += own
		}
	}
	return same, hit, ask
}

// merges counts the different-intent pairs of one tool that share a key, and all of them.
func merges(rows []*labelled, keys map[string]string, scope func(*labelled) string) (merged, all int) {
	type place struct{ scope, tool, key string }
	byKey, byTool := map[place]map[string]int{}, map[place]map[string]int{}
	add := func(m map[place]map[string]int, p place, c *labelled) {
		if m[p] == nil {
			m[p] = map[string]int{}
		}
		m[p][c.Intent] += c.Count
	}
	for _, c := range rows {
		add(byTool, place{scope(c), c.Tool, ""}, c)
		if keys[c.ID] != "" {
			add(byKey, place{scope(c), c.Tool, keys[c.ID]}, c)
		}
	}
	return different(byKey), different(byTool)
}

func different[K comparable](groups map[K]map[string]int) (n int) {
	for _, intents := range groups {
		total, squares := 0, 0
		for _, c := range intents {
			total += c
			squares += c * c
		}
		n += (total*total - squares) / 2
	}
	return n
}
