package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"agentgw/ledger"
)

// remedies say what to do about errors that Redis replies, by their first word.
var remedies = map[string]string{
	"OOM":         "it is full: raise maxmemory, or give it a machine with more",
	"READONLY":    "it is a replica now: name the primary, or use redis-sentinel:// to follow it",
	"LOADING":     "it is reading its data from the disk: wait",
	"MASTERDOWN":  "it has lost its primary: wait for the failover, or name the primary",
	"CLUSTERDOWN": "the Cluster lacks slots: see CLUSTER INFO",
	"TRYAGAIN":    "a slot is moving between nodes: try again when it has moved",
	"MOVED":       "it is a Cluster: use redis-cluster://",
	"MISCONF":     "it cannot save to its disk: see its log",
	"NOREPLICAS":  "it lacks the replicas that min-replicas-to-write asks for",
	"NOAUTH":      "it wants a password: redis://user:password@host",
	"WRONGPASS":   "it does not take this user and password",
	"NOPERM":      "this user may not do what a ledger needs: see the package documentation for the list of commands",
	"WRONGTYPE":   "another program keeps something under the ledger's keys: give the ledger a prefix of its own (?prefix=…) or a database of its own",
	"BUSY":        "another program's script keeps it busy: see SCRIPT KILL",
}

// explain names the store and the remedy, and marks errors after which it is known that nothing was applied.
func (s *Store) explain(err error) error {
	var replied redis.Error
	var away *awayError
	switch {
	case errors.Is(err, ledger.ErrNotApplied):
		return err
	case errors.As(err, &replied):
		// Redis replies an error instead of running the script, or when the script has not written a record yet.
		word, _, _ := strings.Cut(replied.Error(), " ")
		if strings.Contains(replied.Error(), "The user executing the script can't") {
			word = "NOPERM"
		}
		remedy := remedies[word]
		if word == "MOVED" && s.cluster != nil {
			remedy = "its nodes do not agree who serves a slot: try again, and see redis-cli --cluster check"
		}
		if remedy != "" {
			return fmt.Errorf("ledger %s: %w: %s (%w)", s.name, err, remedy, ledger.ErrNotApplied)
		}
		return fmt.Errorf("ledger %s: %w (%w)", s.name, err, ledger.ErrNotApplied)
	case errors.As(err, &away):
		return fmt.Errorf("ledger %s cannot be reached: %w: is it running, and is the address right? (%w)", s.name, err, ledger.ErrNotApplied)
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("ledger %s: %w (%w)", s.name, err, ledger.ErrNotApplied)
	}
	return fmt.Errorf("ledger %s: the answer was lost: %w", s.name, err)
}

// broke reports whether a connection broke, or was refused: another one may lead to the primary that has taken over. One that hangs has
// used up the caller's patience.
func broke(ctx context.Context, err error) bool {
	var conn net.Error
	if errors.As(err, &conn) {
		return !conn.Timeout() && ctx.Err() == nil
	}
	return (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && ctx.Err() == nil
}

// awayError is a connection that did not come about, so that nothing was sent over it.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// unreached marks failures to connect.
type unreached struct{}

func (unreached) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, &awayError{err}
		}
		return conn, nil
	}
}

func (unreached) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (unreached) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
