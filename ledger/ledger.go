// Package ledger answers "Has it happened?": it remembers effects, and moves them from state to state in single atomic steps.
package ledger

import (
	"context"
	"errors"

	"agentgw"
)

// ErrNotFound: there is no such effect.
var ErrNotFound = errors.New("no such effect")

// ErrStale: the effect has moved on since the version or fence that was named.
var ErrStale = errors.New("the effect has moved on")

// Ledger is the shared logic over a Store. Its methods are safe for concurrent use.
type Ledger struct{ store Store }

// New makes a ledger over a store.
func New(s Store) *Ledger { return &Ledger{store: s} }

// Filter chooses effects for List. Empty members choose all.
type Filter struct {
	Tenant    string
	State     agentgw.State // an open state reads the index; others scan
	Operation string
	Text      string // substring of id, canonical fields or context
	Cursor    string
	Limit     int // 0: 50
}

// List shows effects, newest first within a page; next is "" at the end.
func (l *Ledger) List(ctx context.Context, f Filter) (found []*agentgw.Effect, next string, err error) {
	panic("being written")
}

// Get shows one effect; ErrNotFound.
func (l *Ledger) Get(ctx context.Context, id agentgw.EffectID) (*agentgw.Effect, error) {
	panic("being written")
}

// Resolve settles a doubt by an operator's word. version is the one the operator saw; ErrStale where it is not the record's any more.
// answer may be nil.
func (l *Ledger) Resolve(ctx context.Context, id agentgw.EffectID, version uint64, outcome agentgw.Outcome, answer *agentgw.Answer, who, reason string) (*agentgw.Effect, error) {
	panic("being written")
}

// Void frees a success by an operator's word.
func (l *Ledger) Void(ctx context.Context, id agentgw.EffectID, version uint64, who, reason string) (*agentgw.Effect, error) {
	panic("being written")
}

// Doubts counts effects in doubt, by operation.
func (l *Ledger) Doubts(ctx context.Context) (map[string]int, error) { panic("being written") }

// Health says why guarded calls must not rely on the store now; nil: safe.
func (l *Ledger) Health(ctx context.Context) error { return l.store.Health(ctx) }
