package chaos

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/internal/redistest"
)

// size is how large a run is, by the environment: CHAOS_CALLS, CHAOS_EFFECTS, CHAOS_RATE (calls a second), CHAOS_SEED.
type size struct {
	calls, effects, rate int
	seed                 uint64
}

func sizeOf(t *testing.T) size {
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q is no number from 1 on", name, text)
		}
		return n
	}
	return size{calls: number("CHAOS_CALLS", 3000), effects: number("CHAOS_EFFECTS", 300), rate: number("CHAOS_RATE", 100), seed: uint64(number("CHAOS_SEED", 1))}
}

const gatewayCount = 3

// installation is everything that is broken.
type installation struct {
	*testing.T
	size
	began    time.Time
	redis    *redistest.Sentinels
	gateways []*process
	tool     *tool
	faults   []Fault
	suffered map[string]int

	mu      sync.Mutex
	history []event
}

func (in *installation) now() time.Duration { return time.Since(in.began) }

// run is one day in the life of an installation: load, faults, and then the reckoning.
func run(t *testing.T, durability string) {
	in := &installation{T: t, size: sizeOf(t), redis: redistest.StartSentinel(t, 1), tool: startTool(t), suffered: map[string]int{}}
	binary := build(t)
	for range gatewayCount {
		in.gateways = append(in.gateways, startGateway(t, binary, in.redis.URL, durability, in.tool.addr))
	}
	for _, g := range in.gateways {
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
	}
	length := time.Duration(in.calls) * time.Second / time.Duration(in.rate)
	in.faults = Schedule(Plan{Seed: in.seed, Length: length - 5*time.Second, Gateways: gatewayCount, Apart: durability == "local"})
	in.began = time.Now()
	var all sync.WaitGroup
	all.Go(in.breakThings)
	in.load()
	all.Wait()
	t.Logf("%d calls for %d effects in %s; faults: %v", in.calls, in.effects, in.now().Round(time.Second), in.suffered)
	in.reckon()
}

// breakThings carries out the schedule, and ends when all is mended.
func (in *installation) breakThings() {
	var all sync.WaitGroup
	targets := map[string]*sync.Mutex{}
	for _, f := range in.faults {
		time.Sleep(f.At - in.now())
		in.suffered[strings.TrimRight(f.Target, " 0123456789")+" "+f.What]++
		if targets[f.Target] == nil {
			targets[f.Target] = &sync.Mutex{}
		}
		target := targets[f.Target]
		all.Go(func() {
			target.Lock()
			defer target.Unlock()
			switch {
			case f.Target == "tool":
				in.tool.suffer(f)
			case f.Target == "primary":
				in.losePrimary(f)
			default:
				var n int
				fmt.Sscanf(f.Target, "gateway %d", &n)
				in.gateways[n].suffer(f)
			}
		})
	}
	all.Wait()
}

// losePrimary kills the primary, or pauses it, which may make the sentinels choose another one.
func (in *installation) losePrimary(f Fault) {
	if f.What == "kill" {
		dead, err := in.redis.Die()
		if err == nil {
			time.Sleep(f.For)
			err = in.redis.Rejoin(dead)
		}
		if err != nil {
			in.Error(err)
		}
		return
	}
	primary, err := in.redis.Primary()
	if err == nil {
		err = primary.Pause()
	}
	if err != nil {
		in.Error(err)
		return
	}
	time.Sleep(f.For)
	if err := primary.Resume(); err != nil {
		in.Error(err)
	}
	if err := in.redis.Settled(); err != nil { // it wakes as a primary, until the sentinels tell it otherwise
		in.Error(err)
	}
}

// load lets robots ask for every effect many times: at once, soon and long afterwards, each time of any gateway.
func (in *installation) load() {
	var next atomic.Int64
	var robots sync.WaitGroup
	for robot := range 32 {
		robots.Go(func() {
			client := &http.Client{Timeout: 8 * time.Second, Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			rnd := rand.New(rand.NewPCG(in.seed, uint64(robot)))
			for {
				i := int(next.Add(1)) - 1
				if i >= in.calls {
					return
				}
				time.Sleep(time.Duration(i)*time.Second/time.Duration(in.rate) - in.now())
				newest := 1 + i*in.effects/in.calls
				order := newest - rnd.IntN(min(newest, 4))
				if rnd.IntN(3) == 0 {
					order = 1 + rnd.IntN(newest)
				}
				in.ask(client, in.gateways[rnd.IntN(gatewayCount)], order, i)
			}
		})
	}
	robots.Wait()
}

// ask makes one call and keeps what came of it.
func (in *installation) ask(client *http.Client, g *process, order, nonce int) answer {
	began := in.now()
	a, err := g.call(client, order, nonce)
	if err != nil {
		a.Decision = "lost" // the caller does not know
	}
	in.mu.Lock()
	in.history = append(in.history, event{order, began, in.now(), a.Decision, a.Outcome, a.Effect.ID})
	in.mu.Unlock()
	return a
}

// reckon looks at every effect when all is mended: it happened once, or is a doubt that is listed and can be resolved.
func (in *installation) reckon() {
	for _, g := range in.gateways {
		if err := g.ready(); err != nil {
			in.Fatal(err)
		}
	}
	time.Sleep(15 * time.Second) // leases, what waits in spools, and the window after the last failover
	client := &http.Client{Timeout: 20 * time.Second}
	decisions, excess, doubtful := map[string]int{}, 0, map[string]bool{}
	for order := 1; order <= in.effects; order++ {
		before := in.tool.count(strconv.Itoa(order))
		a := in.askUntil(client, order)
		decisions[a.Decision]++
		switch {
		case before > 1:
			excess++
			in.Errorf("order %d happened %d times: %v", order, before, in.of(order))
		case a.Decision == "indeterminate":
			doubtful[a.Effect.ID] = true // its own, or that of the one that holds its room
		case a.Decision == "executed" && before == 0, a.Decision == "replayed" && before == 1:
		default:
			in.Errorf("order %d: %s (%s), and it had happened %d times: %v", order, a.Decision, a.Detail, before, in.of(order))
		}
	}
	in.settleDoubts(client, doubtful)
	for order := 1; order <= in.effects; order++ {
		before := in.tool.count(strconv.Itoa(order))
		want := "replayed"
		if before == 0 {
			want = "executed"
		}
		if a := in.askUntil(client, order); a.Decision != want || in.tool.count(strconv.Itoa(order)) != 1 {
			in.Errorf("order %d: %s (%s), and %d effects in the end: %v", order, a.Decision, a.Detail, in.tool.count(strconv.Itoa(order)), in.of(order))
		}
	}
	in.Logf("asked again in the end: %v; %d doubts resolved; %d happened more than once", decisions, len(doubtful), excess)
	in.linearizable()
}

func (in *installation) askUntil(client *http.Client, order int) (a answer) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		a = in.ask(client, in.gateways[order%gatewayCount], order, -order)
		if a.Decision != "unavailable" && a.Decision != "in_flight" && a.Decision != "lost" {
			break
		}
	}
	return a
}

// settleDoubts resolves the doubts as the tool has them: each is listed, and none is left.
func (in *installation) settleDoubts(client *http.Client, doubtful map[string]bool) {
	listed, err := in.gateways[0].doubts()
	if err != nil {
		in.Fatal(err)
	}
	for id := range doubtful {
		if !slices.ContainsFunc(listed, func(e effect) bool { return e.ID == id }) {
			in.Errorf("effect %s is in doubt and not listed", id)
		}
	}
	for _, e := range listed {
		if !doubtful[e.ID] {
			in.Errorf("order %s is listed as a doubt, and nobody is told so", e.order())
		}
		outcome := "failed"
		if in.tool.count(e.order()) > 0 {
			outcome = "succeeded"
		}
		began := in.now()
		if err := in.gateways[1].resolve(client, e, outcome); err != nil {
			in.Errorf("order %s: %v", e.order(), err)
		}
		order, _ := strconv.Atoi(e.order())
		in.history = append(in.history, event{order, began, in.now(), "resolved", outcome, e.ID})
	}
	if left, err := in.gateways[2].doubts(); err != nil || len(left) > 0 {
		in.Errorf("%d doubts are left, %v", len(left), err)
	}
}

// of is the history of one order, for people.
func (in *installation) of(order int) (lines []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, e := range in.history {
		if e.order == order {
			lines = append(lines, fmt.Sprintf("%.2f-%.2f %s %s", e.began.Seconds(), e.ended.Seconds(), e.decision, e.outcome))
		}
	}
	return lines
}

// TestChaos: gateways die and freeze, the primary dies and freezes, the tool dies, freezes and loses answers. Gateways do not die while
// the primary does: what only they know is lost then.
func TestChaos(t *testing.T) { run(t, "local") }

// TestChaosReplicated: the same, at any time. A replica has every claim, so that nobody's death matters.
func TestChaosReplicated(t *testing.T) { run(t, "replicated") }

// TestSchedule: the same seed makes the same faults, and no target suffers two at once.
func TestSchedule(t *testing.T) {
	p := Plan{Seed: 7, Length: 10 * time.Minute, Gateways: 3, Apart: true}
	all := Schedule(p)
	if !slices.Equal(all, Schedule(p)) || len(all) < 100 {
		t.Fatalf("%d faults, and not the same ones again", len(all))
	}
	p.Seed++
	if slices.Equal(all, Schedule(p)) {
		t.Error("another seed makes the same faults")
	}
	until := map[string]time.Duration{}
	for _, f := range all {
		if f.At < until[f.Target] {
			t.Errorf("%v begins while another lasts", f)
		}
		until[f.Target] = f.At + f.For
	}
}
