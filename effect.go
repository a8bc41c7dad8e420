package agentgw

import "time"

// State is where an effect stands.
type State string

const (
	StateFree          State = ""              // no record
	StateClaimed       State = "claimed"       // nothing sent; only claims over several partitions pass through
	StateInFlight      State = "in_flight"     // may have been sent
	StateSucceeded     State = "succeeded"     // done, answers duplicates
	StateFailed        State = "failed"        // free again, known to have had no effect
	StateIndeterminate State = "indeterminate" // in doubt
	StateVoided        State = "voided"        // free again, an operator said so
	StateHeld          State = "held"
	StateApproved      State = "approved"
	StateDenied        State = "denied"
)

// Free reports whether an effect in this state may be claimed anew.
func (s State) Free() bool { return s == StateFree || s == StateFailed || s == StateVoided }

// Open reports whether someone still has to do something about an effect in this state.
func (s State) Open() bool {
	return s == StateClaimed || s == StateInFlight || s == StateIndeterminate || s == StateHeld || s == StateApproved
}

// Effect is what the ledger remembers of one intended business operation.
type Effect struct {
	ID        EffectID
	Operation string
	Tenant    string
	Principal string // who made the latest attempt
	Context   Context
	Digest    Digest

	State   State
	Version uint64    // of the record; never reused, even after deletion
	Updated time.Time // when this version was written, by the store's clock
	Now     time.Time // the store's clock when the record was read

	Fence      uint64 // of the latest claim: the version at which it was made
	Claim      uint64 // random name of the latest claim; records elsewhere that name it are its own
	Generation uint64 // the fence of the first claim since the last failure, void or repeat: what the upstream's key is made of
	Ordinal    int    // 1 for the first success, 2 for its first deliberate repeat, …
	Base       uint64 // Claim of ordinal 1; tokens and bindings name Base and Ordinal
	Repeat     bool   // this ordinal was asked for by a token or a fresh caller key
	Attempt    int    // sends so far
	Sends      []time.Time

	FirstSeen time.Time
	Claimed   time.Time // when the latest claim was made
	Settled   time.Time
	Lease     time.Duration
	Expires   time.Time // end of retention of a success; zero while it is not one
	Gone      time.Time // end of its tombstone; equal to Expires without one

	Fields    []Field // must_match and key values in canonical form; empty once freed
	Arguments []byte
	Answer    *Answer
	Why       string // why it is as it is: "connection reset after 5 s", "resolved by ops: found in the bank's list"
	Evidence  []string

	Newer   string // overwrite: the newest value done or in doubt
	Pending string // overwrite: the value under way
	Holds   []Hold // records in other partitions that name this effect and its claim
	Entity  Partition
	Move    uint64 // transition: the number of its success among the entity's
	Nonce   string
	Batch   EffectID // the batch whose element this is
	NearTo  *Near    // why it was not a duplicate of the nearest earlier effect
	TTL     time.Duration
	Sliding bool
	Tomb    time.Duration
	Keep    string
	Linger  time.Duration // how long a failed record is kept
	Apart   bool          // the answer stands in a record of its own, with the shorter life
	To      string        // transition: the state its success moves the entity to
	Prior   bool          // an earlier success stands behind this repeat and comes back if it fails
	Doubted bool          // an earlier attempt under the same upstream key is in doubt: that this one fails settles nothing
}

// Stands reports whether an effect answers calls of its identity at time now of the store's clock: it is not free, nor a success whose
// retention, tombstone included, is over. No effect does not stand.
func (e *Effect) Stands(now time.Time) bool {
	return e != nil && !e.State.Free() && (e.State != StateSucceeded || now.Before(e.Gone))
}

// Hold names a record that an effect's attempt holds elsewhere.
type Hold struct {
	Kind      byte // PartitionLock, PartitionCallerKey, PartitionLimit, PartitionNewer
	Partition Partition
	Of        string // words for people
}

// Near says which earlier effect came closest and what differed.
type Near struct {
	ID     EffectID
	Fields []string
}

// Lapsed reports whether the lease of a claim has run out at time now of the store's clock. The element of a batch has none of its own.
func (e *Effect) Lapsed(now time.Time) bool {
	return (e.State == StateInFlight || e.State == StateClaimed) && e.Batch.IsZero() && e.Lease > 0 && now.After(e.Updated.Add(e.Lease))
}

// Entity is a business object whose state the ledger follows.
type Entity struct {
	State   string // "" before the first transition
	Version uint64
	Moves   uint64 // successes so far
	By      EffectID
	ByWhom  string
	At      time.Time
	Holder  EffectID // the transition under way; zero where none is
	Fence   uint64   // of the holder
}
