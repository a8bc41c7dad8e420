package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"agentgw/ledger"
)

// compare finds the primaries that may have forgotten something, writes back what this store knows, and lets claims wait there for what
// others know. The ledger itself says since when each of them serves it: so gateways that start later, and those that cannot notice
// because another one has written back already, know it too.
func (s *Store) compare(ctx context.Context, was, is *served, all []*primary) error {
	known, err := s.readKnown(ctx)
	if err != nil {
		return err
	}
	empty, changed := len(known) == 0, false
	is.since = map[string]time.Time{}
	for _, p := range all {
		since, listed := known[p.id]
		var wait time.Duration
		switch {
		case was == nil && empty: // a new ledger
			since = time.UnixMilli(0)
		case was == nil && listed:
			wait = min(s.window, since.Add(s.window).Sub(p.time))
		case was == nil:
			since, wait = p.time, s.window
		default:
			before, there := was.since[p.id]
			if there && before.Equal(since) && !p.behind || s.joined(was, p) {
				break
			}
			changed, wait = true, s.window
			if there && before.Equal(since) { // nobody has said so before
				since = p.time
			}
		}
		if since.IsZero() {
			since = p.time
		}
		is.since[p.id] = since
		for _, n := range p.mine {
			s.hold(n, s.age()+wait)
		}
	}
	if changed {
		s.epoch.Add(1) // before the journal is read
		if err := s.heal(ctx, all); err != nil {
			return err
		}
	}
	for _, p := range all {
		for _, n := range p.mine {
			s.shards[n].learn(p.counters[n])
		}
	}
	return s.writeKnown(ctx, known, is.since)
}

// joined reports whether a node came to the Cluster, without having replicated another one: its slots come to it with their keys.
func (s *Store) joined(was *served, p *primary) bool {
	_, there := was.nodes[p.addr]
	_, known := was.since[p.id]
	return s.cluster != nil && !there && !known && strings.Trim(p.before, "0") == ""
}

// readKnown reads which primaries served this ledger, and since when.
func (s *Store) readKnown(ctx context.Context) (map[string]time.Time, error) {
	text, err := s.client.Get(ctx, s.known).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	known := map[string]time.Time{}
	for line := range strings.Lines(text) {
		id, since, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ms, err := strconv.ParseInt(since, 10, 64); err == nil {
			known[id] = time.UnixMilli(ms)
		}
	}
	return known, nil
}

const maxKnown = 64 // primaries; the longest gone are forgotten first

// writeKnown notes what has changed. Two gateways may write over each other's news: who misses its own looks again.
func (s *Store) writeKnown(ctx context.Context, known, now map[string]time.Time) error {
	fresh := false
	for id, since := range now {
		fresh = fresh || !known[id].Equal(since)
		known[id] = since
	}
	if !fresh {
		return nil
	}
	lines := make([]string, 0, len(known))
	for id, since := range known {
		lines = append(lines, fmt.Sprintf("%s %015d\n", id, since.UnixMilli()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[len(a)-16:], b[len(b)-16:]) })
	return s.client.Set(ctx, s.known, strings.Join(lines[max(0, len(lines)-maxKnown):], ""), 0).Err()
}

// hold makes claims in a shard wait until a moment; it never shortens their wait.
func (s *Store) hold(n int, until time.Duration) {
	for at := &s.shards[n].until; ; {
		is := at.Load()
		if is >= int64(until) || at.CompareAndSwap(is, int64(until)) {
			return
		}
	}
}

// age is a clock that only goes forward.
func (s *Store) age() time.Duration { return time.Since(s.born) }

// waiting says why a claim in a shard has to wait; nil: it need not.
func (s *Store) waiting(sh *shard) error {
	left := time.Duration(sh.until.Load()) - s.age()
	if left <= 0 {
		return nil
	}
	return fmt.Errorf("ledger %s: its primary has changed and may have forgotten the latest calls; what the gateways know is being written back, for %s more (%w)",
		s.name, left.Round(100*time.Millisecond), ledger.ErrNotApplied)
}

// watch looks once a second whether the primaries are still those that were looked at, and remember what they knew: also while no call
// comes by.
func (s *Store) watch() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		if was := s.served.Load(); s.changed(ctx, was) {
			if _, err := s.look(ctx, was); err != nil {
				slog.DebugContext(ctx, "the ledger's primaries", "error", err)
			}
		}
		cancel()
	}
}

// changed reports whether other primaries answer than those looked at, or one of them has forgotten. What cannot be asked is asked again
// later.
func (s *Store) changed(ctx context.Context, was *served) bool {
	if s.noHeal {
		return false
	}
	nodes, _, err := s.primaries(ctx)
	if err != nil {
		return false
	}
	for _, node := range nodes {
		info, err := node.Info(ctx, "replication").Result()
		if m := fields(info); err == nil && m["role"] == "master" && !strings.Contains(was.identities, m["master_replid"]) {
			return true
		}
	}
	known, err := s.readKnown(ctx)
	if err != nil {
		return false
	}
	for id, since := range was.since {
		if !known[id].Equal(since) {
			return true
		}
	}
	var floors [shardCount]uint64
	var counters [shardCount]*redis.StringCmd
	pipe := s.client.Pipeline()
	for n := range s.shards {
		floors[n] = s.shards[n].floor.Load()
		counters[n] = pipe.Get(ctx, s.shards[n].version)
	}
	pipe.Exec(ctx)
	for n, c := range counters {
		b, err := c.Bytes()
		if errors.Is(err, redis.Nil) && floors[n] > 0 || err == nil && len(b) == 8 && binary.BigEndian.Uint64(b) < floors[n] {
			return true
		}
	}
	return false
}
