package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/ledger/storetest"
	"agentgw/policy"
)

// handClock is moved by the test: timers run when it is advanced over them, in the goroutine of the test.
type handClock struct {
	now    time.Time
	timers []handTimer
	made   int
}

type handTimer struct {
	at time.Time
	f  func()
	id int
}

func (c *handClock) Now() time.Time { return c.now }

func (c *handClock) Sleep(_ context.Context, d time.Duration) error { c.advance(d); return nil }

func (c *handClock) AfterFunc(d time.Duration, f func()) func() {
	c.made++
	id := c.made
	c.timers = append(c.timers, handTimer{c.now.Add(d), f, id})
	return func() {
		c.timers = slices.DeleteFunc(c.timers, func(t handTimer) bool { return t.id == id })
	}
}

func (c *handClock) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (c *handClock) advance(d time.Duration) {
	end := c.now.Add(d)
	for {
		sort.SliceStable(c.timers, func(i, j int) bool { return c.timers[i].at.Before(c.timers[j].at) })
		if len(c.timers) == 0 || c.timers[0].at.After(end) {
			break
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		if t.at.After(c.now) {
			c.now = t.at
		}
		t.f()
	}
	c.now = end
}

// witness is a tool that counts what happens.
type witness struct {
	sends  int
	answer func() (*gateway.Incoming, error) // nil: 200
}

func (w *witness) Send(context.Context, *gateway.Outgoing) (*gateway.Incoming, error) {
	w.sends++
	if w.answer != nil {
		return w.answer()
	}
	return &gateway.Incoming{Answer: &agentgw.Answer{Status: 200, Body: fmt.Appendf(nil, `{"n":%d}`, w.sends)}}, nil
}

// bench is one ledger with gateways on it that can be killed.
type bench struct {
	t     *testing.T
	clock *handClock
	store ledger.Store
	tool  *witness
	pol   *policy.Policy
}

const faultPolicy = `
version: 1
entities:
  order: {states: [new, paid, sent], initial: new}
operations:
  plain: {tools: [plain], key: {id: id}}
  look: {tools: [look], pattern: read}
  locked: {tools: [locked], key: {id: id}, lock: {room: id}}
  limited: {tools: [limited], key: {id: id}, limit: {count: 3, per: 1h}}
  both: {tools: [both], key: {id: id}, lock: {room: id}, limit: {count: 3, per: 1h}}
  batch: {tools: [batch], each: items, key: {item.id: id}}
  buried: {tools: [buried], key: {id: id}, ttl: 1h, tombstone: 30d}
  pay: {tools: [pay], pattern: transition, entity: {order: {id: id}}, from: [new], to: paid}
`

func newBench(t *testing.T) *bench {
	t.Helper()
	pol, err := policy.Load([]policy.Source{{Name: "fault.yaml", Text: []byte(faultPolicy)}}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, clock: &handClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, tool: &witness{}, pol: pol}
	b.store = memstore.New(memstore.Options{Now: b.clock.Now})
	return b
}

// gateway is a new gateway on the ledger, seeing it through a store of its own.
func (b *bench) gateway(through ledger.Store) *gateway.Gateway {
	tools := map[string]*gateway.Tool{}
	for _, o := range b.pol.Operations {
		for _, name := range o.Tools {
			tools[name] = &gateway.Tool{Name: name}
		}
	}
	return gateway.New(gateway.Options{Policy: b.pol, Ledger: ledger.New(through), Sender: b.tool, Tools: tools, Clock: b.clock})
}

func faultCalls() map[string]*agentgw.Call {
	call := func(tool, args, key string) *agentgw.Call {
		return &agentgw.Call{Tenant: "t", Tool: tool, Arguments: []byte(args), IdempotencyKey: key}
	}
	calls := map[string]*agentgw.Call{}
	for _, key := range []string{"", "k-1"} {
		for tool, args := range map[string]string{
			"plain": `{"id":1}`, "locked": `{"id":1,"room":7}`, "limited": `{"id":1}`, "both": `{"id":1,"room":7}`,
			"batch": `{"items":[{"id":1},{"id":2},{"id":3}]}`, "buried": `{"id":1}`, "pay": `{"id":1}`,
		} {
			calls[strings.TrimSuffix(tool+" "+key, " ")] = call(tool, args, key)
		}
	}
	return calls
}

var errLost = errors.New("connection reset")

// TestFaults fails every single call of the store of every kind of claim, in three ways: it never reached the store, its answer was
// lost, and the gateway died with it. Afterwards, the faults over and a lease later, the same call is made again through another
// gateway. The effect may never happen twice, and is only kept back where it may have happened.
func TestFaults(t *testing.T) {
	for name, call := range faultCalls() {
		for _, fault := range []string{"unreached", "answer lost", "refused", "away from then", "answers lost from then", "dies before", "dies after"} {
			for n := 1; ; n++ {
				b := newBench(t)
				if !b.faultRun(t, name, call, fault, n) {
					break // the call needs fewer calls of the store
				}
				if n > 30 {
					t.Fatalf("%s: no end of calls of the store", name)
				}
			}
		}
	}
}

func (b *bench) faultRun(t *testing.T, name string, call *agentgw.Call, fault string, n int) bool {
	t.Helper()
	where := fmt.Sprintf("%s, call %d of the store: %s", name, n, fault)
	f := &storetest.Faulty{Store: b.store}
	hit := false
	dies, later := strings.HasPrefix(fault, "dies"), strings.HasSuffix(fault, "then")
	strikes := func(c int) bool { // later: it goes on
		hit = hit || c == n
		return c == n || c > n && (dies || later)
	}
	switch fault {
	case "answer lost", "answers lost from then":
		f.After = func(c int) error {
			if strikes(c) {
				return errLost
			}
			return nil
		}
	case "dies after":
		f.After = func(c int) error {
			if c == n {
				hit = true
				return errLost
			}
			return nil
		}
		f.Before = func(c int) error {
			if c > n {
				return errLost
			}
			return nil
		}
	default:
		f.Before = func(c int) error {
			switch {
			case !strikes(c):
				return nil
			case fault == "refused":
				return fmt.Errorf("readonly: %w", ledger.ErrNotApplied)
			}
			return errLost
		}
	}
	first := b.gateway(f)
	one := *call
	r1 := first.Do(context.Background(), &one)
	if !hit {
		return false
	}
	sent := b.tool.sends
	if r1.Verdict == agentgw.Unavailable && sent != 0 {
		t.Errorf("%s: %s, but it was sent", where, r1.Verdict)
	}
	if f.After = nil; !dies {
		f.Before = nil
	}
	b.clock.advance(3 * time.Minute)

	second := b.gateway(b.store)
	two := *call
	r2 := second.Do(context.Background(), &two)
	switch {
	case b.tool.sends > 1:
		t.Errorf("%s: sent %d times; the second call was %s", where, b.tool.sends, r2.Verdict)
	case sent == 1 && !dies && r2.Verdict != agentgw.Replayed:
		t.Errorf("%s: done and the gateway lived, yet the second call was %s (%s)", where, r2.Verdict, r2.Detail)
	case sent == 0 && !dies && r2.Verdict != agentgw.Executed:
		t.Errorf("%s: never sent and the gateway lived, yet the second call was %s (%s)", where, r2.Verdict, r2.Detail)
	case r2.Verdict != agentgw.Replayed && r2.Verdict != agentgw.Executed && r2.Verdict != agentgw.InDoubt:
		t.Errorf("%s: second call %s (%s)", where, r2.Verdict, r2.Detail)
	}
	if r2.Verdict != agentgw.InDoubt {
		return true
	}
	l := ledger.New(b.store)
	doubts, _, err := l.List(context.Background(), ledger.Filter{State: agentgw.StateIndeterminate})
	if err != nil || len(doubts) != 1 {
		t.Fatalf("%s: %d doubts, %v", where, len(doubts), err)
	}
	outcome := agentgw.Failed
	if sent == 1 {
		outcome = agentgw.Succeeded
	}
	if _, err := l.Resolve(context.Background(), doubts[0].ID, doubts[0].Version, outcome, nil, "test", "looked"); err != nil {
		t.Fatalf("%s: resolve: %v", where, err)
	}
	three := *call
	r3 := second.Do(context.Background(), &three)
	if want := map[agentgw.Outcome]agentgw.Verdict{agentgw.Failed: agentgw.Executed, agentgw.Succeeded: agentgw.Replayed}[outcome]; r3.Verdict != want {
		t.Errorf("%s: resolved as %s, then %s (%s)", where, outcome, r3.Verdict, r3.Detail)
	}
	if b.tool.sends != 1 {
		t.Errorf("%s: %d effects in the end", where, b.tool.sends)
	}
	return true
}
