package filestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"go.etcd.io/bbolt"

	"agentgw/ledger"
)

// request is one call of Swap on its way through the committer.
type request struct {
	swaps   []ledger.Swap
	replies []ledger.Reply
	err     error
	done    chan struct{} // closed when replies or err are set
}

// maxBatch bounds the calls that share a commit, so that none waits for ever longer ones.
const maxBatch = 1024

// Swap hands the swaps to the committer and returns when their commit is on the disk.
func (s *Store) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	for i := range swaps {
		if err := swaps[i].CheckAlone(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ledger.ErrNotApplied, err)
	}
	r := &request{swaps: swaps, done: make(chan struct{})}
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.queue = append(s.queue, r)
	s.mu.Unlock()
	s.nudge()

	select {
	case <-r.done:
		return r.replies, r.err
	case <-ctx.Done():
	}
	if s.withdraw(r) {
		return nil, fmt.Errorf("ledger %s: %w: %w", s.path, ledger.ErrNotApplied, ctx.Err())
	}
	return nil, fmt.Errorf("ledger %s: the write was not finished in time: %w", s.path, ctx.Err())
}

// withdraw takes a request out of the queue, unless the committer has it already.
func (s *Store) withdraw(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, q := range s.queue {
		if q == r {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			return true
		}
	}
	return false
}

// nudge tells the committer to look at the queue. A token is left whenever the queue may have grown since it looked last.
func (s *Store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Store) commitLoop() {
	defer close(s.done)
	for range s.wake {
		for {
			batch, closed := s.take()
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
			err := s.commit(batch)
			for _, r := range batch {
				if r.err = err; err != nil {
					r.replies = nil
				}
				close(r.done)
			}
		}
	}
}

// take empties the queue, up to maxBatch.
func (s *Store) take() (batch []*request, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), maxBatch)
	batch = s.queue[:n:n]
	s.queue = s.queue[n:]
	return batch, s.closed
}

// commit makes the swaps of a batch in one transaction and fills in their replies. An error holds for all of them.
func (s *Store) commit(batch []*request) error {
	if s.failed != nil { // set by this goroutine only
		return s.usable()
	}
	committing := false
	err := guard(func() error {
		tx, err := s.db.Begin(true)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after Commit it does nothing
		w := writer{tx: tx, now: s.tick(), version: s.version}
		for _, r := range batch {
			r.replies = make([]ledger.Reply, len(r.swaps))
			for i := range r.swaps {
				if r.replies[i], err = w.swap(&r.swaps[i]); err != nil {
					return err
				}
			}
		}
		if w.writes == 0 {
			return nil // nothing to keep: no fsync
		}
		if err := w.finish(); err != nil {
			return err
		}
		committing = true
		s.version = w.version // whatever becomes of the commit: a version is given once
		return tx.Commit()
	})
	switch {
	case err == nil:
		return nil
	case !committing && !errors.Is(err, errDamaged):
		return fmt.Errorf("%w: %w", explain(s.path, err), ledger.ErrNotApplied)
	}
	// A full disk refuses before the page that makes a commit valid. After any other failure, of an fsync above all, nobody knows what
	// the disk holds: stop here, a restart reads it again.
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
	}
	return explain(s.path, fmt.Errorf("writing: %w", err))
}

// finish files what the transaction as a whole must leave behind, and takes away some of what has expired.
func (w *writer) finish() error {
	if err := w.sweep(64 + 4*w.writes); err != nil {
		return err
	}
	meta := w.tx.Bucket(bucketMeta)
	if err := meta.Put(keyVersion, binary.BigEndian.AppendUint64(nil, w.version)); err != nil {
		return err
	}
	return meta.Put(keyClock, binary.BigEndian.AppendUint64(nil, uint64(w.now)))
}

// sweep removes up to limit records whose time is over, the oldest first.
func (w *writer) sweep(limit int) error {
	var due [][]byte
	c := w.tx.Bucket(bucketExpiry).Cursor()
	for k, _ := c.First(); k != nil && len(due) < limit && int64(number(k[:8])) <= w.now; k, _ = c.Next() {
		due = append(due, slices.Clone(k))
	}
	for _, k := range due {
		if err := w.tx.Bucket(bucketExpiry).Delete(k); err != nil {
			return err
		}
		if err := w.remove(k[8:]); err != nil {
			return err
		}
	}
	return nil
}

// writer makes swaps in one transaction.
type writer struct {
	tx      *bbolt.Tx
	now     int64
	version uint64 // the last one given
	writes  int
}
