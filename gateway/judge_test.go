package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentgw"
	"agentgw/canonicalize/meaning"
	"agentgw/gateway"
	"agentgw/policy"
)

type scriptedJudge struct {
	asked int
	same  bool
	err   error
}

func (j *scriptedJudge) Same(context.Context, string, map[string]string, map[string]string) (bool, string, error) {
	j.asked++
	return j.same, "scripted", j.err
}

// TestJudge: where the policy allows it, a model answers `similar` for the caller; a pair is judged once, and nobody is judged by a model
// that does not answer.
func TestJudge(t *testing.T) {
	const first, second = `{"room":"12","what":"The blue printer in room 12 is jammed"}`, `{"room":"12","what":"In room 12 the blue printer is jammed"}`
	for name, c := range map[string]struct {
		judge  *scriptedJudge
		allow  bool
		second agentgw.Verdict
		third  agentgw.Verdict
		asked  int
	}{
		"same":        {&scriptedJudge{same: true}, true, agentgw.Replayed, agentgw.Replayed, 1},
		"different":   {&scriptedJudge{}, true, agentgw.Executed, agentgw.Replayed, 1},
		"silent":      {&scriptedJudge{err: errors.New("timeout")}, true, agentgw.Similar, agentgw.Similar, 2},
		"not allowed": {&scriptedJudge{same: true}, false, agentgw.Similar, agentgw.Similar, 0},
	} {
		b := newBench(t)
		text := "version: 1\noperations:\n  fault.report: {tools: [report], key: {room: id, what: meaning}, judge: true}\n"
		if !c.allow {
			text = strings.Replace(text, ", judge: true", "", 1)
		}
		var err error
		if b.pol, err = policy.Load([]policy.Source{{Name: "p.yaml", Text: []byte(text)}}, policy.Env{}); err != nil {
			t.Fatal(err)
		}
		g := b.gateway(b.store)
		g.Wording, g.Options.Judge = &meaning.Lexical{}, c.judge
		do := func(args string) gateway.Response {
			return g.Do(context.Background(), &agentgw.Call{Tenant: "t", Tool: "report", Arguments: []byte(args)})
		}
		if r := do(first); r.Verdict != agentgw.Executed {
			t.Fatalf("%s: first %s %s", name, r.Verdict, r.Detail)
		}
		if r := do(second); r.Verdict != c.second {
			t.Errorf("%s: second %s, wanted %s", name, r.Verdict, c.second)
		}
		if r := do(second); r.Verdict != c.third {
			t.Errorf("%s: third %s, wanted %s", name, r.Verdict, c.third)
		}
		if c.judge.asked != c.asked {
			t.Errorf("%s: the judge was asked %d times, wanted %d", name, c.judge.asked, c.asked)
		}
	}
}
