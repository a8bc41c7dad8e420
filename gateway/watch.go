package gateway

import (
	"context"
	"time"
)

// CheckHealth asks the store whether it may be relied on; until it says so again, guarded calls are unavailable.
func (g *Gateway) CheckHealth(ctx context.Context) error {
	err := g.Ledger.Health(ctx)
	if err == nil {
		g.unsafe.Store(nil)
		return nil
	}
	why := err.Error()
	g.unsafe.Store(&why)
	return err
}

// Watch looks after the ledger until ctx ends: its health every few seconds, and once a minute what has lapsed. doubts is told how many
// effects are in doubt, by operation; nil where nobody cares.
func (g *Gateway) Watch(ctx context.Context, doubts func(map[string]int)) {
	for n := 0; ; n++ {
		_ = g.CheckHealth(ctx)
		if n%12 == 0 {
			if found, err := g.Ledger.Sweep(ctx); err == nil && doubts != nil {
				doubts(found)
			}
			g.probeDoubts(ctx)
			_, _ = g.Recover(ctx) // what is still in the spool after a long outage; what cannot be written stays there
		}
		if g.Clock.Sleep(ctx, 5*time.Second) != nil {
			return
		}
	}
}
