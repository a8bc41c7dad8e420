package gateway_test

import (
	"context"
	"testing"

	"agentgw"
	"agentgw/gateway"
)

// leaver is a tool whose caller goes away while it works.
type leaver struct {
	leave context.CancelFunc
}

func (l *leaver) Send(ctx context.Context, _ *gateway.Outgoing) (*gateway.Incoming, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return nil, &gateway.SendError{Sent: true, Err: err}
	}
	return &gateway.Incoming{Answer: &agentgw.Answer{Status: 200, Body: []byte("done")}}, nil
}

// TestCallerLeaves: the attempt goes on when its caller has left, and its answer is kept.
func TestCallerLeaves(t *testing.T) {
	b := newBench(t)
	ctx, leave := context.WithCancel(context.Background())
	g := b.gateway(b.store)
	g.Sender = &leaver{leave: leave}
	call := func() *agentgw.Call { return &agentgw.Call{Tenant: "t", Tool: "plain", Arguments: []byte(`{"id":1}`)} }
	if r := g.Do(ctx, call()); r.Outcome != agentgw.Succeeded {
		t.Errorf("%s %s: %s", r.Verdict, r.Outcome, r.Detail)
	}
	if r := g.Do(context.Background(), call()); r.Verdict != agentgw.Replayed || string(r.Answer.Body) != "done" {
		t.Errorf("the duplicate is %s: %s", r.Verdict, r.Detail)
	}
}
