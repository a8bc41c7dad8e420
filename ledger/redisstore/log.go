package redisstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// debugLog takes what go-redis would print: it repeats errors that callers get anyway, and tells of failovers.
type debugLog struct{}

func (debugLog) Printf(ctx context.Context, format string, args ...any) {
	slog.DebugContext(ctx, "redis client", "says", fmt.Sprintf(format, args...))
}

func init() { redis.SetLogger(debugLog{}) }
