package ledger_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/policy"
)

// The other model (model_test.go) has one effect in one partition. This one runs claims over several partitions (a lock, a caller's key, a
// budget, a batch, an entity) in every order of their single steps: each swap is a step of its own, also where several travel together, as
// they do on a cluster; a gateway may die before any step; a lease may run out between any two.

// scene is what happens on a stage.
type scene struct {
	name    string
	actors  []part
	crashes int
	lapses  int
	limit   int  // how many effects may happen in all; 0: as many as are meant
	long    bool // too many orders for every day
}

// part is one gateway with one call.
type part struct {
	op    *agentgw.Operation
	call  agentgw.Call
	vain  bool // the tool refuses, and nothing happened
	again bool // it has been done before, and is asked for once more
}

// stage is one run of a scene.
type stage struct {
	scene
	store *memstore.Store
	clock clock
	cast  []*actor
	trace []string
	wrong string

	happened map[agentgw.EffectID]int
	meant    map[agentgw.EffectID]int
	at       map[agentgw.Partition]int // locks and entities: the actors that are at them now
}

// happen counts an effect: it may happen as often as it is meant, and all together as often as the limit says.
func (s *stage) happen(id agentgw.EffectID) {
	s.happened[id]++
	if s.happened[id] > s.meant[id] {
		s.fail("%s happened %d times, and was meant %d times", id, s.happened[id], s.meant[id])
	}
	if s.limit > 0 && s.total() > s.limit {
		s.fail("%d happened, and %d may", s.total(), s.limit)
	}
}

func (s *stage) total() (n int) {
	for _, times := range s.happened {
		n += times
	}
	return n
}

func (s *stage) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

func (s *stage) fail(format string, args ...any) {
	s.note(format, args...)
	if s.wrong == "" {
		s.wrong = fmt.Sprintf(format, args...)
	}
}

// perform runs one schedule of a scene and says what went wrong, "" for nothing.
func perform(sc scene, order *schedule) (wrong string, trace []string) {
	s := &stage{scene: sc, happened: map[agentgw.EffectID]int{}, meant: map[agentgw.EffectID]int{}, at: map[agentgw.Partition]int{}}
	s.store = memstore.New(memstore.Options{Now: s.clock.now})
	defer s.store.Close()
	for i, p := range sc.actors {
		a := &actor{part: p, stage: s, Store: s.store, name: 'A' + byte(i)}
		s.cast = append(s.cast, a)
		for _, id := range p.effects() {
			s.meant[id] = 1
		}
		if p.again {
			a.token = s.repeat(a)
		}
		a.goOn, a.die = iter.Pull(a.play)
		a.next, a.alive = a.goOn()
	}
	crashes, lapses := sc.crashes, sc.lapses
	for {
		var moves []move
		for _, a := range s.cast {
			if a.alive {
				moves = append(moves, a.next)
			}
		}
		if len(moves) == 0 {
			break
		}
		for _, m := range moves {
			if crashes > 0 {
				moves = append(moves, move{who: m.who, what: 'd', about: "dies before: " + m.about})
			}
		}
		if lapses > 0 {
			moves = append(moves, move{what: 't', about: "time passes"})
		}
		c := order.pick(moves)
		if c < 0 {
			s.end()
			return s.wrong, s.trace
		}
		m := moves[c]
		s.note("%c %s", max(m.who, '-'), m.about)
		switch m.what {
		case 't':
			lapses--
			s.clock.after(61 * time.Second)
		case 'd':
			crashes--
			s.wake(m.who, false)
		default:
			s.wake(m.who, true)
		}
	}
	if s.wrong == "" {
		s.reckon()
	}
	return s.wrong, s.trace
}

// repeat does what an actor asks for before the curtain rises, unless another one's wish has, and returns a token for once more.
func (s *stage) repeat(a *actor) *agentgw.Token {
	id := a.op.ID
	s.meant[id] = 2
	l := ledger.New(s.store)
	if s.happened[id] == 0 {
		f, err := l.Claim(context.Background(), ledger.Ask{Op: a.op, Call: &a.call, Judge: policy.Judge})
		if err == nil {
			_, err = l.Settle(context.Background(), f.Claim, succeeded("first"))
		}
		if err != nil {
			s.fail("before: %v", err)
		}
		s.happen(id)
	}
	e, err := l.Get(context.Background(), id)
	if err != nil {
		s.fail("before: %v", err)
		return nil
	}
	return &agentgw.Token{ID: id, Base: e.Base, Ordinal: e.Ordinal, Expires: e.Now.Add(time.Hour)}
}

// wake lets an actor make its step, or die.
func (s *stage) wake(who byte, live bool) {
	a := s.cast[who-'A']
	if a.alive = false; live {
		a.next, a.alive = a.goOn()
	} else {
		a.die()
	}
}

// end lets everybody die.
func (s *stage) end() {
	for _, a := range s.cast {
		if a.alive {
			s.wake(a.name, false)
		}
	}
}

// reckon: when all leases are over, every doubt is listed and can be resolved, nothing stays locked, and everything that was meant can be
// had: it is replayed where it has happened, and executed where it has not.
func (s *stage) reckon() {
	ctx := context.Background()
	s.clock.after(61 * time.Second)
	l := ledger.New(s.store)
	if _, err := l.Sweep(ctx); err != nil {
		s.fail("sweep: %v", err)
	}
	doubts, _, err := l.List(ctx, ledger.Filter{State: agentgw.StateIndeterminate})
	if err != nil {
		s.fail("list: %v", err)
	}
	for _, e := range doubts {
		outcome := agentgw.Failed
		for _, a := range s.cast {
			if a.op.ID == e.ID && s.happened[a.effects()[0]] == s.meant[a.effects()[0]] {
				outcome = agentgw.Succeeded
			}
		}
		if _, err := l.Resolve(ctx, e.ID, e.Version, outcome, nil, "ops", "looked"); err != nil {
			s.fail("resolve %s: %v", e.ID, err)
		}
	}
	if left, _, _ := l.List(ctx, ledger.Filter{State: agentgw.StateInFlight}); len(left) > 0 {
		s.fail("%s is in flight for ever", left[0].ID)
	}
	for _, a := range s.cast {
		s.encore(l, a)
	}
}

// encore makes an actor's call once more.
func (s *stage) encore(l *ledger.Ledger, a *actor) {
	f, err := l.Claim(context.Background(), a.ask())
	if err != nil {
		s.fail("%c in the end: %v", a.name, err)
		return
	}
	ids := a.effects()
	least, most := s.meant[ids[0]], 0
	for _, id := range ids {
		least, most = min(least, s.happened[id]), max(most, s.happened[id])
	}
	want := agentgw.Executed
	switch {
	case least < most: // a batch of which another batch has done a part
		want = agentgw.Conflict
	case least == s.meant[ids[0]]:
		want = agentgw.Replayed
	case s.limit > 0 && s.total() == s.limit && a.op.Limit != "":
		want = agentgw.Blocked
	case s.limit > 0 && s.total() == s.limit:
		want = agentgw.Conflict // the caller's key is another effect's
	}
	if f.Verdict != want {
		s.fail("%c in the end is told %s (%s) instead of %s; happened: %v", a.name, f.Verdict, f.Reason, want, s.happened)
	}
	if f.Claim == nil {
		return
	}
	for _, id := range ids {
		s.happen(id)
	}
	if _, err := l.Settle(context.Background(), f.Claim, succeeded("{}")); err != nil {
		s.fail("%c in the end: %v", a.name, err)
	}
}

// TestInterleavings visits every order of every scene; INTERLEAVINGS=all also those of which there are very many.
func TestInterleavings(t *testing.T) {
	for _, sc := range scenes() {
		if sc.long && os.Getenv("INTERLEAVINGS") != "all" {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			order, runs := &schedule{}, 0
			for more := true; more; more = order.next() {
				runs++
				if wrong, trace := perform(sc, order); wrong != "" {
					t.Fatalf("%s:\n%s", wrong, strings.Join(trace, "\n"))
				}
			}
			t.Logf("%d orders", runs)
		})
	}
}
