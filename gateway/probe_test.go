package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/policy"
)

const probePolicy = `
version: 1
operations:
  invoice.issue:
    tools: [issue]
    key: {order: id}
    on_indeterminate: probe
    probe: {tool: find, arguments: {order: args.order}, after: 2m, done: "size(result.body.items) == 1", not_done: "size(result.body.items) == 0"}
`

// lossy is a tool that loses the answer of issue, and that can be asked with find.
type lossy struct {
	sends, asked int
	found        string // body of find
	lost         bool   // find does not answer either
	arguments    string
}

func (l *lossy) Send(_ context.Context, out *gateway.Outgoing) (*gateway.Incoming, error) {
	if out.Call.Tool == "find" {
		l.asked++
		l.arguments = string(out.Call.Arguments)
		if l.lost {
			return nil, &gateway.SendError{Sent: true, Err: errors.New("reset")}
		}
		return &gateway.Incoming{Answer: &agentgw.Answer{Status: 200, Body: []byte(l.found)}}, nil
	}
	l.sends++
	if l.sends == 1 {
		return nil, &gateway.SendError{Sent: true, Err: errors.New("reset")}
	}
	return &gateway.Incoming{Answer: &agentgw.Answer{Status: 200}}, nil
}

type raisings []string

func (*raisings) Decided(*agentgw.Call, *agentgw.Decision, time.Duration) {}
func (r *raisings) Raised(_ *agentgw.Effect, what string)                 { *r = append(*r, what) }

// TestProbe: a doubt is settled by asking, not before its time. What is neither done nor not done, and what cannot be told, stays in doubt
// and is raised.
func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		found  string
		lost   bool
		want   agentgw.Verdict
		raised string
	}{
		"done":          {found: `{"items": [1]}`, want: agentgw.Replayed},
		"not done":      {found: `{"items": []}`, want: agentgw.Executed},
		"more than one": {found: `{"items": [1, 2]}`, want: agentgw.InDoubt, raised: "neither done nor not done"},
		"no items":      {found: `{}`, want: agentgw.InDoubt, raised: "cannot tell"},
		"no answer":     {lost: true, want: agentgw.InDoubt, raised: "cannot tell"},
	} {
		b := newBench(t)
		var err error
		if b.pol, err = policy.Load([]policy.Source{{Name: "p.yaml", Text: []byte(probePolicy)}}, policy.Env{}); err != nil {
			t.Fatal(err)
		}
		tool, raised := &lossy{found: c.found, lost: c.lost}, &raisings{}
		g := b.gateway(b.store)
		g.Sender, g.Observe = tool, raised
		do := func() gateway.Response {
			return g.Do(context.Background(), &agentgw.Call{Tenant: "t", Tool: "issue", Arguments: []byte(`{"order":7}`)})
		}
		if r := do(); r.Outcome != agentgw.Indeterminate {
			t.Fatalf("%s: first %s %s", name, r.Verdict, r.Outcome)
		}
		b.clock.advance(time.Minute)
		if r := do(); r.Verdict != agentgw.InDoubt || tool.asked != 0 {
			t.Errorf("%s: before its time %s, and the tool was asked %d times", name, r.Verdict, tool.asked)
		}
		b.clock.advance(2 * time.Minute)
		if r := do(); r.Verdict != c.want {
			t.Errorf("%s: %s (%s), wanted %s", name, r.Verdict, r.Detail, c.want)
		}
		if tool.asked != 1 || tool.arguments != `{"order":7}` {
			t.Errorf("%s: asked %d times, with %s", name, tool.asked, tool.arguments)
		}
		if told := strings.Join(*raised, "\n"); c.raised != "" && !strings.Contains(told, c.raised) {
			t.Errorf("%s: raised %q", name, told)
		}
	}
}

// TestWatchProbes: a doubt that nobody asks for again is asked about all the same.
func TestWatchProbes(t *testing.T) {
	b := newBench(t)
	var err error
	if b.pol, err = policy.Load([]policy.Source{{Name: "p.yaml", Text: []byte(probePolicy)}}, policy.Env{}); err != nil {
		t.Fatal(err)
	}
	tool := &lossy{found: `{"items": [1]}`}
	g := b.gateway(b.store)
	g.Sender = tool
	g.Do(context.Background(), &agentgw.Call{Tenant: "t", Tool: "issue", Arguments: []byte(`{"order":7}`)})
	ctx, cancel := context.WithCancel(context.Background())
	b.clock.AfterFunc(5*time.Minute, cancel)
	g.Clock = endingClock{b.clock}
	g.Watch(ctx, nil)
	doubts, _, err := ledger.New(b.store).List(context.Background(), ledger.Filter{State: agentgw.StateIndeterminate})
	if err != nil || len(doubts) != 0 || tool.asked != 1 {
		t.Errorf("%d doubts left, asked %d times, %v", len(doubts), tool.asked, err)
	}
}

// endingClock sleeps until its context ends.
type endingClock struct{ *handClock }

func (c endingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.advance(d)
	return ctx.Err()
}
