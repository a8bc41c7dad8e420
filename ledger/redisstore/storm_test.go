package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/internal/redistest"
	"agentgw/ledger"
	"agentgw/policy"
)

const stormPolicy = `
version: 1
operations:
  pay: {tools: [pay], key: {id: int}, lease: 5s}
  lend: {tools: [lend], key: {id: int}, lock: {room: int}, lease: 5s}
`

// counting is a tool that takes a moment, and counts what happens by the arguments.
type counting struct {
	mu      sync.Mutex
	effects map[string]int
}

func (c *counting) Send(_ context.Context, out *gateway.Outgoing) (*gateway.Incoming, error) {
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
	c.mu.Lock()
	c.effects[string(out.Call.Arguments)]++
	c.mu.Unlock()
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
	return &gateway.Incoming{Answer: &agentgw.Answer{Status: 200, Body: []byte(`{}`)}}, nil
}

func (c *counting) count(call *agentgw.Call) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.effects[string(call.Arguments)]
}

func order(n int) *agentgw.Call {
	if n%4 == 0 {
		return &agentgw.Call{Tenant: "t", Tool: "lend", Arguments: fmt.Appendf(nil, `{"id":%d,"room":%d}`, n, n%50)}
	}
	return &agentgw.Call{Tenant: "t", Tool: "pay", Arguments: fmt.Appendf(nil, `{"id":%d}`, n)}
}

// rounds is how many failovers a storm has: CHAOS_ROUNDS, or a few.
func rounds(t *testing.T) int {
	text := os.Getenv("CHAOS_ROUNDS")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CHAOS_ROUNDS=%q is no number of rounds", text)
	}
	return n
}

// storm lets two gateways work on one ledger while its primary dies so many times, with what it wrote last. It returns how many effects
// there were and how many of them happened more than once.
func storm(t *testing.T, rounds int, o Options) (effects, excess int) {
	sentinels := redistest.StartSentinel(t, 1)
	pol, err := policy.Load([]policy.Source{{Name: "storm.yaml", Text: []byte(stormPolicy)}}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	tool := &counting{effects: map[string]int{}}
	both := make([]*gateway.Gateway, 2)
	for i := range both {
		s, err := Open(sentinels.URL, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		tools := map[string]*gateway.Tool{"pay": {Name: "pay"}, "lend": {Name: "lend"}}
		both[i] = gateway.New(gateway.Options{Policy: pol, Ledger: ledger.New(s), Sender: tool, Tools: tools})
		if err := both[i].CheckHealth(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var newest atomic.Int64
	var stop atomic.Bool
	var robots sync.WaitGroup
	for robot := range 16 {
		robots.Go(func() {
			for !stop.Load() {
				n := int(newest.Load())
				if rand.IntN(3) == 0 {
					n = int(newest.Add(1))
				} else if n > 0 {
					n -= rand.IntN(min(n, 300))
				}
				if d := both[robot%2].Do(t.Context(), order(n)); d.Verdict == agentgw.Unavailable {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	for round := range rounds {
		time.Sleep(time.Duration(200+rand.IntN(300)) * time.Millisecond)
		if err := sentinels.Cut(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond)
		dead, err := sentinels.Die()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		time.Sleep(o.Window + time.Second)
		if err := sentinels.Rejoin(dead); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	stop.Store(true)
	robots.Wait()
	time.Sleep(5500 * time.Millisecond) // one lease
	return ending(t, both[0], tool, int(newest.Load()))
}

// ending asks for every effect once more, settles doubts as the tool has them, and counts.
func ending(t *testing.T, g *gateway.Gateway, tool *counting, newest int) (effects, excess int) {
	verdicts := map[agentgw.Verdict]int{}
	for n := 1; n <= newest; n++ {
		before := tool.count(order(n))
		d := g.Do(t.Context(), order(n))
		for end := time.Now().Add(time.Minute); d.Verdict == agentgw.Unavailable && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			d = g.Do(t.Context(), order(n))
		}
		verdicts[d.Verdict]++
		if d.Verdict == agentgw.InDoubt {
			outcome := agentgw.Failed
			if before > 0 {
				outcome = agentgw.Succeeded
			}
			if _, err := g.Ledger.Resolve(t.Context(), d.Effect.ID, d.Effect.Version, outcome, nil, "test", "looked"); err != nil {
				t.Errorf("effect %d: %v", n, err)
			}
			d = g.Do(t.Context(), order(n))
		}
		if d.Verdict != agentgw.Executed && d.Verdict != agentgw.Replayed || d.Verdict == agentgw.Replayed && before == 0 {
			t.Errorf("effect %d: happened %d times, and is %s (%s)", n, before, d.Verdict, d.Detail)
		}
		switch count := tool.count(order(n)); {
		case count > 1:
			excess++
		case count == 0:
			t.Errorf("effect %d never happened", n)
		}
	}
	doubts, _, err := g.Ledger.List(t.Context(), ledger.Filter{State: agentgw.StateIndeterminate})
	if err != nil || len(doubts) > 0 {
		t.Errorf("%d doubts are left, %v", len(doubts), err)
	}
	t.Logf("%d effects; asked again in the end: %v; %d happened more than once", newest, verdicts, excess)
	return newest, excess
}

// TestFailoverStorm: the primary dies again and again under load, each time with what it wrote last, and nothing happens twice.
func TestFailoverStorm(t *testing.T) {
	effects, excess := storm(t, rounds(t), Options{Window: 5 * time.Second})
	if excess != 0 {
		t.Errorf("%d of %d effects happened more than once", excess, effects)
	}
	if effects < 100 {
		t.Error("the load did not run")
	}
}

// TestFailoverStormWithoutHealing shows what the healing is for: the same storm, and effects happen twice.
func TestFailoverStormWithoutHealing(t *testing.T) {
	effects, excess := storm(t, 1, Options{noHeal: true})
	if excess == 0 {
		t.Errorf("none of %d effects happened twice: the storm would not notice a loss", effects)
	}
}
