// Package redisstore keeps a ledger in Redis: alone, under Sentinel, or as a Cluster, through one script.
//
// Keys. A partition belongs to one of 256 shards, by xxHash; the shard is the hash tag, so that all of a partition and its shard's indexes
// are on one node of a Cluster:
//
//	prefix{agw:3f}:version            the last version given in the shard
//	prefix{agw:3f}:open               the open records of the shard
//	prefix{agw:3f}:partition:name     a record
//	prefix{agw:00}:served             the primaries that served the ledger, and since when
//
// It needs Redis 6.2 or newer with maxmemory-policy noeviction, and a user who may run INFO, TIME, EVAL, EVALSHA and SCRIPT LOAD, in the
// scripts GET, SET, DEL, ZADD, ZREM and ZREMRANGEBYSCORE, to list SCAN, ZSCAN, ZCARD and EXISTS, and WAIT where claims are replicated.
//
// Failover. Redis replicates after it has answered, so a replica that takes over may lack the latest writes; and a Redis without
// persistence may come back empty. The store notices both: the script is named after the primaries that were looked at, so that another
// one does not know it, and each shard's counter of versions may not be behind what was seen of it. Then the store writes back what it
// wrote in the last minute, and claims wait for the window in which other gateways do the same.
package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
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

	Replicas       int           // so many replicas must have any claim before Swap says that it was applied; 0: one, of claims that ask for it
	ReplicaTimeout time.Duration // how long they are waited for; 0: 1 s

	// Window is how long claims wait after the primary has changed or forgotten, until all gateways have written back what they know:
	// longer than a gateway needs to notice, which it does within some seconds. 0: 10 s; below 0: they do not wait.
	Window time.Duration

	dial      func(ctx context.Context, network, addr string) (net.Conn, error) // in tests; nil: the network
	noHeal    bool                                                              // in tests: nothing is noticed and written back
	askScript bool                                                              // in tests: as before Redis 7.0
}

// Store is a ledger.Store in Redis. Its methods are safe for concurrent use.
type Store struct {
	name   string // for messages: scheme and addresses, no secrets
	prefix string
	client redis.UniversalClient
	// cluster is client where that is a Cluster, else nil.
	cluster *redis.ClusterClient
	lanes   sync.Map // *redis.Client of a primary -> *lanes
	single  lanes    // without a Cluster
	shards  [shardCount]shard

	timeout, replicaTimeout, window time.Duration
	replicas                        int
	noHeal, askScript               bool

	served  atomic.Pointer[served] // nil: not looked yet
	looking chan struct{}          // holds one while somebody looks
	epoch   atomic.Int64           // see served
	journal journal
	known   string    // key of the list of primaries that served this ledger
	born    time.Time // where age begins

	watchOnce sync.Once
	watching  sync.WaitGroup
	closing   chan struct{}
	closeOnce sync.Once
}

const shardCount = 256

type shard struct {
	version, open, records string
	floor                  atomic.Uint64 // the latest version seen: a primary that is behind it has forgotten
	until                  atomic.Int64  // when claims may go on, by Store.age
}

//go:embed swap.lua
var script string // without its first line, which says whom it is for

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
	s := &Store{name: at.name(), prefix: at.prefix, timeout: o.Timeout, replicas: o.Replicas, noHeal: o.noHeal, askScript: o.askScript,
		replicaTimeout: cmp.Or(o.ReplicaTimeout, time.Second), window: max(0, cmp.Or(o.Window, 10*time.Second)),
		known: at.prefix + "{agw:00}:served", born: time.Now(), looking: make(chan struct{}, 1), closing: make(chan struct{})}
	for i := range s.shards {
		sh, tag := &s.shards[i], fmt.Sprintf("%s{agw:%02x}:", at.prefix, i)
		sh.version, sh.open, sh.records = tag+"version", tag+"open", tag
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
func (s *Store) Close() error {
	s.closeOnce.Do(func() { close(s.closing) })
	s.watchOnce.Do(func() {}) // it does not begin any more
	s.watching.Wait()
	return s.client.Close()
}

func (s *Store) shard(p agentgw.Partition) *shard {
	return &s.shards[xxhash.Sum64String(string(p))%shardCount]
}

func (s *shard) record(p agentgw.Partition, name string) string {
	return s.records + string(p) + ":" + name
}

var _ ledger.Store = (*Store)(nil)
