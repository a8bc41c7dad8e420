package main

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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
	{"reused-connection", "The same, on a connection that was used before.", nil, reusedConnection},
	{"half-answer", "The tool acts, and its answer breaks off.", nil, turns(true, halves)},
	{"5xx-after-settle", "The tool acts and answers 500.", nil, turns(true, fails)},
	{"caller-left", "The tool is slow; the caller leaves, and asks again.", nil, callerLeft},
	{"duplicate-storm", "Many call the same at the same time.", nil, duplicateStorm},
	{"kill-before-send", "kill -9 while the gateway still connects to the tool.", needsProcess, killAt("send")},
	{"kill-after-send", "kill -9 before the tool acts; it acts all the same.", needsProcess, killAt("act")},
	{"kill-before-settle", "kill -9 after the tool acted, within its answer.", needsProcess, killAt("answer")},
	{"paused-then-done", "The gateway stands still until its lease is over; the tool has acted.", needsPause, pausedThenDone},
	{"paused-then-lost", "The same; the tool has refused, and another gateway is doing it when the first goes on.", needsPause, pausedThenLost},
	{"cut-before-claim", "The ledger is cut off before it has the claim.", nil, cutAt(1, false, false)},
	{"cut-after-claim", "The ledger has the claim, and its answer is lost.", nil, cutAt(1, true, false)},
	{"cut-before-outcome", "The ledger is cut off before it has the outcome.", nil, cutAt(2, false, false)},
	{"cut-after-outcome", "The ledger has the outcome, and its answer is lost.", nil, cutAt(2, true, false)},
	{"kill-before-claim", "kill -9 on the claim's way to the ledger.", needsProcess, cutAt(1, false, true)},
	{"kill-after-claim", "kill -9 when the ledger has the claim; nothing is sent.", needsProcess, cutAt(1, true, true)},
	{"kill-before-outcome", "kill -9 on the outcome's way to the ledger.", needsProcess, cutAt(2, false, true)},
	{"kill-after-outcome", "kill -9 when the ledger has the outcome and the caller has no answer.", needsProcess, cutAt(2, true, true)},
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

// reusedConnection loses answers on connections that have brought some: net/http sends a request again there, where it may.
func reusedConnection(t *trial) error {
	to, err := t.plain()
	if err != nil {
		return err
	}
	for i := range 2 * t.b.times {
		in := t.intent()
		in.tool = always(toolKeyed)
		if i%2 == 1 {
			in.unknowable = true
			t.b.witness.expect(in.mark, loses)
		}
		persist(t.ctx, to, in, patient)
	}
	return t.settle(to)
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
	return t.askAgain(to) // the answer that nobody waited for is the one that duplicates get
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

// two are two gateways for this fault alone; a file has room for one, which then is both.
func (t *trial) two() (first, second target, err error) {
	if first, err = t.another(gateOptions{}); err != nil {
		return nil, nil, err
	}
	second = first
	if t.b.many() || t.bare {
		second, err = t.another(gateOptions{})
	}
	return first, second, err
}

// standStill stops a gateway while the tool has its calls, until its leases are over. The tool answers them when wait returns, which the
// gateway does not see yet; later calls meet more. goOn lets the gateway go on, and returns when its callers have their answers.
func (t *trial) standStill(g target, at func(w http.ResponseWriter, act func() string, wait func()), more ...turn) (goOn func() error, err error) {
	reached, still := make(chan struct{}, t.b.times), make(chan struct{})
	wait := func() {
		reached <- struct{}{}
		<-still
	}
	for range t.b.times {
		in := t.short()
		in.unknowable = true
		t.b.witness.expect(in.mark, append([]turn{func(w http.ResponseWriter, act func() string) { at(w, act, wait) }}, more...)...)
	}
	var callers sync.WaitGroup
	callers.Go(func() { each(t.intents, func(in *intent) { callOnce(t.ctx, g, in, patient, "") }) })
	err = errors.Join(t.await(reached, t.b.times), g.pause())
	close(still)
	sleep(t.ctx, shortLease+500*time.Millisecond)
	return func() error {
		err := g.resume()
		callers.Wait()
		return err
	}, err
}

// pausedThenDone: another gateway, where the ledger has room for it, serves while the first stands still; what the first one writes when it
// goes on comes too late.
func pausedThenDone(t *trial) error {
	first, second, err := t.two()
	if err != nil {
		return err
	}
	goOn, err := t.standStill(first, func(w http.ResponseWriter, act func() string, wait func()) {
		text := act()
		wait()
		io.WriteString(w, text)
	})
	if second != first && err == nil {
		each(t.intents, func(in *intent) { persist(t.ctx, second, in, patient) })
		err = t.settle(second)
	}
	return errors.Join(err, goOn(), t.askAgain(second))
}

// pausedThenLost: an operator finds that nothing happened, and another gateway is doing it when the first goes on and hears that the tool has
// refused: that frees nothing any more.
func pausedThenLost(t *trial) error {
	first, second, err := t.two()
	if err != nil {
		return err
	}
	busy, done := make(chan struct{}, t.b.times), make(chan struct{})
	goOn, err := t.standStill(first, func(w http.ResponseWriter, act func() string, wait func()) {
		wait()
		refuses(http.StatusServiceUnavailable)(w, act)
	}, func(w http.ResponseWriter, act func() string) {
		busy <- struct{}{}
		<-done
		answers(w, act)
	})
	var others sync.WaitGroup
	var settled error
	if second != first && err == nil {
		others.Go(func() {
			each(t.intents, func(in *intent) { persist(t.ctx, second, in, patient) })
			settled = t.settle(second)
		})
		err = t.await(busy, t.b.times)
	}
	err = errors.Join(err, goOn())
	if second != first {
		each(t.intents, func(in *intent) { callOnce(t.ctx, second, in, patient, "") })
	}
	close(done)
	others.Wait()
	return errors.Join(err, settled, t.askAgain(second))
}

// askAgain makes each call once more when all is over, and settles what is in doubt then. Who has no gateway does not ask.
func (t *trial) askAgain(to target) error {
	if !t.bare {
		each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) })
	}
	return t.settle(to)
}

// cutAt cuts the ledger off at the claim of a call (write 1) or at its outcome (write 2). kill: the gateway is killed there, too.
func cutAt(write int, after, kill bool) func(*trial) error {
	return func(t *trial) error {
		to, c, err := t.behindCut(kill)
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

// behindCut is a gateway whose ledger can be cut off: on the wire where that can be, else in the driver. One that will be killed is a process
// of its own.
func (t *trial) behindCut(kill bool) (target, *cut, error) {
	if t.bare {
		to, err := t.plain()
		return to, nil, err
	}
	if wirable(t.b.ledger) {
		w, err := newWire(t.b.ledger)
		if err != nil {
			return nil, nil, err
		}
		t.closing = append(t.closing, w.close)
		to, err := t.another(gateOptions{ledger: w.url})
		return to, w.cut, err
	}
	c := newCut()
	if kill {
		server, err := serveHere(c)
		if err != nil {
			return nil, nil, err
		}
		t.closing = append(t.closing, server.Close)
		to, err := t.another(gateOptions{cut: server.Addr})
		return to, c, err
	}
	t.b.closeShared()
	store, err := openStore(t.b.ledger, redisstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	to, err := t.another(gateOptions{store: cutStore{store, c}})
	return to, c, err
}
