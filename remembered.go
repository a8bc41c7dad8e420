package agentgw

import "time"

// Remembered is all that a judgement sees of the ledger. What is nil is not there.
type Remembered struct {
	Now      time.Time // the store's clock
	Own      *Effect   // the operation's own record
	Bound    *Binding  // what the caller's key is bound to, while that is unfinished or retained
	Entity   *Entity
	Holder   *Effect     // who holds the entity or the lock, where that is another effect
	Held     string      // what Holder holds, for people: "order A-1042"
	Similar  []Candidate // earlier effects worded alike, the closest first
	Spent    *time.Time  // the operation's budget is spent until then
	Elements []*Effect   // `each`: what is remembered of every element, nil where nothing stands
	Token    *Token      // a repeat token that was read and is bound to this principal and these arguments
	State    *string     // the entity's state as a tool tells it; nil: the ledger's own
}

// Binding is what a caller's key is bound to: one ordinal of one effect.
type Binding struct {
	ID      EffectID
	Base    uint64
	Ordinal int
	Fields  []string // another effect: what differs from this call
}

// Token is what a repeat token says: once more, after this ordinal of the effect.
type Token struct {
	ID      EffectID
	Base    uint64
	Ordinal int       // 0: the caller was asked about likeness, and means another effect
	Expires time.Time // by the store's clock
}

// Way says how an executed call claims its effect.
type Way uint8

const (
	Fresh Way = iota // nothing stands: the first ordinal
	Retry            // a doubt, tried again under the same upstream key
	Again            // over a recorded success, which comes back if this fails
)

// Judgement is what policy says of a call and what the ledger remembers. Verdict Executed means: claim it, by Way.
type Judgement struct {
	Verdict    Verdict
	Reason     string
	Detail     string
	Fields     []string
	Way        Way
	Repeat     bool // Again by a token or a fresh caller key
	Candidates []Candidate
	Ordinal    int  // Replayed: the ordinal whose answer it is; 0: the record's own
	Lapse      bool // Own's lease has run out: that is written before it is told
	RetryAfter time.Duration
	Holder     *Effect // InFlight or InDoubt for another's sake: who
}
