// Package memstore keeps a ledger in memory: for tests, simulations and first steps. It forgets everything when the process ends.
package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"agentgw/ledger"
)

// Options of a store; the zero value works.
type Options struct {
	Now      func() time.Time // the store's clock; nil: time.Now
	Replicas bool             // claims that a replica must have are taken as if there were one: for simulations; else they are refused
}

// Store is a ledger.Store in memory. Its methods are safe for concurrent use.
type Store struct {
	now   func() time.Time
	check func(*ledger.Swap) error

	mu      sync.Mutex
	closed  bool
	clock   int64  // microseconds; never goes back
	version uint64 // the last one given
	records map[ledger.Address]*entry
	open    map[ledger.Address]*entry
	born    []*entry // all entries by the version of their birth, for Scan; dead ones leave when they outnumber the living
	dead    int
	expiry  deadlines
}

// entry is one record. It keeps its place in born for as long as the record is there, whatever is written to it.
type entry struct {
	ledger.Address
	born    uint64
	version uint64
	stamp   uint64
	at      int64
	expires int64 // 0: never
	place   int   // in expiry; -1: not there
	dead    bool
	value   []byte
}

// New makes an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	check := (*ledger.Swap).CheckAlone
	if o.Replicas {
		check = (*ledger.Swap).Check
	}
	return &Store{now: o.Now, check: check, records: map[ledger.Address]*entry{}, open: map[ledger.Address]*entry{}}
}

// Health is always well while the store is open.
func (s *Store) Health(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable()
}

// Close makes every later call fail.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *Store) usable() error {
	if s.closed {
		return fmt.Errorf("the memory ledger is closed: %w", ledger.ErrNotApplied)
	}
	return nil
}

// Swap applies each swap under one lock.
func (s *Store) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	for i := range swaps {
		if err := s.check(&swaps[i]); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ledger.ErrNotApplied, err)
	}
	now := s.tick()
	replies := make([]ledger.Reply, len(swaps))
	for i := range swaps {
		s.sweep(now)
		replies[i] = s.swap(&swaps[i], now)
	}
	return replies, nil
}

func (s *Store) swap(sw *ledger.Swap, now int64) ledger.Reply {
	found := make([]ledger.Stamped, len(sw.Changes))
	for i := range sw.Changes {
		if e := s.find(ledger.Address{Partition: sw.Partition, Name: sw.Changes[i].Name}, now); e != nil {
			found[i] = ledger.Stamped{Version: e.version, Stamp: e.stamp}
		}
	}
	apply, before := sw.Fits(found)
	reply := ledger.Reply{Applied: apply || before != 0, Now: moment(now), Version: before, Records: make([]ledger.Record, len(sw.Changes))}
	if apply && slices.ContainsFunc(sw.Changes, func(c ledger.Change) bool { return !c.Look && c.Value != nil }) {
		s.version = max(s.version+1, uint64(now))
		reply.Version = s.version
	}
	for i := range sw.Changes {
		c := &sw.Changes[i]
		at := ledger.Address{Partition: sw.Partition, Name: c.Name}
		if apply && !c.Look {
			s.write(at, c, sw.Stamp, now)
		}
		reply.Records[i] = ledger.Record{Name: c.Name}
		if e := s.find(at, now); e != nil {
			reply.Records[i] = e.record()
		}
	}
	return reply
}

func (s *Store) write(at ledger.Address, c *ledger.Change, stamp uint64, now int64) {
	e := s.find(at, now)
	if c.Value == nil {
		if e != nil {
			s.remove(e)
		}
		return
	}
	if e == nil {
		e = &entry{Address: at, born: s.version, place: -1}
		s.records[at] = e
		s.born = append(s.born, e)
	}
	e.version, e.stamp, e.at, e.value = s.version, stamp, now, slices.Clone(c.Value)
	e.expires = 0
	if c.Keep > 0 {
		e.expires = now + max(c.Keep.Microseconds(), 1)
	}
	s.expiry.put(e)
	if c.Open {
		s.open[at] = e
	} else {
		delete(s.open, at)
	}
}

// find returns the record at an address; one whose time is over is taken away.
func (s *Store) find(at ledger.Address, now int64) *entry {
	e := s.records[at]
	if e != nil && e.expired(now) {
		s.remove(e)
		return nil
	}
	return e
}

func (s *Store) remove(e *entry) {
	delete(s.records, e.Address)
	delete(s.open, e.Address)
	e.expires = 0
	s.expiry.put(e)
	e.dead, e.value = true, nil
	if s.dead++; s.dead > 64 && s.dead > len(s.born)/2 {
		s.born = slices.DeleteFunc(s.born, func(e *entry) bool { return e.dead })
		s.dead = 0
	}
}

// sweep takes away a few records whose time is over, so that memory follows what is remembered without ever stopping for it.
func (s *Store) sweep(now int64) {
	for range 4 {
		if len(s.expiry) == 0 || !s.expiry[0].expired(now) {
			return
		}
		s.remove(s.expiry[0])
	}
}

// tick reads the clock, which never goes back.
func (s *Store) tick() int64 {
	s.clock = max(s.clock, s.now().UnixMicro())
	return s.clock
}

func (e *entry) expired(now int64) bool { return e.expires != 0 && e.expires <= now }

func (e *entry) record() ledger.Record {
	return ledger.Record{Name: e.Name, Version: e.version, At: moment(e.at), Value: slices.Clone(e.value)}
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Open pages through the open records by address.
func (s *Store) Open(ctx context.Context, cursor string, limit int) (found []ledger.Address, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, "", err
	}
	now := s.tick()
	for at, e := range s.open {
		if !e.expired(now) && key(at) > cursor {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, func(a, b ledger.Address) int { return cmp.Compare(key(a), key(b)) })
	if limit = pageSize(limit); len(found) > limit {
		found = found[:limit]
		next = key(found[limit-1])
	}
	return found, next, ctx.Err()
}

// Scan pages through the effects in the order in which their records were born.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (found []ledger.Stored, next string, err error) {
	after := uint64(0)
	if cursor != "" {
		if after, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, "", fmt.Errorf("cursor %q is not one that a scan of this ledger returned", cursor)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, "", err
	}
	now := s.tick()
	limit = pageSize(limit)
	from, _ := slices.BinarySearchFunc(s.born, after+1, func(e *entry, born uint64) int { return cmp.Compare(e.born, born) })
	for i, e := range s.born[from:] {
		// Records of one swap are born together: a page ends between births only.
		if len(found) >= limit && s.born[from+i-1].born != e.born {
			return found, strconv.FormatUint(s.born[from+i-1].born, 10), ctx.Err()
		}
		if !e.dead && !e.expired(now) && e.Name[0] == 'e' {
			found = append(found, ledger.Stored{Address: e.Address, Record: e.record()})
		}
	}
	return found, "", ctx.Err()
}

func pageSize(limit int) int {
	if limit < 1 {
		return 100
	}
	return limit
}

func key(at ledger.Address) string { return string(at.Partition) + ":" + at.Name }

var _ ledger.Store = (*Store)(nil)
