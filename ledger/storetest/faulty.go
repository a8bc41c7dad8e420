package storetest

import (
	"context"
	"sync/atomic"

	"agentgw/ledger"
)

// Faulty is a store that fails on demand. Each function gets the number of the call of Swap, from 1 on, and may block; nil: no fault.
type Faulty struct {
	ledger.Store

	Before func(call int) error // an error: the store is not reached. Wrap ledger.ErrNotApplied in it where the caller would know.
	After  func(call int) error // an error: the store has done its work, the answer is lost
	Sick   func() error         // what Health says instead of the store

	calls atomic.Int64
}

// Swap passes a call on, unless it is to fail.
func (f *Faulty) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	call := int(f.calls.Add(1))
	if f.Before != nil {
		if err := f.Before(call); err != nil {
			return nil, err
		}
	}
	replies, err := f.Store.Swap(ctx, swaps...)
	if f.After != nil && err == nil {
		if lost := f.After(call); lost != nil {
			return nil, lost
		}
	}
	return replies, err
}

// Calls is how often Swap was called.
func (f *Faulty) Calls() int { return int(f.calls.Load()) }

// Health is the store's, unless it is to be sick.
func (f *Faulty) Health(ctx context.Context) error {
	if f.Sick != nil {
		if err := f.Sick(); err != nil {
			return err
		}
	}
	return f.Store.Health(ctx)
}
