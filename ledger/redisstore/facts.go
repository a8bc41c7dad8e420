package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Facts are what a primary says of itself, for whoever judges whether it is set up well. Health refuses only what makes a ledger wrong;
// these also tell what could make it forget one day.
type Facts struct {
	Addr     string
	Version  string
	Eviction string // maxmemory-policy
	AOF      bool   // appendonly
	Fsync    string // appendfsync; "" where CONFIG GET is forbidden
	Save     string // the schedule of snapshots; "" for none, or where CONFIG GET is forbidden
	SaveRead bool   // Save could be read
	Failing  string // the last write to the disk that failed: "aof", "rdb"; "" for none
	Replicas int    // connected
	Used     uint64 // bytes
	Max      uint64 // maxmemory in bytes; 0: no limit
	// Skew is how far its clock is ahead of the one here, and Within how exactly that is known: half of what the question took.
	Skew, Within time.Duration
}

// Facts asks every primary.
func (s *Store) Facts(ctx context.Context) ([]Facts, error) {
	if s.cluster == nil {
		f, err := s.facts(ctx, s.client.(*redis.Client))
		return []Facts{f}, err
	}
	var mu sync.Mutex
	var all []Facts
	err := s.cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		f, err := s.facts(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, f)
		return err
	})
	return all, err
}

func (s *Store) facts(ctx context.Context, node *redis.Client) (Facts, error) {
	f := Facts{Addr: node.Options().Addr}
	text, err := node.Info(ctx).Result()
	if err != nil {
		return f, s.explain(err)
	}
	info := fields(text)
	f.Version, f.Eviction, f.AOF = info["redis_version"], info["maxmemory_policy"], info["aof_enabled"] == "1"
	f.Replicas, _ = strconv.Atoi(info["connected_slaves"])
	f.Used, _ = strconv.ParseUint(info["used_memory"], 10, 64)
	f.Max, _ = strconv.ParseUint(info["maxmemory"], 10, 64)
	switch {
	case f.AOF && info["aof_last_write_status"] == "err":
		f.Failing = "aof"
	case info["rdb_last_bgsave_status"] == "err":
		f.Failing = "rdb"
	}
	start := time.Now()
	at, err := node.Time(ctx).Result()
	if err != nil {
		return f, s.explain(err)
	}
	f.Within = time.Since(start) / 2
	f.Skew = at.Sub(start.Add(f.Within))
	for name, to := range map[string]*string{"appendfsync": &f.Fsync, "save": &f.Save} {
		var refused redis.Error
		config, err := node.ConfigGet(ctx, name).Result()
		if errors.As(err, &refused) {
			continue // users of a ledger need not be allowed this
		}
		if err != nil {
			return f, s.explain(err)
		}
		*to = config[name]
		f.SaveRead = f.SaveRead || name == "save"
	}
	return f, nil
}
