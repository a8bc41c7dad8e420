package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"agentgw/ledger"
)

// served is what this store knows of the primaries that it has looked at. Its script is known to these primaries only, and only since
// they were looked at: so every swap finds out by itself, without asking, that another primary answers.
type served struct {
	identities string               // replication ids of the primaries, sorted
	nodes      map[string]string    // address of a primary -> its replication id
	since      map[string]time.Time // when they began to serve this ledger, or were last found to have forgotten; as the ledger has it
	text, sha  string               // the script
	epoch      int64                // how often something may have been forgotten
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
	behind   bool               // it has forgotten what this store has seen
	mine     []int              // numbers of the shards that it serves
}

// errChanged: the primaries changed while they were looked at.
var errChanged = errors.New("another primary has taken over meanwhile")

// look finds out which primaries there are, writes back what they have forgotten, and makes claims wait where that may not be all. was is
// what the caller relied on: where it is not any more what the store knows, another caller was faster.
func (s *Store) look(ctx context.Context, was *served) (*served, error) {
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
		if is, err = s.lookAtAll(ctx, was); err == nil {
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

func (s *Store) lookAtAll(ctx context.Context, was *served) (*served, error) {
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
		if err := s.compare(ctx, was, is, all); err != nil {
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
	p.id, p.before, p.version, p.time = m["master_replid"], m["master_replid2"], m["redis_version"], now.Val().Truncate(time.Millisecond)
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
		counters, floors := make([]*redis.StringCmd, len(p.mine)), make([]uint64, len(p.mine))
		for i, n := range p.mine {
			floors[i] = s.shards[n].floor.Load() // before it is asked: it grows meanwhile
			counters[i] = pipe.Get(ctx, s.shards[n].version)
		}
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		for i, n := range p.mine {
			b, err := counters[i].Bytes()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			if len(b) == 8 {
				p.counters[n] = binary.BigEndian.Uint64(b)
			}
			p.behind = p.behind || p.counters[n] < floors[i]
		}
	}
	return nil
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
