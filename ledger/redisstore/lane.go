package redisstore

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"agentgw/ledger"
)

// lane carries commands to one Redis. While it is idle a caller sends its own commands at once, by itself. While a run is in the air,
// callers wait, and when it lands the next one takes all who wait in one pipeline. So batches are as long as the load makes them, and
// nobody waits for company. A run that takes long (a distant Redis, a large value, a dead connection) does not hold the others up: then
// the next caller starts another one.
//
// No one is forgotten: who waits begins to do so under the lock and while a run is in the air; and whoever lands looks, under the lock,
// for those who wait before it gives its run up.
type lane struct {
	mu      sync.Mutex
	flying  int       // runs in the air
	takeoff time.Time // of the latest run
	waiting []*flight
}

// lanes are those of one primary: claims that wait for replicas hold up no others.
type lanes struct{ plain, replicated lane }

const (
	patience = time.Millisecond // how long a run may take before another one starts
	maxRuns  = 8                // in the air at a time
	maxCount = 256              // flights of one batch
	maxSize  = 1 << 20          // bytes of one batch, but at least one flight
)

// flight is the commands of one caller.
type flight struct {
	cmds     []once
	size     int
	deadline time.Time // of the caller; zero: none
	done     chan struct{}
}

// laneOf is the lane of the primary that a command goes to first. One that hangs holds up its own lanes only.
func (s *Store) laneOf(ctx context.Context, cmds []once) (*lane, error) {
	of := &s.single
	if s.cluster != nil {
		primary, err := s.cluster.MasterForKey(ctx, cmds[0].shard.version)
		if err != nil {
			return nil, err
		}
		l, ok := s.lanes.Load(primary)
		if !ok {
			l, _ = s.lanes.LoadOrStore(primary, &lanes{})
		}
		of = l.(*lanes)
	}
	if replicasOf(cmds) > 0 {
		return &of.replicated, nil
	}
	return &of.plain, nil
}

// carry returns when the commands of f have their answers. An error says that the caller's time was over before.
func (l *lane) carry(ctx context.Context, s *Store, f *flight) error {
	if l.alone() {
		s.run(ctx, f.cmds)
		l.land(s)
		return nil
	}
	f.deadline, _ = ctx.Deadline()
	f.done = make(chan struct{})
	if batch := l.board(f); batch != nil {
		go l.fly(s, batch)
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
	}
	if l.withdraw(f) {
		return fmt.Errorf("ledger %s: %w: %w", s.name, ledger.ErrNotApplied, ctx.Err())
	}
	return fmt.Errorf("ledger %s: the answer did not come in time: %w", s.name, ctx.Err())
}

// alone starts a run for one caller where the lane is idle.
func (l *lane) alone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flying > 0 {
		return false
	}
	l.flying, l.takeoff = 1, time.Now()
	return true
}

// board lets a flight wait, or returns a batch for another run, with the flight in it.
func (l *lane) board(f *flight) []*flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, f)
	if l.flying == 0 || l.flying < maxRuns && time.Since(l.takeoff) > patience {
		l.flying++
		return l.take()
	}
	return nil
}

// withdraw takes back a flight that no run has taken yet.
func (l *lane) withdraw(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == f {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// land ends a caller's own run: it goes on with those who wait, or is given up.
func (l *lane) land(s *Store) {
	if batch := l.next(); batch != nil {
		go l.fly(s, batch)
	}
}

// next takes those who wait. With nobody waiting the run is given up, and next returns nil.
func (l *lane) next() []*flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.flying--
		return nil
	}
	return l.take()
}

// take starts a run with those who wait, up to the size of a batch. The lock is held.
func (l *lane) take() []*flight {
	l.takeoff = time.Now()
	n, size := 0, 0
	for n < len(l.waiting) && n < maxCount && (n == 0 || size+l.waiting[n].size <= maxSize) {
		size += l.waiting[n].size
		n++
	}
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	if len(l.waiting) == 0 {
		l.waiting = nil
	}
	return batch
}

// fly sends a batch, and then those who have come to wait meanwhile.
func (l *lane) fly(s *Store, batch []*flight) {
	for ; batch != nil; batch = l.next() {
		s.sendBatch(batch)
		runtime.Gosched() // whoever is ready to ask something comes along
	}
}

// sendBatch ends when the last of its callers' deadlines does: none of them cuts the others short.
func (s *Store) sendBatch(batch []*flight) {
	ctx, cancel := context.WithCancel(context.Background())
	latest := batch[0].deadline
	count := 0
	for _, f := range batch {
		count += len(f.cmds)
		if f.deadline.IsZero() || (!latest.IsZero() && f.deadline.After(latest)) {
			latest = f.deadline
		}
	}
	if !latest.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, latest)
	}
	defer cancel()

	cmds := make([]once, 0, count)
	for _, f := range batch {
		cmds = append(cmds, f.cmds...)
	}
	s.run(ctx, cmds)
	for _, f := range batch {
		n := len(f.cmds)
		// A caller whose time is over does not look at its commands any more.
		copy(f.cmds, cmds[:n])
		cmds = cmds[n:]
		close(f.done)
	}
}
