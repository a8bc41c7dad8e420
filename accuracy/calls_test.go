// Package accuracy measures keys against labelled calls of real agents, where the data is at hand.
package accuracy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentgw/canonicalize/meaning"
	"agentgw/policy"
)

// families of calls, by where they come from.
var families = []string{"tau", "agentdojo", "workbench", "bfcl-single", "bfcl-multi-turn"}

// dataFile finds a file of labelled data. Without it there is nothing to measure, and the test says so and passes.
func dataFile(t *testing.T, name string) string {
	folder := os.Getenv("AGENTGW_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "data")
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Logf("the labelled data is not here (%s): nothing was measured; set AGENTGW_DATA to its folder", path)
		return ""
	}
	return path
}

func readLines[T any](t *testing.T, path string) (out []T) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// described is a line of a tools file.
type described struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Tasks       []string        `json:"tasks"`
}

func (d described) facts() policy.ToolFacts {
	return policy.ToolFacts{Name: d.Name, Description: d.Description, Schema: d.Parameters, Tasks: d.Tasks}
}

func observedOf(calls []*labelled, oneTask bool) []policy.ObservedCall {
	out := make([]policy.ObservedCall, len(calls))
	for i, c := range calls {
		out[i] = policy.ObservedCall{ID: c.ID, Tool: c.Tool, Args: c.Args, Task: c.Task, Run: c.Run}
		if oneTask {
			out[i].Task = "one"
		}
	}
	return out
}

// nearest compares wordings without a model.
func nearest(alike *meaning.Lexical) policy.Nearest {
	return func(query map[string]string, candidates []map[string]string) []int {
		var at []int
		for _, l := range alike.Nearest(context.Background(), query, candidates) {
			at = append(at, l.Index)
		}
		return at
	}
}

// explained runs the calls through a policy.
func explained(t *testing.T, p *policy.Policy, calls []policy.ObservedCall) (map[string]string, map[pair]bool, map[string]policy.ExplainedCall) {
	keys, asked, all := map[string]string{}, map[pair]bool{}, map[string]policy.ExplainedCall{}
	err := policy.ExplainCalls(p, calls, nearest(&meaning.Lexical{}), func(e policy.ExplainedCall) error {
		if e.Key != "" {
			keys[e.ID] = e.Key
		}
		for _, id := range e.SimilarTo {
			asked[pairOf(e.ID, id)] = true
		}
		all[e.ID] = e
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys, asked, all
}

func TestAccuracyCalls(t *testing.T) {
	toolsPath, callsPath := dataFile(t, "tools.jsonl"), dataFile(t, "calls.jsonl")
	if toolsPath == "" || callsPath == "" {
		return
	}
	var tools []policy.ToolFacts
	for _, d := range readLines[described](t, toolsPath) {
		tools = append(tools, d.facts())
	}
	calls := readLines[*labelled](t, callsPath)
	t.Run("tools", func(t *testing.T) { measure(t, suggested(t, tools, nil), calls, nil) })
	t.Run("tools and calls", func(t *testing.T) { measure(t, suggested(t, tools, observedOf(calls, false)), calls, nil) })
	// What is learned from the calls of some tasks must hold for those of others.
	for half := range 2 {
		var seen []*labelled
		for _, c := range calls {
			if halfOf(c.Task) != half {
				seen = append(seen, c)
			}
		}
		t.Run(fmt.Sprintf("tools and the calls of other tasks %d", half+1), func(t *testing.T) {
			measure(t, suggested(t, tools, observedOf(seen, false)), calls, func(c *labelled) bool { return halfOf(c.Task) == half })
		})
	}
}

func halfOf(task string) int {
	h := fnv.New32a()
	h.Write([]byte(task))
	return int(h.Sum32() >> 7 & 1)
}

func suggested(t *testing.T, tools []policy.ToolFacts, seen []policy.ObservedCall) *policy.Policy {
	draft, err := policy.Suggest(tools, seen, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := draft.YAML()
	if path := os.Getenv("AGENTGW_DRAFT"); path != "" {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := policy.Load([]policy.Source{{Name: "suggested.yaml", Text: text}}, policy.Env{AllowAll: true})
	if err != nil {
		t.Fatalf("the suggested policy does not load: %v", strings.Join(strings.SplitN(err.Error(), "\n", 6)[:min(5, strings.Count(err.Error(), "\n")+1)], "\n"))
	}
	return p
}

// measure prints the table of score.py for the calls that some says yes to, or all, and fails where two operations of one task share a key.
func measure(t *testing.T, p *policy.Policy, calls []*labelled, some func(*labelled) bool) {
	var rows []*labelled
	for _, c := range calls {
		if c.counts() && (some == nil || some(c)) {
			rows = append(rows, c)
		}
	}
	keys, asked, all := explained(t, p, observedOf(rows, false))
	merged, _, _ := explained(t, p, observedOf(rows, true))
	writeKeys(t, all)
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %-12s %8s %8s %8s %10s %8s %12s %14s\n", "family", "labels", "recall", "mean", "or asked", "wrongly", "merges", "of", "over all tasks")
	for _, independent := range []bool{false, true} {
		for _, family := range append(families, "all") {
			var part []*labelled
			for _, c := range rows {
				if (c.Family == family || family == "all") && (!independent || c.Independent) {
					part = append(part, c)
				}
			}
			f := score(part, keys, asked)
			if f.Pairs == 0 {
				continue
			}
			one := score(part, merged, nil)
			if f.MergesTask > 0 {
				t.Errorf("%s: %d pairs of different operations of one task share a key", family, f.MergesTask)
			}
			label := map[bool]string{true: "independent", false: "all"}[independent]
			fmt.Fprintf(&table, "%-16s %-12s %8.4f %8.4f %8.4f %9.2f%% %8d %12d %8d %.3f%%\n", family, label, f.Recall, f.RecallMean, f.AskedMean,
				100*float64(f.AskedWrongly)/float64(max(1, f.PairsTask)), f.MergesTask, f.PairsTask, one.MergesAll, 100*float64(one.MergesAll)/float64(max(1, one.PairsAll)))
		}
	}
	t.Logf("\n%s", table.String())
}

// writeKeys writes what score.py reads, where asked to: AGENTGW_KEYS names the file.
func writeKeys(t *testing.T, all map[string]policy.ExplainedCall) {
	path := os.Getenv("AGENTGW_KEYS")
	if path == "" {
		return
	}
	var b strings.Builder
	for _, e := range all {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
