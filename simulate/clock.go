package simulate

import (
	"container/heap"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"agentgw/gateway"
)

// timeline is virtual time: a queue of events, and processes (goroutines) of which exactly one runs at a time. When it sleeps or ends,
// the next event is taken, and its time is the time. So a case of ten years takes milliseconds and runs alike every time.
type timeline struct {
	now    time.Time
	queue  queue
	pushed int
	parked chan struct{} // the running process sleeps or has ended
}

// dawn is when every case begins.
var dawn = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newTimeline() *timeline { return &timeline{now: dawn, parked: make(chan struct{})} }

// Classes of events: what was begun before goes on before the test's next step of the same moment.
const (
	classProcess = iota
	classStep
)

// event is a process that begins or goes on at a moment.
type event struct {
	at     time.Time
	class  int
	number int // order of pushing
	place  int // in the queue; -1: not there
	of     *life
	ctx    context.Context // of a sleeper: it wakes when that ends; nil for what begins
	run    func()
}

// push files an event. run must begin or wake a process, which in turn yields to the timeline.
func (t *timeline) push(at time.Time, class int, of *life, run func()) *event {
	e := &event{at: at, class: class, number: t.pushed, of: of, run: run}
	t.pushed++
	heap.Push(&t.queue, e)
	return e
}

// begin files a process that begins at a moment.
func (t *timeline) begin(at time.Time, class int, of *life, f func()) *event {
	return t.push(at, class, of, func() {
		go func() {
			f()
			t.parked <- struct{}{}
		}()
	})
}

// sleep parks the running process until at, or until ctx ends.
func (t *timeline) sleep(ctx context.Context, at time.Time, of *life) {
	wake := make(chan struct{})
	t.push(at, classProcess, of, func() { close(wake) }).ctx = ctx
	t.parked <- struct{}{}
	<-wake
}

// drop takes an event out of the queue, where it is still in it.
func (t *timeline) drop(e *event) {
	if e.place >= 0 {
		heap.Remove(&t.queue, e.place)
	}
}

// play runs events until done says so, or none is left.
func (t *timeline) play(done func() bool) {
	for len(t.queue) > 0 && !done() {
		e := heap.Pop(&t.queue).(*event)
		if e.of != nil && e.of.frozen {
			e.of.held = append(e.of.held, e)
			continue
		}
		if e.at.After(t.now) {
			t.now = e.at
		}
		e.run()
		<-t.parked
		t.rouse(func(e *event) bool { return e.ctx != nil && e.ctx.Err() != nil })
	}
}

// rouse lets sleepers wake now instead of later.
func (t *timeline) rouse(who func(*event) bool) {
	for _, e := range append(queue(nil), t.queue...) {
		if e.at.After(t.now) && who(e) {
			e.at = t.now
			heap.Fix(&t.queue, e.place)
		}
	}
}

// thaw lets a frozen gateway go on with all that came due meanwhile.
func (t *timeline) thaw(l *life) {
	l.frozen = false
	for _, e := range l.held {
		heap.Push(&t.queue, e)
	}
	l.held = nil
}

// bury ends what a dead gateway was about: its timers are gone, its sleepers wake and find that they are dead.
func (t *timeline) bury(l *life) {
	t.thaw(l)
	for _, e := range append(queue(nil), t.queue...) {
		if e.of == l && e.ctx == nil {
			t.drop(e)
		}
	}
	t.rouse(func(e *event) bool { return e.of == l })
}

// life is one gateway process, from its start to its death.
type life struct {
	*gateway.Gateway
	frozen bool
	held   []*event    // what came due while frozen
	broken atomic.Bool // its connection broke: the next reply of the ledger is lost
	dead   atomic.Bool // timers of real time look at it too
}

var errDead = errors.New("this gateway is dead")

// virtual is a gateway's clock on the timeline.
type virtual struct {
	*timeline
	life *life
}

func (c virtual) Now() time.Time { return c.now }

func (c virtual) Sleep(ctx context.Context, d time.Duration) error {
	if c.life.dead.Load() {
		return errDead
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.sleep(ctx, c.now.Add(d), c.life)
	if c.life.dead.Load() {
		return errDead
	}
	return ctx.Err()
}

func (c virtual) AfterFunc(d time.Duration, f func()) func() {
	if c.life.dead.Load() {
		return func() {}
	}
	e := c.begin(c.now.Add(d), classProcess, c.life, f)
	return func() { c.drop(e) }
}

func (c virtual) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	at := c.now.Add(d)
	e := c.begin(at, classProcess, c.life, func() { cancel(context.DeadlineExceeded) })
	return deadline{inner, at}, func() {
		c.drop(e)
		cancel(context.Canceled)
	}
}

// deadline is a context that ends at a moment of the timeline.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

func (d deadline) Err() error {
	if err := d.Context.Err(); err == nil || context.Cause(d.Context) != context.DeadlineExceeded {
		return err
	}
	return context.DeadlineExceeded
}

// real is a gateway's clock in real time. What it starts ends with the gateway.
type real struct{ life *life }

func (c real) Now() time.Time { return time.Now() }

func (c real) Sleep(ctx context.Context, d time.Duration) error {
	if c.life.dead.Load() {
		return errDead
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c real) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, func() {
		if !c.life.dead.Load() {
			f()
		}
	})
	return func() { t.Stop() }
}

func (c real) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// queue is a heap of events by moment, class and order of pushing.
type queue []*event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch {
	case !a.at.Equal(b.at):
		return a.at.Before(b.at)
	case a.class != b.class:
		return a.class < b.class
	}
	return a.number < b.number
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(x any) {
	e := x.(*event)
	e.place = len(*q)
	*q = append(*q, e)
}

func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	e.place = -1
	return e
}
