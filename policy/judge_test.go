package policy

import (
	"testing"
	"time"

	"agentgw"
)

// TestJudgeTokens: a token counts for its effect, its generation, its ordinal and its time, and never where the policy says never.
func TestJudgeTokens(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id := agentgw.EffectID{Partition: "e1", Key: agentgw.Digest{1}}
	own := agentgw.Effect{ID: id, State: agentgw.StateSucceeded, Base: 7, Ordinal: 2, Repeat: true, Expires: now.Add(time.Hour), Gone: now.Add(time.Hour)}
	good := agentgw.Token{ID: id, Base: 7, Ordinal: 2, Expires: now.Add(time.Minute)}
	for name, c := range map[string]struct {
		change func(*agentgw.Token, *agentgw.Rule, *agentgw.Effect)
		want   agentgw.Verdict
		which  int
	}{
		"fits":                                   {func(*agentgw.Token, *agentgw.Rule, *agentgw.Effect) {}, agentgw.Executed, 0},
		"used already":                           {func(k *agentgw.Token, _ *agentgw.Rule, _ *agentgw.Effect) { k.Ordinal = 1 }, agentgw.Replayed, 0},
		"of an older ordinal":                    {func(k *agentgw.Token, _ *agentgw.Rule, e *agentgw.Effect) { k.Ordinal, e.Ordinal = 1, 4 }, agentgw.Replayed, 2},
		"of another effect":                      {func(k *agentgw.Token, _ *agentgw.Rule, _ *agentgw.Effect) { k.ID.Key[0] = 9 }, agentgw.Replayed, 0},
		"of another generation":                  {func(k *agentgw.Token, _ *agentgw.Rule, _ *agentgw.Effect) { k.Base = 8 }, agentgw.Replayed, 0},
		"over":                                   {func(k *agentgw.Token, _ *agentgw.Rule, _ *agentgw.Effect) { k.Expires = now }, agentgw.Replayed, 0},
		"where the policy has come to say never": {func(_ *agentgw.Token, r *agentgw.Rule, _ *agentgw.Effect) { r.Repeat = agentgw.RepeatNever }, agentgw.Replayed, 0},
	} {
		token, rule, e := good, agentgw.Rule{Name: "x", Pattern: agentgw.Once, Repeat: agentgw.RepeatToken}, own
		c.change(&token, &rule, &e)
		j := Judge(&agentgw.Operation{Rule: &rule, ID: id}, &agentgw.Call{}, &agentgw.Remembered{Now: now, Own: &e, Token: &token})
		if j.Verdict != c.want || j.Ordinal != c.which {
			t.Errorf("%s: %s of ordinal %d, wanted %s of %d", name, j.Verdict, j.Ordinal, c.want, c.which)
		}
	}
}

// TestJudgeOrder: what comes first in the contract's order is told, whatever else is true.
func TestJudgeOrder(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id := agentgw.EffectID{Partition: "e1", Key: agentgw.Digest{1}}
	spent := now.Add(time.Hour)
	m := agentgw.Remembered{
		Now:     now,
		Bound:   &agentgw.Binding{ID: agentgw.EffectID{Partition: "e2", Key: agentgw.Digest{2}}},
		Own:     &agentgw.Effect{ID: id, State: agentgw.StateIndeterminate, Fields: []agentgw.Field{{Name: "a", Role: agentgw.RoleMatch, Canon: "1"}}},
		Holder:  &agentgw.Effect{State: agentgw.StateInFlight, Lease: time.Minute, Updated: now, Claimed: now},
		Entity:  &agentgw.Entity{State: "elsewhere"},
		Spent:   &spent,
		Similar: []agentgw.Candidate{{}},
	}
	op := agentgw.Operation{ID: id, Rule: &agentgw.Rule{Name: "x", Pattern: agentgw.Transition, From: []string{"new"}, Initial: "new",
		Limit: &agentgw.Budget{Count: 1, Per: time.Hour}}, Fields: []agentgw.Field{{Name: "a", Role: agentgw.RoleMatch, Canon: "2"}}}
	for _, step := range []struct {
		want   agentgw.Verdict
		reason string
		then   func()
	}{
		{agentgw.Conflict, "", func() { m.Bound = nil }},
		{agentgw.Conflict, "", func() { op.Fields[0].Canon = "1" }},
		{agentgw.InDoubt, "", func() { m.Own = nil }},
		{agentgw.InFlight, agentgw.ReasonLocked, func() { m.Holder = nil }},
		{agentgw.Blocked, agentgw.ReasonState, func() { m.Entity = nil }},
		{agentgw.Blocked, agentgw.ReasonLimit, func() { m.Spent = nil }},
		{agentgw.Similar, "", func() { m.Similar = nil }},
		{agentgw.Executed, "", func() {}},
	} {
		if j := Judge(&op, &agentgw.Call{}, &m); j.Verdict != step.want || j.Reason != step.reason {
			t.Fatalf("%s %s, wanted %s %s", j.Verdict, j.Reason, step.want, step.reason)
		}
		step.then()
	}
}
