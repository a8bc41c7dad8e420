package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Health asks every primary whether it is one, has its data, never evicts, and has the replicas that it needs.
func (s *Store) Health(ctx context.Context) (err error) {
	if s.cluster == nil {
		err = s.examine(ctx, s.client.(*redis.Client))
	} else {
		err = s.cluster.ForEachMaster(ctx, s.examine)
	}
	if was := s.served.Load(); err == nil && was == nil {
		_, err = s.look(ctx, was)
	}
	return err
}

func (s *Store) examine(ctx context.Context, node *redis.Client) error {
	pipe := node.Pipeline()
	info := pipe.Info(ctx)
	var state *redis.StringCmd
	if s.cluster != nil {
		state = pipe.ClusterInfo(ctx)
	}
	if _, err := pipe.Exec(ctx); info.Val() == "" {
		return s.explain(cmp.Or(err, info.Err()))
	}
	fault := s.fault(fields(info.Val()))
	if fault == "" && state != nil {
		if err := state.Err(); err != nil {
			return s.explain(err)
		}
		if is := fields(state.Val())["cluster_state"]; is != "ok" {
			fault = "cluster_state is " + is + ": see CLUSTER INFO"
		}
	}
	if fault != "" {
		return fmt.Errorf("ledger %s, node %s: %s", s.name, node.Options().Addr, fault)
	}
	return nil
}

// fault is what INFO says against relying on a node; "" for nothing.
func (s *Store) fault(info map[string]string) string {
	var major, minor, replicas int
	fmt.Sscanf(info["redis_version"], "%d.%d", &major, &minor)
	if major < 6 || major == 6 && minor < 2 {
		return fmt.Sprintf("Redis %s is too old: use 6.2 or newer", info["redis_version"])
	}
	fmt.Sscan(info["connected_slaves"], &replicas)
	switch {
	case info["loading"] == "1":
		return "it is reading its data from the disk: wait"
	case info["role"] != "master":
		return fmt.Sprintf("its role is %q: name the primary, or use redis-sentinel:// to follow it", info["role"])
	case info["cluster_enabled"] == "1" && s.cluster == nil:
		return "it is a Cluster: use redis-cluster://"
	case info["maxmemory_policy"] != "noeviction":
		return fmt.Sprintf("its maxmemory-policy is %q, so it may forget effects and let them happen again: CONFIG SET maxmemory-policy noeviction, and in redis.conf", info["maxmemory_policy"])
	case replicas < s.replicas:
		return fmt.Sprintf("it has %d replicas, and %d must have every claim: attach replicas, or ask for less (durability: local)", replicas, s.replicas)
	}
	return ""
}

// fields reads the name:value lines of INFO.
func fields(info string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			m[name] = value
		}
	}
	return m
}
