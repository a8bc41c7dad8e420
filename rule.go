package agentgw

import "time"

// Pattern is one of the four patterns of idempotency, or one of the two ways not to guard a call.
type Pattern string

const (
	Once       Pattern = "once"       // a key checked against the ledger
	Transition Pattern = "transition" // the state of a business object is part of the condition
	Overwrite  Pattern = "overwrite"  // repeats harmlessly; only `newer` and `lock` are checked
	Read       Pattern = "read"
	Unguarded  Pattern = "unguarded"
)

// Words of a policy. The first of each list is the default.
const (
	ScopeTenant    = "tenant"
	ScopePrincipal = "principal"
	ScopeTask      = "task"

	RepeatToken    = "token"
	RepeatOffer    = "offer"
	RepeatNever    = "never"
	RepeatApproval = "approval"
	RepeatNewKey   = "new_key"

	KeyCheck  = "check"
	KeyUse    = "use"
	KeyIgnore = "ignore"

	MissingReject = "reject"
	MissingPass   = "pass"

	DoubtBlock = "block"
	DoubtProbe = "probe"
	DoubtRetry = "retry"

	DurabilityLocal      = "local"
	DurabilityReplicated = "replicated"

	KeepAnswer  = "answer"
	KeepNothing = "nothing"
)

// Rule is the part of a policy's operation that decides about effects: plain data, every duration already resolved to its default.
type Rule struct {
	Name            string // operation name, "invoice.issue"
	Pattern         Pattern
	TTL             time.Duration // how long a success answers duplicates, from its settling
	Sliding         bool          // a replay starts TTL again
	Tombstone       time.Duration // after TTL: how long duplicates are told `expired`; 0: not at all
	Lease           time.Duration
	Wait            time.Duration // how long a duplicate waits for a running attempt
	Repeat          string
	IdempotencyKey  string
	Missing         string
	OnIndeterminate string
	Scope           string
	Attempts        *Budget // sends of one effect
	Limit           *Budget // effects of the operation
	Keep            string
	Durability      string        // replicated: a replica has the claim before anything is sent; local: as the ledger has it of all claims
	Judge           bool          // a model may answer `similar` for the caller
	Timeout         time.Duration // 0: the upstream's
	MaxAnswer       int64         // bytes

	From    []string // transition: states it may start from; nil with FromAny
	FromAny bool
	To      string
	Initial string // the entity's state before the first transition
}

// Budget allows Count events in any window of Per.
type Budget struct {
	Count int
	Per   time.Duration
}
