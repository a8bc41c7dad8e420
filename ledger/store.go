package ledger

import (
	"context"
	"time"

	"agentgw"
)

// Store is a dumb driver: compare-and-swap over a few records of one partition, an index of open records, a clock, and expiry. All
// rules live in Ledger. Every implementation passes storetest.
type Store interface {
	// Swap applies each swap atomically and independently of the others, all in one round trip. It returns one reply a swap, in order.
	// A reply's Err says that it is not known whether that swap was applied; the returned error says that of all of them.
	// Sending a swap with the same stamp again is safe: one that finds its own stamp reports Applied.
	Swap(ctx context.Context, swaps ...Swap) ([]Reply, error)

	// Open lists addresses of open records, in no order, from cursor on ("" to begin); next is "" at the end.
	Open(ctx context.Context, cursor string, limit int) (found []Address, next string, err error)

	// Scan lists all records whose names begin with "e" (effects), in no order, each at least once. next is "" at the end.
	Scan(ctx context.Context, cursor string, limit int) (found []Stored, next string, err error)

	// Health says why guarded calls must not rely on this store now (unreachable, may evict, read only), with the remedy; nil: safe.
	Health(ctx context.Context) error

	Close() error
}

// Swap is one atomic step in one partition: every Change is applied if every record has the version its change wants, else none is.
type Swap struct {
	Partition agentgw.Partition
	Stamp     uint64 // random, not zero where something is written: names this attempt to write
	Changes   []Change
}

// Change is what a swap wants of one record.
type Change struct {
	Name  string        // record name within the partition, without spaces, braces or colons
	Look  bool          // only return the record: neither compared nor written
	Want  uint64        // version it must have; 0: it must be absent
	Value []byte        // new value, opaque bytes; nil deletes the record (and checks Want all the same)
	Keep  time.Duration // how long it is kept from this write on, by the store's clock; 0: for ever
	Open  bool          // after this write the record is in the index of open records; without it, it is not
}

// Reply is what a swap found.
type Reply struct {
	Applied bool
	Now     time.Time // the store's clock, microseconds, UTC
	Version uint64    // given to every record this swap wrote; greater than any version the store gave before
	Records []Record  // one a change, in order: as they are after the swap
	Err     error
}

// Record is one stored record; Version 0 where it is absent.
type Record struct {
	Name    string
	Version uint64
	At      time.Time // when this version was written, by the store's clock
	Value   []byte    // belongs to the caller
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
