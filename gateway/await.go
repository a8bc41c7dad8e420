package gateway

import (
	"context"
	"time"
)

// Clock is the gateway's only notion of waiting. Ages never come from it: they come from the store.
type Clock interface {
	Now() time.Time
	Go(f func())                                      // start f; the simulation counts who is at work
	Sleep(ctx context.Context, d time.Duration) error // ctx's error where it ended first
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	Gate() Gate
}

// Gate is opened once; many may wait for it.
type Gate interface {
	Open()
	Wait(ctx context.Context) error // nil once opened; ctx's error where it ended first
}
