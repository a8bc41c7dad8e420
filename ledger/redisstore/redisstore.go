// Package redisstore keeps a ledger in Redis: alone, under Sentinel, or as a Cluster, through one script.
//
// Keys. A partition belongs to one of 256 shards, by xxHash; the shard is the hash tag, so that all of a partition and its shard's indexes
// are on one node of a Cluster:
//
//	prefix{agw:3f}:version            the last version given in the shard
//	prefix{agw:3f}:open               the open records of the shard
//	prefix{agw:3f}:partition:name     a record
//
// It needs Redis 6.2 or newer with maxmemory-policy noeviction, and a user who may run INFO, EVAL, EVALSHA and SCRIPT LOAD, in the script
// TIME, GET, SET, DEL, ZADD, ZREM and ZREMRANGEBYSCORE, and to list GET, SCAN, ZSCAN, ZCARD and EXISTS.
package redisstore

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"agentgw"
	"agentgw/ledger"
)

// Options of a store; the zero value works.
type Options struct {
	Timeout time.Duration // longest wait for one answer of Redis, whatever the context allows; 0: 5 s

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // in tests; nil: the network
}

// Store is a ledger.Store in Redis. Its methods are safe for concurrent use.
type Store struct {
	name   string // for messages: scheme and addresses, no secrets
	prefix string
	client redis.UniversalClient
	// cluster is client where that is a Cluster, else nil.
	cluster *redis.ClusterClient
	lanes   sync.Map // *redis.Client of a primary -> *lane
	single  lane     // without a Cluster
	shards  [shardCount]shard
}

const shardCount = 256

type shard struct{ version, open, records string }

//go:embed swap.lua
var script string

var scriptSHA = redis.NewScript(script).Hash()

// Open reads the URL of a ledger and prepares a client; it does not connect, Health does.
//
//	redis://[user:password@]host[:6379][/db]     rediss:// the same with TLS
//	redis+unix:///path/to/socket[?db=n]
//	redis-sentinel://[user:password@]host[:26379],…/primary[/db]
//	redis-cluster://[user:password@]host[:6379],…
//
// After "?": prefix=word before every key; ca=file of certificates to trust; tls=true (Sentinel and Cluster); sentinel_username=,
// sentinel_password=.
func Open(url string, o Options) (*Store, error) {
	at, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	s := &Store{name: at.name(), prefix: at.prefix}
	for i := range s.shards {
		tag := fmt.Sprintf("%s{agw:%02x}:", at.prefix, i)
		s.shards[i] = shard{version: tag + "version", open: tag + "open", records: tag}
	}
	u := &redis.UniversalOptions{
		Addrs: at.hosts, DB: at.db, MasterName: at.primary, IsClusterMode: at.cluster,
		Username: at.username, Password: at.password, SentinelUsername: at.sentinelUsername, SentinelPassword: at.sentinelPassword,
		TLSConfig: at.tls, Dialer: o.dial,
		Protocol: 2, DisableIdentity: true, // no handshake beyond what is needed
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1, // nothing is sent twice: see once
		ContextTimeoutEnabled:    true,
		DialTimeout:              min(2*time.Second, o.Timeout), DialerRetries: 1,
		ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		PipelinePoolSize: -1, // one pool for all
	}
	switch {
	case at.cluster:
		s.cluster = redis.NewClusterClient(u.Cluster())
		s.cluster.OnNewNode(func(node *redis.Client) { node.AddHook(unreached{}) })
		s.client = s.cluster
	case at.primary != "":
		client := redis.NewFailoverClient(u.Failover())
		client.AddHook(unreached{})
		s.client = client
	default:
		single := u.Simple()
		single.Network = at.network
		client := redis.NewClient(single)
		client.AddHook(unreached{})
		s.client = client
	}
	return s, nil
}

// Close closes the connections.
func (s *Store) Close() error { return s.client.Close() }

func (s *Store) shard(p agentgw.Partition) *shard {
	return &s.shards[xxhash.Sum64String(string(p))%shardCount]
}

func (s *shard) record(p agentgw.Partition, name string) string {
	return s.records + string(p) + ":" + name
}

var _ ledger.Store = (*Store)(nil)
