package gateway_test

import (
	"context"
	"os"
	"testing"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/ledger/storetest"
)

// TestSpool: the ledger goes away while the tool works. The caller gets the tool's answer; the gateway dies; the next one writes the
// outcome before it takes calls, and the duplicate is replayed.
func TestSpool(t *testing.T) {
	for _, lapsed := range []bool{false, true} {
		b := newBench(t)
		dir := t.TempDir()
		away := false
		f := &storetest.Faulty{Store: b.store, Before: func(int) error {
			if away {
				return errLost
			}
			return nil
		}}
		b.tool.answer = func() (*gateway.Incoming, error) {
			away = true
			return &gateway.Incoming{Answer: &agentgw.Answer{Status: 201, Header: []agentgw.Header{{Name: "Location", Value: "/1"}}, Body: []byte("made")}}, nil
		}
		first := b.spooling(f, dir)
		call := func() *agentgw.Call {
			return &agentgw.Call{Tenant: "t", Tool: "both", Arguments: []byte(`{"id":1,"room":7}`)}
		}
		if r := first.Do(context.Background(), call()); r.Verdict != agentgw.Executed || r.Outcome != agentgw.Succeeded || string(r.Answer.Body) != "made" {
			t.Fatalf("%s %s %v", r.Verdict, r.Outcome, r.Answer)
		}
		if files, _ := os.ReadDir(dir); len(files) != 1 {
			t.Fatalf("%d files in the spool, wanted 1", len(files))
		}
		b.tool.answer = nil
		b.clock.timers = nil // the gateway is dead
		if lapsed {
			b.clock.advance(time.Hour)
			if r := b.gateway(b.store).Do(context.Background(), call()); r.Verdict != agentgw.InDoubt {
				t.Fatalf("a lease later: %s", r.Verdict)
			}
		}
		second := b.spooling(b.store, dir)
		if n, err := second.Recover(context.Background()); n != 1 || err != nil {
			t.Fatalf("recovered %d, %v", n, err)
		}
		if r := second.Do(context.Background(), call()); r.Verdict != agentgw.Replayed || string(r.Answer.Body) != "made" || b.tool.sends != 1 {
			t.Errorf("%s %v, %d sends", r.Verdict, r.Answer, b.tool.sends)
		}
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%d files left in the spool", len(files))
		}
	}
}

func (b *bench) spooling(through ledger.Store, dir string) *gateway.Gateway {
	g := b.gateway(through)
	g.Spool = gateway.NewSpool(dir)
	return g
}
