package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"agentgw"
	"agentgw/policy"
)

// The model: two gateways, one effect, and everything that can happen between them in any order, up to a few of each kind. The gateways run
// Ledger itself over a store that replicates late, fails over, and is written back to as redisstore does it. All states are visited.

// guards are the rules that keep a second send away. The tests take one away at a time and expect to see it.
type guards struct {
	versions, fence, doubt, running, lapse bool // of the ledger
	look, heal, window                     bool // of the failover

	claims, crashes, failovers int // how many there are at most
}

var (
	allGuards = guards{true, true, true, true, true, true, true, true, 2, 1, 1}
	noFaults  = guards{true, true, true, true, true, true, true, true, 3, 0, 0} // of Redis and gateways: there are more claims instead
)

type modelRecord struct {
	version, stamp uint64
	at             time.Time
	value          []byte // nil: deleted
}

type modelData struct {
	records map[string]modelRecord
	last    uint64
}

func (d modelData) clone() modelData { return modelData{maps.Clone(d.records), d.last} }

type phase int

const (
	idle phase = iota
	claimed
	didIt   // sent, and it had its effect
	refused // sent, and it had none
)

type modelGateway struct {
	phase   phase
	claim   *Claim
	journal map[string]modelRecord
	epoch   int  // the primary that it has looked at
	stray   bool // an operator has freed its claim: what it sends yet is no second effect, it is the operator's error
}

// world is one state of the model.
type world struct {
	g                 guards
	now               time.Time
	primary, replica  modelData
	epoch             int
	held              bool // claims wait: not all gateways have written back
	gateways          [2]modelGateway
	dead              map[string]modelRecord // what only a dead gateway knew
	excused           bool                   // the documented remainder: it is lost
	happened, counted int                    // effects, and those that are nobody's error
	claims, lapses    int
	crashes, failures int
	words, renewals   int
	trace             []string
}

func newWorld(g guards) *world {
	w := &world{g: g, now: time.Unix(1000, 0), primary: modelData{records: map[string]modelRecord{}}, dead: map[string]modelRecord{}}
	w.replica = w.primary.clone()
	for i := range w.gateways {
		w.gateways[i].journal = map[string]modelRecord{}
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.primary, c.replica, c.dead, c.trace = w.primary.clone(), w.replica.clone(), maps.Clone(w.dead), slices.Clip(w.trace)
	for i := range c.gateways {
		g := &c.gateways[i]
		g.journal = maps.Clone(g.journal)
		if g.claim != nil {
			claim, e := *g.claim, *g.claim.Effect
			claim.Effect, g.claim = &e, &claim
		}
	}
	return &c
}

// modelStore is the store as one gateway sees it.
type modelStore struct {
	Store
	w  *world
	me int
}

var errWindow = fmt.Errorf("the window: %w", ErrNotApplied)

func (s modelStore) Swap(_ context.Context, swaps ...Swap) (replies []Reply, _ error) {
	w, g := s.w, &s.w.gateways[s.me]
	if w.g.look && g.epoch != w.epoch {
		w.lookAt(s.me)
	}
	for _, sw := range swaps {
		if sw.Claim && w.held && w.g.window {
			return nil, errWindow
		}
		replies = append(replies, w.swap(g, sw))
	}
	return replies, nil
}

func (w *world) swap(g *modelGateway, sw Swap) Reply {
	r := Reply{Now: w.now, Records: make([]Record, len(sw.Changes))}
	found := make([]Stamped, len(sw.Changes))
	for i, c := range sw.Changes {
		rec := w.primary.records[c.Name]
		found[i] = Stamped{rec.version, rec.stamp}
		r.Records[i] = Record{Name: c.Name, Version: rec.version, At: rec.at, Value: rec.value}
	}
	apply, version := sw.Fits(found)
	if r.Applied, r.Version = apply || version != 0, version; !apply && w.g.versions {
		return r
	}
	r.Applied = true
	w.primary.last = max(w.primary.last+1, uint64(w.now.UnixMicro()))
	for i, c := range sw.Changes {
		if c.Look {
			continue
		}
		if c.Value == nil {
			delete(w.primary.records, c.Name)
			g.journal[c.Name] = modelRecord{version: c.Want}
			r.Records[i] = Record{Name: c.Name}
			continue
		}
		rec := modelRecord{w.primary.last, sw.Stamp, w.now, c.Value}
		w.primary.records[c.Name], g.journal[c.Name] = rec, rec
		r.Version = w.primary.last
		r.Records[i] = Record{Name: c.Name, Version: rec.version, At: rec.at, Value: c.Value}
	}
	return r
}

// lookAt lets a gateway meet another primary and write back what that does not know.
func (w *world) lookAt(me int) {
	g := &w.gateways[me]
	g.epoch = w.epoch
	if !w.g.heal {
		return
	}
	for name, rec := range g.journal {
		is := w.primary.records[name]
		switch {
		case rec.value == nil && is.version != 0 && is.version <= rec.version:
			delete(w.primary.records, name)
		case rec.value != nil && is.version < rec.version:
			w.primary.records[name] = rec
		}
		w.primary.last = max(w.primary.last, rec.version)
	}
}

// modelOp is the one effect.
func modelOp() *agentgw.Operation {
	key := agentgw.Digest{1}
	return &agentgw.Operation{Tenant: "t", ID: agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, key), Key: key}, Digest: agentgw.Digest{2},
		Rule: &agentgw.Rule{Name: "pay", Pattern: agentgw.Once, TTL: 24 * time.Hour, Lease: time.Minute}}
}

// judge is the policy, unless a guard is taken away.
func (w *world) judge(op *agentgw.Operation, call *agentgw.Call, m *agentgw.Remembered) agentgw.Judgement {
	j := policy.Judge(op, call, m)
	if j.Verdict == agentgw.InDoubt && !j.Lapse && !w.g.doubt || j.Verdict == agentgw.InFlight && !w.g.running {
		return agentgw.Judgement{Verdict: agentgw.Executed}
	}
	return j
}

// move is one thing that can happen. do reports false where it does not after all.
type move struct {
	name string
	can  func(w *world) bool
	do   func(w *world) bool
}

func moves() (all []move) {
	ctx := context.Background()
	for me := range 2 {
		add := func(name string, from phase, do func(w *world, g *modelGateway, l *Ledger) bool) {
			all = append(all, move{fmt.Sprintf("%s %c", name, 'A'+me), func(w *world) bool {
				return w.gateways[me].phase == from && !(name == "crash" && w.crashes == w.g.crashes) && !(name == "renew" && w.renewals > 0)
			}, func(w *world) bool { return do(w, &w.gateways[me], New(modelStore{w: w, me: me})) }})
		}
		add("claim", idle, func(w *world, g *modelGateway, l *Ledger) bool {
			f, err := l.Claim(ctx, Ask{Op: modelOp(), Call: &agentgw.Call{Tenant: "t"}, Judge: w.judge})
			if err == nil && f.Verdict == agentgw.Executed {
				g.phase, g.claim = claimed, f.Claim
				w.claims++
			}
			return w.claims <= w.g.claims
		})
		add("send", claimed, func(w *world, g *modelGateway, _ *Ledger) bool {
			g.phase = didIt
			w.happened++
			if !g.stray {
				w.counted++
			}
			return true
		})
		add("send in vain", claimed, func(w *world, g *modelGateway, _ *Ledger) bool { g.phase = refused; return true })
		for from, outcome := range map[phase]agentgw.Outcome{didIt: agentgw.Succeeded, refused: agentgw.Failed} {
			add("answer", from, func(w *world, g *modelGateway, l *Ledger) bool { return w.settle(g, l, outcome) })
			add("lost answer", from, func(w *world, g *modelGateway, l *Ledger) bool { return w.settle(g, l, agentgw.Indeterminate) })
		}
		for _, from := range []phase{claimed, didIt} {
			add("renew", from, func(w *world, g *modelGateway, l *Ledger) bool {
				w.renewals++
				return l.Renew(ctx, g.claim) == nil
			})
		}
		for _, from := range []phase{claimed, didIt, refused} {
			add("crash", from, func(w *world, g *modelGateway, _ *Ledger) bool { return w.crash(me) })
		}
		all = append(all, move{fmt.Sprintf("look %c", 'A'+me),
			func(w *world) bool { return w.gateways[me].epoch != w.epoch && w.g.look },
			func(w *world) bool { w.lookAt(me); return true }})
	}
	return append(all,
		move{"lapse", func(w *world) bool { return w.lapses == 0 }, func(w *world) bool {
			w.lapses++
			w.now = w.now.Add(time.Minute + time.Second)
			return true
		}},
		move{"replicate", func(w *world) bool { return w.failures < w.g.failovers }, func(w *world) bool { w.replica = w.primary.clone(); return true }},
		move{"failover", func(w *world) bool { return w.failures < w.g.failovers }, (*world).failover},
		move{"window ends", func(w *world) bool {
			return w.held && (w.gateways[0].epoch == w.epoch && w.gateways[1].epoch == w.epoch || !w.g.look)
		}, func(w *world) bool { w.held = false; return true }},
		move{"operator", func(w *world) bool { return w.words == 0 }, (*world).operator})
}

// settle is an attempt's end. Without the fence it writes over whatever stands there.
func (w *world) settle(g *modelGateway, l *Ledger, outcome agentgw.Outcome) bool {
	ctx := context.Background()
	res := agentgw.Result{Outcome: outcome, Answer: &agentgw.Answer{Status: 200}}
	if !w.g.fence {
		if e, err := l.Get(ctx, modelOp().ID); err == nil {
			if next, ok := settleNext(*e, res); ok {
				l.put(ctx, e, &next, nil)
			}
		}
	} else if _, err := l.Settle(ctx, g.claim, res); err != nil && !errors.Is(err, ErrStale) {
		return false // it is tried again
	}
	g.phase, g.claim, g.stray = idle, nil, false
	return true
}

// crash forgets what a gateway knew. What nobody else has is what the documentation excuses.
func (w *world) crash(me int) bool {
	w.crashes++
	g := &w.gateways[me]
	for name, rec := range g.journal {
		if w.primary.records[name].version < rec.version && rec.value != nil {
			w.excused = true
		}
		if w.replica.records[name].version < rec.version {
			w.dead[name] = rec
		}
	}
	*g = modelGateway{journal: map[string]modelRecord{}, epoch: w.epoch}
	return true
}

func (w *world) failover() bool {
	w.failures++
	for name, rec := range w.dead {
		w.excused = w.excused || w.replica.records[name].version < rec.version
	}
	w.primary, w.held = w.replica.clone(), true
	w.replica = modelData{} // it is of no account any more
	w.epoch++
	w.now = w.now.Add(time.Second)
	return true
}

// operator settles a doubt as the world has it.
func (w *world) operator() bool {
	l := New(modelStore{w: w, me: 0})
	e, err := l.Get(context.Background(), modelOp().ID)
	if w.words++; err != nil || e.State != agentgw.StateIndeterminate {
		return false
	}
	outcome := agentgw.Succeeded
	if w.happened == 0 {
		outcome = agentgw.Failed
		for i := range w.gateways {
			w.gateways[i].stray = w.gateways[i].phase == claimed
		}
	}
	_, err = l.Resolve(context.Background(), e.ID, e.Version, outcome, nil, "ops", "looked")
	return err == nil
}

// print is what tells one state from another: versions and claims by their order only.
func (w *world) print() string {
	var versions []uint64
	claims := map[uint64]int{}
	each := func(f func(where string, rec modelRecord)) {
		for where, records := range map[string]map[string]modelRecord{"p": w.primary.records, "r": w.replica.records, "d": w.dead, "A": w.gateways[0].journal, "B": w.gateways[1].journal} {
			for name, rec := range records {
				f(where+name, rec)
			}
		}
	}
	each(func(_ string, rec modelRecord) { versions = append(versions, rec.version) })
	for _, g := range w.gateways {
		if g.claim != nil {
			versions = append(versions, g.claim.Effect.Version)
		}
	}
	versions = append(versions, w.primary.last, w.replica.last)
	slices.Sort(versions)
	versions = slices.Compact(versions)
	rank := func(v uint64) int { i, _ := slices.BinarySearch(versions, v); return i }
	var lines []string
	each(func(where string, rec modelRecord) {
		lines = append(lines, fmt.Sprintf("%s %03d %s", where, rank(rec.version), stateOf(rec, w.now)))
	})
	sort.Strings(lines)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	alias := func(c uint64) int {
		if _, ok := claims[c]; !ok {
			claims[c] = len(claims)
		}
		return claims[c]
	}
	for _, rec := range []modelRecord{w.primary.records[modelOp().ID.Record()], w.replica.records[modelOp().ID.Record()],
		w.gateways[0].journal[modelOp().ID.Record()], w.gateways[1].journal[modelOp().ID.Record()]} {
		if e := decoded(rec); e != nil {
			fmt.Fprint(&b, alias(e.Claim), " ")
		}
	}
	for _, g := range w.gateways {
		fmt.Fprint(&b, g.phase, g.epoch == w.epoch, g.stray, " ")
		if g.claim != nil {
			fmt.Fprint(&b, alias(g.claim.Claim()), rank(g.claim.Effect.Version), g.claim.Effect.State, " ")
		}
	}
	fmt.Fprint(&b, rank(w.primary.last), rank(w.replica.last), w.held, w.happened, w.counted, w.claims, w.lapses, w.crashes, w.failures, w.words, w.renewals)
	return b.String()
}

func decoded(rec modelRecord) *agentgw.Effect {
	if rec.value == nil {
		return nil
	}
	e, err := decodeEffect(modelOp().ID.Partition, Record{Name: modelOp().ID.Record(), Version: rec.version, At: rec.at, Value: rec.value}, rec.at)
	if err != nil {
		panic(err)
	}
	return e
}

func stateOf(rec modelRecord, now time.Time) string {
	e := decoded(rec)
	if e == nil {
		return "-"
	}
	return fmt.Sprint(e.State, len(e.Evidence), now.Sub(rec.at) > time.Minute)
}

// explore visits every state, nearest first, and returns how many there are and the shortest way to a second effect, nil for none.
func explore(g guards) (states int, way []string) {
	all := moves()
	first := newWorld(g)
	seen := map[string]bool{first.print(): true}
	for queue := []*world{first}; len(queue) > 0; {
		w := queue[0]
		queue[0] = nil
		queue = queue[1:]
		for _, m := range all {
			if !m.can(w) {
				continue
			}
			next := w.clone()
			if !m.do(next) {
				continue
			}
			next.trace = append(next.trace, m.name)
			if next.excused {
				continue
			}
			if next.counted > 1 {
				return len(seen), next.trace
			}
			if at := next.print(); !seen[at] {
				seen[at] = true
				queue = append(queue, next)
			}
		}
	}
	return len(seen), nil
}

// TestModel: in no order of claims, sends, answers, crashes, lapses, operators' words and a failover does the effect happen twice.
func TestModel(t *testing.T) {
	for _, g := range []guards{allGuards, noFaults} {
		states, way := explore(g)
		if way != nil {
			t.Errorf("it happened twice: %s", strings.Join(way, ", "))
		}
		if states < 500 {
			t.Errorf("only %d states: the model does not reach what it should", states)
		}
		t.Logf("%d states", states)
	}
}

// TestModelWithout takes each guard away, and sees the effect happen twice.
func TestModelWithout(t *testing.T) {
	for _, without := range []struct {
		name string
		g    guards
		take func(*guards)
	}{
		{"the version check of a swap", allGuards, func(g *guards) { g.versions = false }},
		{"the fence of a settlement", noFaults, func(g *guards) { g.fence = false }},
		{"doubt as a state", allGuards, func(g *guards) { g.doubt = false }},
		{"waiting for a running attempt", allGuards, func(g *guards) { g.running = false }},
		{"a lapse that leaves a doubt", allGuards, func(g *guards) { g.lapse = false }},
		{"looking at a primary before it acts", allGuards, func(g *guards) { g.look = false }},
		{"writing back", allGuards, func(g *guards) { g.heal = false }},
		{"the window after a failover", allGuards, func(g *guards) { g.window = false }},
	} {
		t.Run(without.name, func(t *testing.T) {
			g := without.g
			without.take(&g)
			if !g.lapse {
				row := table[agentgw.StateInFlight]
				row[evLapse] = agentgw.StateFailed
				defer func() { row[evLapse] = agentgw.StateIndeterminate }()
			}
			for state, kept := range map[agentgw.State]bool{agentgw.StateIndeterminate: g.doubt, agentgw.StateInFlight: g.running} {
				if row := table[state]; !kept { // the machine guards it, too
					row[evClaim] = agentgw.StateInFlight
					defer delete(row, evClaim)
				}
			}
			states, way := explore(g)
			if way == nil {
				t.Errorf("nothing happened twice in %d states: the model does not see this guard", states)
			}
			t.Log(strings.Join(way, ", "))
		})
	}
}
