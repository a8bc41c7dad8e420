package simulate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentgw/simulate"
)

const operations = "operations: {pay: {tools: [pay], key: {id: id}, must_match: {amount: int}}}\n"

// What is wrong with a file is told with its place, all at once, with what to do about it.
func TestLoad(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no cases": {operations, `test.yaml:1:1: the file holds no cases`},
		"a step misspelt": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s, tool: pay, argument: {id: 1}}\n",
			`test.yaml:5:25: a step has no member "argument"; did you mean "arguments"?`},
		"an expectation misspelt": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s, tool: pay, arguments: {id: 1}, expect: replay}\n",
			`test.yaml:5:53: expect cannot be "replay"; did you mean "replayed"?`},
		"a step from the past": {operations + "cases:\n- name: a\n  steps:\n  - {at: 2s, tool: pay}\n  - {at: 1s, tool: pay}\n",
			`test.yaml:6:5: step 2 happens before step 1; put the steps into their order`},
		"an id that is not there": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s, id: first, tool: pay}\n  - {at: 1s, tool: pay, repeat_of: frist}\n",
			`test.yaml:6:36: repeat_of: there is no call with the id frist before this step; did you mean "first"?`},
		"two things in one step": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s, tool: pay, event: pause}\n",
			`test.yaml:5:32: a step with tool and event; make two steps of it`},
		"nothing in a step": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s}\n", `test.yaml:5:5: the step does nothing`},
		"a member out of place": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s, event: pause, arguments: {id: 1}}\n",
			`test.yaml:5:39: arguments says nothing in a step with event; leave it out`},
		"an event that is not there yet": {operations + "cases:\n- name: a\n  steps:\n  - {at: 0s, event: approve}\n",
			`test.yaml:5:21: event: approve is not supported yet`},
		"a wrong policy": {"cases:\n- name: a\n  operations: {pay: {tools: [pay], kee: {id: id}}}\n  steps: [{at: 0s, tool: pay}]\n",
			`test.yaml:3:36: operation pay has no member "kee"; did you mean "key"?`},
		"no policy":               {"cases:\n- name: a\n  steps: [{at: 0s, tool: pay}]\n", `test.yaml:2:3: the case has no policy`},
		"a policy file not there": {"policy: none.yaml\ncases:\n- name: a\n  steps: [{at: 0s, tool: pay}]\n", `none.yaml: no such file`},
		"both counts": {operations + "cases:\n- name: a\n  effects: 1\n  max_effects: 2\n  steps: [{at: 0s, tool: pay}]\n",
			`test.yaml:4:12: effects (exactly) and max_effects (at most) in one case`},
		"a status that is none": {operations + "cases:\n- name: a\n  steps: [{at: 0s, tool: pay, upstream: {answer: http_99}}]\n",
			`test.yaml:4:50: http_99 is no status of an answer`},
		"a path that is none": {operations + "cases:\n- name: a\n  steps: [{at: 0s, http: {method: POST, path: /a/%zz}}]\n", `invalid URL escape`},
		"not YAML":            {"cases: [\n", `test.yaml:`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simulate.Load(write(t, c.text))
			if err == nil {
				t.Fatal("it loads")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwanted\n%s", err, c.want)
			}
		})
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A case that fails says where and why.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct{ effects, first, second, event, want string }{
		"fine":      {"effects: 1", "{decision: executed, outcome: succeeded, state: succeeded, sends: 1, distinct: true}", "{decision: conflict, fields: [amount]}", "done", ""},
		"decision":  {"effects: 1", "executed", "replayed", "done", ":5: case c, step 2: expected replayed, got conflict (fields amount)"},
		"fields":    {"effects: 1", "executed", "{decision: conflict, fields: [id]}", "done", ":5: case c, step 2: expected fields id, got amount in conflict"},
		"outcome":   {"effects: 1", "{decision: executed, outcome: failed}", "conflict", "done", ":4: case c, step 1 (first): expected outcome failed, got succeeded"},
		"state":     {"effects: 1", "{decision: executed, state: failed}", "conflict", "done", "expected state failed, got succeeded"},
		"sends":     {"effects: 1", "{decision: executed, sends: 2}", "conflict", "done", "expected sends 2, got 1"},
		"reason":    {"effects: 1", "{decision: executed, reason: limit}", "conflict", "done", "expected reason limit, got none"},
		"distinct":  {"effects: 1", "executed", "{distinct: true}", "done", "step 2: expected an effect of its own, got conflict"},
		"answer":    {"effects: 1", "executed", "{same_answer_as: first}", "done", `step 2: expected the answer of step first (200 [{Content-Type application/json}] "{\"n\":1}"), got none`},
		"no answer": {"effects: 1", "{answer: none}", "conflict", "done", "step 1 (first): expected no answer, got 200"},
		"event":     {"effects: 1", "executed", "conflict", "refused", ":6: case c, step 3: expected that void is refused"},
		"exactly":   {"effects: 2", "executed", "conflict", "done", ":3: case c: expected 2 effects, 1 happened (by step 1)"},
		"at most":   {"max_effects: 0", "executed", "conflict", "done", ":3: case c: expected at most 0 effects, 1 happened (by step 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := result(t, c.effects, c.first, c.second, c.event)
			got := strings.Join(r.Failures, "\n")
			if c.want == "" && !r.OK || c.want != "" && (r.OK || !strings.Contains(got, c.want)) {
				t.Errorf("got\n%s\nwanted\n%s", got, c.want)
			}
		})
	}
}

func result(t *testing.T, effects, first, second, event string) simulate.CaseResult {
	t.Helper()
	text := operations + "cases:\n- {name: c, " + effects + ", steps: [\n" +
		"  {at: 0s, id: first, tool: pay, arguments: {id: 1, amount: 5}, upstream: {body: {n: 1}}, expect: " + first + "},\n" +
		"  {at: 1s, tool: pay, arguments: {id: 1, amount: 6}, expect: " + second + "},\n" +
		"  {at: 2s, event: void, expect: " + event + "}]}\n"
	s, err := simulate.Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Run(t.Context(), simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}
