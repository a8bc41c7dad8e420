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

// served is what this store knows of the primaries that it has looked at. Its script is known to these primaries only, and only since
// they were looked at: so every swap finds out by itself, without asking, that another primary answers.
type served struct {
	identities string            // replication ids of the primaries, sorted
	nodes      map[string]string // address of a primary -> its replication id
	text, sha  string            // the script
	epoch      int64             // how often something may have been forgotten
}

// primary is one node while it is looked at, over one connection.
type primary struct {
	conn     *redis.Conn
	addr     string
	id       string // replication id: another one after each start, and after each promotion of a replica
	before   string // the one it had as a replica; zeros
	version  string // of Redis
	time     time.Time
	counters [shardCount]uint64 // versions of the shards that it has; 0: it has none
	mine     []int              // numbers of the shards that it serves
}

// errChanged: the primaries changed while they were looked at.
var errChanged = errors.New("another primary has taken over meanwhile")

// look finds out which primaries there are, writes back what they have forgotten, and makes claims wait where that may not be all. was is
// what the caller relied on: where it is not any more what the store knows, another caller was faster. forgot says that a primary was
// found to be behind.
func (s *Store) look(ctx context.Context, was *served, forgot bool) (*served, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("ledger %s: %w: %w", s.name, ledger.ErrNotApplied, ctx.Err())
	}
	if is := s.served.Load(); is != was {
		return is, nil
	}
	var err error
	for range 3 { // a connection to a primary that is gone fails at once
		var is *served
		if is, err = s.lookAtAll(ctx, was, forgot); err == nil {
			s.watchOnce.Do(func() { s.watching.Go(s.watch) })
			return is, nil
		}
		if s.cluster != nil {
			s.cluster.ReloadState(ctx)
		}
	}
	if errors.Is(err, ledger.ErrNotApplied) {
		return nil, err
	}
	return nil, fmt.Errorf("%w (%w)", s.explain(err), ledger.ErrNotApplied)
}

func (s *Store) lookAtAll(ctx context.Context, was *served, forgot bool) (*served, error) {
	nodes, _, err := s.primaries(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*primary, len(nodes))
	for i, node := range nodes {
		p := &primary{conn: node.Conn(), addr: node.Options().Addr}
		defer p.conn.Close()
		if err := s.meet(ctx, p); err != nil {
			return nil, err
		}
		all[i] = p
	}
	is := s.compose(all)
	if err := s.assign(ctx, all); err != nil {
		return nil, err
	}
	if !s.noHeal {
		if err := s.compare(ctx, was, is, all, forgot); err != nil {
			return nil, err
		}
	}
	for _, p := range all {
		if err := s.leave(ctx, p, is); err != nil {
			return nil, err
		}
	}
	is.epoch = s.epoch.Load()
	s.served.Store(is)
	return is, nil
}

// meet asks a node who it is.
func (s *Store) meet(ctx context.Context, p *primary) error {
	pipe := p.conn.Pipeline()
	info, now := pipe.Info(ctx), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	m := fields(info.Val())
	if m["role"] != "master" || m["loading"] == "1" {
		return fmt.Errorf("ledger %s, node %s: %s (%w)", s.name, p.addr, s.fault(m), ledger.ErrNotApplied)
	}
	p.id, p.before, p.version, p.time = m["master_replid"], m["master_replid2"], m["redis_version"], now.Val()
	return nil
}

// compose makes the script that names these primaries.
func (s *Store) compose(all []*primary) *served {
	is := &served{nodes: map[string]string{}}
	ask := s.askScript
	var ids []string
	for _, p := range all {
		ids = append(ids, p.id)
		is.nodes[p.addr] = p.id
		var major int
		fmt.Sscanf(p.version, "%d.", &major)
		ask = ask || major < 7
	}
	slices.Sort(ids)
	is.identities = strings.Join(ids, " ")
	if s.noHeal {
		ids, ask = nil, false
	}
	is.text = fmt.Sprintf("local served, ask = '%s', %t\n%s", strings.Join(ids, " "), ask, script)
	is.sha = redis.NewScript(is.text).Hash()
	return is
}

// assign tells each primary's shards, and reads how far they are.
func (s *Store) assign(ctx context.Context, all []*primary) error {
	by := map[string]*primary{}
	for _, p := range all {
		by[p.addr] = p
	}
	for n := range s.shards {
		p := all[0]
		if s.cluster != nil {
			node, err := s.cluster.MasterForKey(ctx, s.shards[n].version)
			if err != nil {
				return err
			}
			if p = by[node.Options().Addr]; p == nil {
				return errChanged
			}
		}
		p.mine = append(p.mine, n)
	}
	for _, p := range all {
		pipe := p.conn.Pipeline()
		counters := make([]*redis.StringCmd, len(p.mine))
		for i, n := range p.mine {
			counters[i] = pipe.Get(ctx, s.shards[n].version)
		}
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		for i, n := range p.mine {
			if b, err := counters[i].Bytes(); err == nil && len(b) == 8 {
				p.counters[n] = binary.BigEndian.Uint64(b)
			} else if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		}
	}
	return nil
}

// compare finds the shards that may have been forgotten, heals them, and lets their claims wait.
func (s *Store) compare(ctx context.Context, was, is *served, all []*primary, forgot bool) error {
	known, err := s.knownPrimaries(ctx)
	if err != nil {
		return err
	}
	changed, now := forgot, s.age()
	for _, p := range all {
		wait, strange := s.waitFor(was, p, known)
		changed = changed || strange
		for _, n := range p.mine {
			if p.counters[n] < s.shards[n].floor.Load() {
				changed, wait = true, s.window
			}
			s.hold(n, now+wait)
		}
	}
	if changed && was != nil {
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
	return s.notePrimaries(ctx, known, all)
}

// waitFor is how long claims at a primary have to wait for what other gateways may know, and whether this store does not know it.
func (s *Store) waitFor(was *served, p *primary, known map[string]time.Time) (wait time.Duration, strange bool) {
	since, ok := known[p.id]
	if was != nil {
		_, there := was.nodes[p.addr]
		joined := s.cluster != nil && !there && strings.Trim(p.before, "0") == "" // it came to the Cluster; its slots came to it with their keys
		if strings.Contains(was.identities, p.id) || joined {
			return 0, false
		}
		return s.window, true
	}
	if len(known) == 0 {
		return 0, false // a new ledger
	}
	if !ok {
		return s.window, true
	}
	return max(0, min(s.window, since.Add(s.window).Sub(p.time))), false
}

// knownPrimaries reads which primaries served this ledger, and since when, so that a gateway that starts after a failover knows of it.
func (s *Store) knownPrimaries(ctx context.Context) (map[string]time.Time, error) {
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

// notePrimaries adds those that are new.
func (s *Store) notePrimaries(ctx context.Context, known map[string]time.Time, all []*primary) error {
	first := len(known) == 0
	fresh := false
	for _, p := range all {
		if _, ok := known[p.id]; ok {
			continue
		}
		fresh = true
		known[p.id] = p.time
		if first && s.served.Load() == nil {
			known[p.id] = time.UnixMilli(0) // a new ledger: nobody has to wait
		}
	}
	if !fresh {
		return nil
	}
	var lines []string
	for id, since := range known {
		lines = append(lines, fmt.Sprintf("%s %d\n", id, since.UnixMilli()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[41:], b[41:]) })
	if most := 64; len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return s.client.Set(ctx, s.known, strings.Join(lines, ""), 0).Err()
}

// leave makes a primary know the script, and makes sure that it is still the one that was looked at.
func (s *Store) leave(ctx context.Context, p *primary, is *served) error {
	pipe := p.conn.Pipeline()
	load, info := pipe.ScriptLoad(ctx, is.text), pipe.Info(ctx, "replication")
	pipe.Exec(ctx)
	if err := load.Err(); err != nil && !strings.HasPrefix(err.Error(), "NOPERM") {
		return err
	} else if err != nil {
		// Who may not load scripts leaves them by running them; without keys it does nothing.
		if err := p.conn.Eval(ctx, is.text, nil).Err(); err != nil {
			return err
		}
	}
	if err := info.Err(); err != nil {
		return err
	}
	if fields(info.Val())["master_replid"] != p.id {
		return errChanged
	}
	return nil
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
		was := s.served.Load()
		if changed, forgot := s.changed(ctx, was); changed || forgot {
			if _, err := s.look(ctx, was, forgot); err != nil {
				slog.DebugContext(ctx, "the ledger's primaries", "error", err)
			}
		}
		cancel()
	}
}

// changed reports whether other primaries answer than those looked at, or one of them is behind. What cannot be asked is asked again later.
func (s *Store) changed(ctx context.Context, was *served) (other, forgot bool) {
	if s.noHeal {
		return false, false
	}
	nodes, _, err := s.primaries(ctx)
	if err != nil {
		return false, false
	}
	for _, node := range nodes {
		info, err := node.Info(ctx, "replication").Result()
		if err != nil {
			continue
		}
		m := fields(info)
		other = other || m["role"] == "master" && !strings.Contains(was.identities, m["master_replid"])
	}
	var floors [shardCount]uint64
	pipe := s.client.Pipeline()
	counters := make([]*redis.StringCmd, shardCount)
	for n := range s.shards {
		floors[n] = s.shards[n].floor.Load()
		counters[n] = pipe.Get(ctx, s.shards[n].version)
	}
	pipe.Exec(ctx)
	for n := range counters {
		b, err := counters[n].Bytes()
		switch {
		case errors.Is(err, redis.Nil) && floors[n] > 0, err == nil && len(b) == 8 && binary.BigEndian.Uint64(b) < floors[n]:
			forgot = true
		}
	}
	return other, forgot
}
