package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentgw"
)

// ErrNotApplied marks an error of a store that refused, or could not be reached, before anything was applied: what the swap would have
// written is known not to be there. Any other error leaves that open.
var ErrNotApplied = errors.New("nothing was written to the ledger")

// ErrUnreplicated marks an error of a store that wrote a claim which then did not reach as many replicas as it has to.
var ErrUnreplicated = errors.New("the ledger's replicas do not have it")

// Store is a dumb driver: compare-and-swap over a few records of one partition, an index of open records, a clock, and expiry. All
// rules live in Ledger. Every implementation passes storetest.
type Store interface {
	// Swap applies each swap atomically and independently of the others, all in one round trip. It returns one reply a swap, in order.
	// A reply's Err says that it is not known whether that swap was applied; the returned error says that of all of them. Where it
	// is known that nothing was applied, the error wraps ErrNotApplied.
	// Sending a swap with the same stamp again is safe: one that finds its own stamp on every record it would have written reports
	// Applied, with the version it found. A swap that only deletes leaves no stamp: sent again, it finds the records absent.
	// Values of changes are the store's to read from then on, even when ctx was over first. Nothing is sent twice by the store itself. Swaps of one call may name the same records; they then happen in order.
	Swap(ctx context.Context, swaps ...Swap) ([]Reply, error)

	// Open lists addresses of open records, in no order, from cursor on ("" to begin); next is "" at the end. The limit is a wish (below 1:
	// 100): a page may hold some more, or none though next is not "". What is open from first page to last is found, perhaps twice.
	Open(ctx context.Context, cursor string, limit int) (found []Address, next string, err error)

	// Scan lists all records whose names begin with "e" (effects), in no order. next is "" at the end. Limit and pages are as in Open:
	// what is there from first page to last is found, perhaps twice.
	Scan(ctx context.Context, cursor string, limit int) (found []Stored, next string, err error)

	// Health says why guarded calls must not rely on this store now (unreachable, may evict, read only), with the remedy; nil: safe.
	Health(ctx context.Context) error

	Close() error
}

// Swap is one atomic step in one partition: every Change is applied if every record has the version its change wants, else none is.
type Swap struct {
	Partition agentgw.Partition
	Stamp     uint64 // random, not zero where something is written: names this attempt to write, and never another
	// Claim: what follows is sent on the strength of this swap. A store that may have forgotten what was there before refuses it, and one
	// whose records have to be replicated says that it was applied when the replicas have it, else ErrUnreplicated.
	Claim      bool
	Replicated bool // a claim that a replica must have, also where the store asks for none; a store without replicas refuses it
	Changes    []Change
}

// Check says what is wrong with a swap; stores refuse such a one, with ErrNotApplied.
func (s *Swap) Check() error {
	if !plain(string(s.Partition)) {
		return fmt.Errorf("swap: partition %q must be a word of at most 200 characters without spaces, braces or colons: %w", s.Partition, ErrNotApplied)
	}
	for i, c := range s.Changes {
		if !plain(c.Name) {
			return fmt.Errorf("swap in %s: record name %q must be a word of at most 200 characters without spaces, braces or colons: %w", s.Partition, c.Name, ErrNotApplied)
		}
		if !c.Look && s.Stamp == 0 {
			return fmt.Errorf("swap in %s: writes %s without a stamp: %w", s.Partition, c.Name, ErrNotApplied)
		}
		for _, other := range s.Changes[:i] {
			if other.Name == c.Name {
				return fmt.Errorf("swap in %s: record %s is named twice: %w", s.Partition, c.Name, ErrNotApplied)
			}
		}
	}
	return nil
}

// CheckAlone is Check for a store that has no replicas.
func (s *Swap) CheckAlone() error {
	if s.Claim && s.Replicated {
		return fmt.Errorf("a replica must have this claim, and this ledger has none: choose a Redis with a replica, or ask for less (durability: local): %w", ErrNotApplied)
	}
	return s.Check()
}

// plain reports whether name is short printable ASCII without the characters that stores use between names.
func plain(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ', c >= 0x7f, c == '{', c == '}', c == ':':
			return false
		}
	}
	return name != "" && len(name) <= 200
}

// Stamped is a record as a store holds it: with the stamp of the swap that wrote it. Version 0: absent or expired.
type Stamped struct {
	Version uint64
	Stamp   uint64
}

// Fits is the rule of a swap, for stores written in Go (swap.lua says the same): found holds one a change. Where apply is true the
// changes are to be made; else, where version is not 0, they were made before, at that version; else they may not be made.
func (s *Swap) Fits(found []Stamped) (apply bool, version uint64) {
	apply = true
	mine := true
	for i, c := range s.Changes {
		if c.Look {
			continue
		}
		apply = apply && found[i].Version == c.Want
		if c.Value != nil {
			mine = mine && found[i].Version != 0 && found[i].Stamp == s.Stamp
			version = found[i].Version
		}
	}
	if apply || !mine {
		return apply, 0
	}
	return false, version
}

// Change is what a swap wants of one record.
type Change struct {
	Name  string        // record name within the partition: unique in the swap; printable ASCII without spaces, braces and colons
	Look  bool          // only return the record: neither compared nor written
	Want  uint64        // version it must have; 0: it must be absent (or expired)
	Value []byte        // new value, opaque bytes; nil deletes the record (and checks Want all the same)
	Keep  time.Duration // how long it is kept from this write on, by the store's clock, in milliseconds; 0: for ever
	Open  bool          // after this write the record is in the index of open records; without it, it is not
}

// Reply is what a swap found.
type Reply struct {
	Applied bool
	Now     time.Time // the store's clock, microseconds, UTC
	Version uint64    // given to every record this swap wrote; greater than any the store gave in this partition before; 0: wrote none
	Records []Record  // one a change, in order: as they are after the swap
	Err     error
}

// Record is one stored record; Version 0 where it is absent.
type Record struct {
	Name    string
	Version uint64
	At      time.Time // when this version was written, by the store's clock
	Value   []byte    // belongs to the caller; of a record just written, perhaps the very slice of the change
}

// Address is where a record lives.
type Address struct {
	Partition agentgw.Partition
	Name      string
}

// Stored is a record with its address.
type Stored struct {
	Address
	Record Record
}
