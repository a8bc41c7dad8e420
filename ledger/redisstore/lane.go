package redisstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agentgw/ledger"
)

// lane carries commands to one Redis. While it is idle a caller sends its own commands at once, by itself. While all its runs are in the
// air, callers wait, and the next run that lands takes all who wait in one pipeline. So batches are as long as the load makes them,
// and nobody waits for company.
//
// No one is forgotten: who finds a run free takes it; who waits does so under the lock and while every run is in the air; and whoever
// lands looks, under the lock, for those who wait before it gives its run back.
type lane struct {
	mu      sync.Mutex
	flying  int
	waiting []*flight
}

const (
	runs     = 2       // at a time
	maxCount = 256     // flights of one batch
	maxSize  = 1 << 20 // bytes of one batch, but at least one flight
)

// flight is the commands of one caller.
type flight struct {
	cmds     []once
	size     int
	deadline time.Time // of the caller; zero: none
	done     chan struct{}
}

// laneOf is the lane of the primary that a swap goes to. One that hangs holds up its own lane only.
func (s *Store) laneOf(ctx context.Context, sw *ledger.Swap) (*lane, error) {
	if s.cluster == nil {
		return &s.single, nil
	}
	primary, err := s.cluster.MasterForKey(ctx, s.shard(sw.Partition).version)
	if err != nil {
		return nil, err
	}
	l, ok := s.lanes.Load(primary)
	if !ok {
		l, _ = s.lanes.LoadOrStore(primary, &lane{})
	}
	return l.(*lane), nil
}

// carry returns when the commands of f have their answers. An error says that the caller's time was over before.
func (l *lane) carry(ctx context.Context, s *Store, f *flight) error {
	l.mu.Lock()
	if l.flying < runs {
		l.flying++
		l.mu.Unlock()
		defer l.land(s)
		s.run(ctx, f.cmds)
		return nil
	}
	f.deadline, _ = ctx.Deadline()
	f.done = make(chan struct{})
	l.waiting = append(l.waiting, f)
	l.mu.Unlock()

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

// land ends a run: it is given to those who wait, or given back.
func (l *lane) land(s *Store) {
	if batch := l.next(); batch != nil {
		go func() {
			for ; batch != nil; batch = l.next() {
				fly(s, batch)
			}
		}()
	}
}

// next takes those who wait, up to the size of a batch. With nobody waiting the run is given back, and next returns nil.
func (l *lane) next() []*flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.flying--
		return nil
	}
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

// fly sends a batch. It ends when the last of its callers' deadlines does: none of them cuts the others short.
func fly(s *Store, batch []*flight) {
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
