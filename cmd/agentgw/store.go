package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"agentgw/ledger"
	"agentgw/ledger/filestore"
	"agentgw/ledger/memstore"
	"agentgw/ledger/redisstore"
)

// forgets is said wherever a ledger in memory is opened.
const forgets = "THE LEDGER IS IN MEMORY: it forgets every effect when this process ends, and then everything can happen again"

const ledgerForms = "memory:, file:PATH, redis://…, rediss://…, redis-sentinel://HOST,HOST/PRIMARY or redis-cluster://HOST,HOST"

var redisSchemes = []string{"redis", "rediss", "redis+unix", "redis-sentinel", "redis-cluster"}

// checkLedgerURL says what is wrong with the URL of a ledger, without opening it and without showing it: it may hold a password.
func checkLedgerURL(u string) error {
	scheme, rest, _ := strings.Cut(u, ":")
	switch {
	case scheme == "memory" && rest == "", scheme == "file" && rest != "":
		return nil
	case slices.Contains(redisSchemes, scheme):
		s, err := redisstore.Open(u, redisstore.Options{})
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "ledger: "))
		}
		return s.Close()
	}
	return fmt.Errorf("this is not the URL of a ledger; write it as %s", ledgerForms)
}

// openStore opens the store of a ledger by its URL; the options are for a Redis, which is not asked yet: Health does that.
func openStore(u string, redis redisstore.Options) (ledger.Store, error) {
	if err := checkLedgerURL(u); err != nil {
		return nil, usagef("ledger: %v", err)
	}
	if path, ok := strings.CutPrefix(u, "file:"); ok {
		return filestore.Open(path, filestore.Options{})
	}
	if u == "memory:" {
		return memstore.New(memstore.Options{}), nil
	}
	return redisstore.Open(u, redis)
}

// healthLog is a store that tells people when it stops being one to rely on, and when it is one again. Its health is asked every few seconds.
type healthLog struct {
	ledger.Store
	log *slog.Logger
	bad atomic.Bool
}

// Health implements ledger.Store.
func (s *healthLog) Health(ctx context.Context) error {
	err := s.Store.Health(ctx)
	switch {
	case ctx.Err() != nil: // whoever asked has left: that says nothing of the store
	case err != nil && !s.bad.Swap(true):
		s.log.Warn("the ledger cannot be relied on: guarded calls are refused until it can", "error", err)
	case err == nil && s.bad.Swap(false):
		s.log.Warn("the ledger is back: guarded calls are served again")
	}
	return err
}

// shownLedger is a ledger's URL without its secrets.
func shownLedger(u string) string {
	if scheme, rest, ok := strings.Cut(u, "://"); ok {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		rest, _, _ = strings.Cut(rest, "?")
		return scheme + "://" + rest
	}
	return u
}
