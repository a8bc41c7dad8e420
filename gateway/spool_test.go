package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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
	made := &agentgw.Answer{Status: 201, Body: []byte("\x00\xffmade\xe9"),
		Header:  []agentgw.Header{{Name: "Location", Value: "/1"}, {Name: "X-Name", Value: "Caf\xe9"}, {Name: "X-Name", Value: "Café"}, {Name: "X-Empty"}},
		Trailer: []agentgw.Header{{Name: "X-Sum", Value: "\x80\xfe"}}}
	for _, lapsed := range []bool{false, true} {
		b := newBench(t)
		dir := t.TempDir()
		first := b.spooling(b.awayWith(made), dir)
		call := func() *agentgw.Call {
			return &agentgw.Call{Tenant: "t", Tool: "both", Arguments: []byte(`{"id":1,"room":7}`)}
		}
		if r := first.Do(context.Background(), call()); r.Verdict != agentgw.Executed || r.Outcome != agentgw.Succeeded || !reflect.DeepEqual(r.Answer, made) {
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
		if r := second.Do(context.Background(), call()); r.Verdict != agentgw.Replayed || !reflect.DeepEqual(r.Answer, made) || b.tool.sends != 1 {
			t.Errorf("%s %v, %d sends", r.Verdict, r.Answer, b.tool.sends)
		}
		if files, _ := os.ReadDir(dir); len(files) != 0 {
			t.Errorf("%d files left in the spool", len(files))
		}
	}
}

// TestSpoolAtAnotherLedger: a ledger that does not know an effect is perhaps not the right one. The outcome stays, and is written to the right one
// once it has its name again.
func TestSpoolAtAnotherLedger(t *testing.T) {
	b, other := newBench(t), newBench(t)
	dir := t.TempDir()
	call := &agentgw.Call{Tenant: "t", Tool: "plain", Arguments: []byte(`{"id":1}`)}
	b.spooling(b.awayWith(&agentgw.Answer{Status: 201, Body: []byte("made")}), dir).Do(context.Background(), call)
	b.clock.timers = nil // the gateway is dead
	if _, err := other.spooling(other.store, dir).Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.unknown.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("set aside: %q, %v", files, err)
	}
	if err := os.Rename(files[0], strings.Replace(files[0], ".unknown.", ".outcome.", 1)); err != nil {
		t.Fatal(err)
	}
	right := b.spooling(b.store, dir)
	if _, err := right.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r := right.Do(context.Background(), call); r.Verdict != agentgw.Replayed {
		t.Errorf("at the right ledger: %s", r.Verdict)
	}
}

// awayWith is a store that goes away when the tool gives its answer.
func (b *bench) awayWith(answer *agentgw.Answer) ledger.Store {
	away := false
	b.tool.answer = func() (*gateway.Incoming, error) {
		away = true
		return &gateway.Incoming{Answer: answer}, nil
	}
	return &storetest.Faulty{Store: b.store, Before: func(int) error {
		if away {
			return errLost
		}
		return nil
	}}
}

func (b *bench) spooling(through ledger.Store, dir string) *gateway.Gateway {
	g := b.gateway(through)
	g.Spool = gateway.NewSpool(dir)
	return g
}
