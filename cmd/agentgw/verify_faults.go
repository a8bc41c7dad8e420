package main

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"agentgw/ledger"
	"agentgw/ledger/filestore"
	"agentgw/ledger/memstore"
	"agentgw/ledger/redisstore"
)

// fault is one thing that goes wrong.
type fault struct {
	name  string
	about string
	not   func(*battery) string // why it cannot be run here; "" or nil: it can
	run   func(*trial) error
}

var faults = []*fault{
	{"settle-then-lose", "The tool acts, and its answer is lost.", nil, turns(true, loses)},
	{"half-answer", "The tool acts, and its answer breaks off.", nil, turns(true, halves)},
	{"5xx-after-settle", "The tool acts and answers 500.", nil, turns(true, fails)},
	{"caller-left", "The tool is slow; the caller leaves, and asks again.", nil, callerLeft},
	{"duplicate-storm", "Many call the same at the same time.", nil, duplicateStorm},
	{"kill-before-send", "kill -9 while the gateway still connects to the tool.", needsProcess, killAt("send")},
	{"kill-after-send", "kill -9 before the tool acts; it acts all the same.", needsProcess, killAt("act")},
	{"kill-before-settle", "kill -9 after the tool acted, within its answer.", needsProcess, killAt("answer")},
	{"paused-then-done", "The gateway stands still until its lease is over; the tool has acted.", needsPause, paused(true)},
	{"paused-then-lost", "The same; the tool has not acted, and another gateway does it.", needsPause, paused(false)},
	{"cut-before-claim", "The ledger is cut off before it has the claim.", nil, cutAt(1, false, false)},
	{"cut-after-claim", "The ledger has the claim, and its answer is lost.", nil, cutAt(1, true, false)},
	{"cut-before-outcome", "The ledger is cut off before it has the outcome.", nil, cutAt(2, false, false)},
	{"cut-after-outcome", "The ledger has the outcome, and its answer is lost.", nil, cutAt(2, true, false)},
	{"kill-before-claim", "kill -9 on the claim's way to the ledger.", needsWire, cutAt(1, false, true)},
	{"kill-after-claim", "kill -9 when the ledger has the claim; nothing is sent.", needsWire, cutAt(1, true, true)},
	{"kill-before-outcome", "kill -9 on the outcome's way to the ledger.", needsWire, cutAt(2, false, true)},
	{"kill-after-outcome", "kill -9 when the ledger has the outcome and the caller has no answer.", needsWire, cutAt(2, true, true)},
	{"clock-jump", "The ledger's clock jumps ahead during a call, and back.", needsClock, clockJump},
	{"rewording", "The same wish in many words is one effect.", nil, rewording},
	{"distinctness", "Wishes that differ a little are different effects.", nil, distinctness},
	{"changed-amount", "Another amount for the same invoice is refused, not answered as done.", nil, changedAmount},
	{"definite-failure", "What the tool refused is done when it is asked for again.", nil, turns(false, refuses(422), refuses(503))},
	{"never-sent", "What could not be sent is done when it is asked for again.", nil, neverSentFault},
	{"deliberate-repeat", "What is wished for once more, by token, happens once more; its retries do not.", nil, deliberateRepeat},
	{"after-ttl", "What is no longer remembered can be done again.", nil, afterTTL},
}

func needsProcess(b *battery) string {
	if b.kind() == "memory" {
		return "a ledger in memory ends with its gateway"
	}
	return ""
}

func needsPause(b *battery) string {
	if !canPause {
		return "this system cannot stop a process and let it go on"
	}
	return needsProcess(b)
}

func needsWire(b *battery) string {
	if why := wirable(b.ledger); why != "" {
		return "needs to stand between gateway and ledger, and " + why
	}
	return ""
}

func needsClock(b *battery) string {
	if b.many() {
		return "Redis goes by the clock of its machine, which is not ours to change"
	}
	return ""
}

// each calls f for every intent at the same time and waits.
func each(intents []*intent, f func(*intent)) {
	var all sync.WaitGroup
	for _, in := range intents {
		all.Go(func() { f(in) })
	}
	all.Wait()
}

// turns lets callers persist against a tool whose first answers go wrong.
func turns(unknowable bool, first ...turn) func(*trial) error {
	return func(t *trial) error {
		to, err := t.plain()
		if err != nil {
			return err
		}
		for range t.b.times {
			in := t.intent()
			in.unknowable = unknowable
			t.b.witness.expect(in.mark, first...)
		}
		each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) })
		return t.settle(to)
	}
}

func callerLeft(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	for range t.b.times {
		t.b.witness.expect(t.intent().mark, late(300*time.Millisecond, 300*time.Millisecond))
	}
	each(t.intents, func(in *intent) { persist(t.ctx, to, in, 150*time.Millisecond) })
	t.b.witness.idle(t.ctx)
	each(t.intents, func(in *intent) {
		if !t.bare { // the answer that nobody waited for is the one that duplicates get
			persist(t.ctx, to, in, patient)
		}
	})
	return t.settle(to)
}

const stormCalls = 40 // of each wish

func duplicateStorm(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	doors := []target{to}
	if !t.bare && t.b.many() {
		second, err := t.another(gateOptions{})
		if err != nil {
			return err
		}
		doors = append(doors, second)
	}
	var all []*intent
	for range t.b.times {
		in := t.intent()
		t.b.witness.expect(in.mark, late(50*time.Millisecond, 50*time.Millisecond))
		for range stormCalls {
			all = append(all, in)
		}
	}
	var n atomic.Int64
	each(all, func(in *intent) { persist(t.ctx, doors[int(n.Add(1))%len(doors)], in, patient) })
	return t.settle(to)
}

var errNotReached = errors.New("the point of the fault was not reached within 30 s")

// await waits for so many tokens.
func (t *trial) await(tokens <-chan struct{}, n int) error {
	end := time.After(30 * time.Second)
	for range n {
		select {
		case <-tokens:
		case <-end:
			return errNotReached
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
	return nil
}

// killAt kills the gateway when all calls have reached a point, and starts it again. What it did not write is a doubt.
func killAt(point string) func(*trial) error {
	return func(t *trial) error {
		reached, dead := make(chan struct{}, t.b.times), make(chan struct{})
		o, came := gateOptions{}, (<-chan struct{})(reached)
		if point == "send" {
			h, err := startHolder()
			if err != nil {
				return err
			}
			defer h.close()
			o.upstream, came = h.url, h.came
		}
		to, err := t.another(o)
		if err != nil {
			return err
		}
		for range t.b.times {
			in := t.short()
			in.unknowable = true
			switch point {
			case "act":
				t.b.witness.expect(in.mark, func(_ http.ResponseWriter, act func() string) {
					reached <- struct{}{}
					<-dead
					act()
				})
			case "answer":
				t.b.witness.expect(in.mark, func(w http.ResponseWriter, act func() string) {
					half(w, act())
					reached <- struct{}{}
					<-dead
					panic(http.ErrAbortHandler)
				})
			}
		}
		var callers sync.WaitGroup
		callers.Go(func() { each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) }) })
		err = errors.Join(t.await(came, t.b.times), to.kill())
		close(dead)
		if err = errors.Join(err, to.start("")); err != nil {
			return err
		}
		callers.Wait()
		return t.settle(to)
	}
}

// paused stops a gateway that waits for the tool until its lease is over. Another one, where the ledger has room for it, serves
// meanwhile; what the first one writes when it goes on comes too late, and must not win.
func paused(happened bool) func(*trial) error {
	return func(t *trial) error {
		first, err := t.another(gateOptions{})
		if err != nil {
			return err
		}
		second := first
		if t.b.many() || t.bare {
			if second, err = t.another(gateOptions{}); err != nil {
				return err
			}
		}
		reached, still := make(chan struct{}, t.b.times), make(chan struct{})
		for range t.b.times {
			in := t.short()
			in.unknowable = true
			t.b.witness.expect(in.mark, func(w http.ResponseWriter, act func() string) {
				text := ""
				if happened {
					text = act()
				}
				reached <- struct{}{}
				<-still
				if !happened {
					panic(http.ErrAbortHandler)
				}
				io.WriteString(w, text)
			})
		}
		var callers sync.WaitGroup
		callers.Go(func() { each(t.intents, func(in *intent) { callOnce(t.ctx, first, in, patient, "") }) })
		err = errors.Join(t.await(reached, t.b.times), first.pause())
		close(still)
		if err != nil {
			return errors.Join(err, first.resume())
		}
		sleep(t.ctx, shortLease+500*time.Millisecond)
		if second != first {
			each(t.intents, func(in *intent) { persist(t.ctx, second, in, patient) })
			err = t.settle(second)
		}
		if err = errors.Join(err, first.resume()); err != nil {
			return err
		}
		callers.Wait()
		each(t.intents, func(in *intent) {
			if !t.bare {
				persist(t.ctx, second, in, patient)
			}
		})
		return t.settle(second)
	}
}

// cutAt cuts the ledger off at the claim of a call (write 1) or at its outcome (write 2): on the wire where that can be, else in the
// driver. kill: the gateway is killed there, too.
func cutAt(write int, after, kill bool) func(*trial) error {
	return func(t *trial) error {
		to, c, err := t.behindCut()
		if err != nil {
			return err
		}
		persist(t.ctx, to, t.intent(), patient) // connections are made, the script is loaded
		for range t.b.times {
			in := t.intent()
			if t.bare {
				persist(t.ctx, to, in, patient)
				continue
			}
			p := cutPoint{after: after}
			if kill {
				in.tool = always(toolShort)
				in.unknowable = write == 1 && after || write == 2 && !after
				p.then = func() { to.kill() }
			}
			if write == 1 {
				c.arm(p)
			} else { // the next write after the tool has acted
				t.b.witness.expect(in.mark, func(w http.ResponseWriter, act func() string) {
					text := act()
					c.arm(p)
					io.WriteString(w, text)
				})
			}
			var caller sync.WaitGroup
			caller.Go(func() { persist(t.ctx, to, in, patient) })
			if err = t.await(c.back, 1); err == nil && kill {
				err = to.start("")
			}
			caller.Wait()
			if err != nil {
				return err
			}
		}
		return t.settle(to)
	}
}

// behindCut is a gateway whose ledger can be cut off.
func (t *trial) behindCut() (target, *cut, error) {
	if t.bare {
		to, err := t.plain()
		return to, nil, err
	}
	if wirable(t.b.ledger) == "" {
		w, err := newWire(t.b.ledger)
		if err != nil {
			return nil, nil, err
		}
		t.closing = append(t.closing, w.close)
		to, err := t.another(gateOptions{ledger: w.url})
		return to, w.cut, err
	}
	t.b.closeShared()
	store, err := openStore(t.b.ledger, redisstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	c := newCut()
	to, err := t.another(gateOptions{store: cutStore{store, c}})
	return to, c, err
}

// clockJump moves the clock of a ledger of its own: jumps would stay in a user's file.
func clockJump(t *trial) error {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	var store ledger.Store = memstore.New(memstore.Options{Now: now})
	if t.b.kind() == "file" {
		var err error
		if store, err = filestore.Open(filepath.Join(t.b.dir, "jumping.db"), filestore.Options{Now: now}); err != nil {
			return err
		}
	}
	to, err := t.another(gateOptions{store: store})
	if err != nil {
		return err
	}
	reached, jumped := make(chan struct{}, t.b.times), make(chan struct{})
	for range t.b.times {
		in := t.intent()
		in.unknowable = true // the lease is over, by the only clock there is
		t.b.witness.expect(in.mark, func(w http.ResponseWriter, act func() string) {
			text := act()
			reached <- struct{}{}
			<-jumped
			io.WriteString(w, text)
		})
	}
	var callers sync.WaitGroup
	callers.Go(func() { each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) }) })
	err = t.await(reached, t.b.times)
	ahead.Store(int64(5 * time.Minute)) // more than a lease, less than the ttl
	if !t.bare {
		each(t.intents, func(in *intent) { persist(t.ctx, to, in, time.Second) })
	}
	close(jumped)
	callers.Wait()
	err = errors.Join(err, t.settle(to))
	ahead.Store(int64(-time.Hour))
	if !t.bare {
		each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) })
	}
	return err
}
