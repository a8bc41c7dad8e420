package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/redis/go-redis/v9"

	"agentgw"
	"agentgw/ledger"
)

// twice reads a page, and once more where its connection broke: as connections do when another primary has taken over, which is looked
// at between.
func twice[T any](ctx context.Context, s *Store, read func() ([]T, string, error)) ([]T, string, error) {
	was := s.served.Load()
	found, next, err := read()
	if broke(ctx, err) {
		if _, e := s.look(ctx, was); e == nil {
			return read()
		}
	}
	return found, next, err
}

// Open reads the shards' indexes one after the other. The cursor is shard.position.
func (s *Store) Open(ctx context.Context, cursor string, limit int) ([]ledger.Address, string, error) {
	return twice(ctx, s, func() ([]ledger.Address, string, error) { return s.openPage(ctx, cursor, limit) })
}

func (s *Store) openPage(ctx context.Context, cursor string, limit int) (found []ledger.Address, next string, err error) {
	if limit < 1 {
		limit = 100
	}
	var at, pos uint64
	if cursor != "" {
		if at, pos, err = numbers(cursor); err != nil || at >= shardCount {
			return nil, "", fmt.Errorf("cursor %q is not one that a list of this ledger's open records returned", cursor)
		}
	}
	filled, err := s.filled(ctx, int(at))
	if err != nil {
		return nil, "", s.explain(err)
	}
	for i, n := range filled {
		if n != int(at) {
			pos = 0
		}
		page, more, err := s.openOf(ctx, &s.shards[n], pos, limit-len(found))
		if err != nil {
			return nil, "", s.explain(err)
		}
		found = append(found, page...)
		if more != 0 {
			return found, fmt.Sprintf("%d.%d", n, more), nil
		}
		if len(found) >= limit && i+1 < len(filled) {
			return found, fmt.Sprintf("%d.0", filled[i+1]), nil
		}
	}
	return found, "", nil
}

// filled lists the shards from one on that have open records. Most have none, and all are asked in one round trip.
func (s *Store) filled(ctx context.Context, from int) (shards []int, err error) {
	pipe := s.client.Pipeline()
	counts := make([]*redis.IntCmd, shardCount)
	for n := from; n < shardCount; n++ {
		counts[n] = pipe.ZCard(ctx, s.shards[n].open)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	for n := from; n < shardCount; n++ {
		if counts[n].Val() > 0 {
			shards = append(shards, n)
		}
	}
	return shards, nil
}

// openOf reads on in the index of one shard.
func (s *Store) openOf(ctx context.Context, sh *shard, pos uint64, limit int) (found []ledger.Address, next uint64, err error) {
	entries, next, err := s.client.ZScan(ctx, sh.open, pos, "", int64(limit)).Result()
	if err != nil {
		return nil, 0, err
	}
	// An entry may outlive its record where that expires: then only the record itself tells.
	pipe := s.client.Pipeline()
	exists := make([]*redis.IntCmd, len(entries)/2)
	for i := range exists {
		if member, score := entries[2*i], entries[2*i+1]; score != "inf" {
			exists[i] = pipe.Exists(ctx, sh.records+member)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, 0, err
	}
	for i := range exists {
		if exists[i] != nil && exists[i].Val() == 0 {
			continue
		}
		if partition, name, ok := strings.Cut(entries[2*i], ":"); ok {
			found = append(found, ledger.Address{Partition: agentgw.Partition(partition), Name: name})
		}
	}
	return found, next, nil
}

// Scan walks over the keys of one primary after the other. The cursor is primary.position.primaries: a scan does not go on over other
// primaries than it began with, for then it would miss records.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) ([]ledger.Stored, string, error) {
	return twice(ctx, s, func() ([]ledger.Stored, string, error) { return s.scanPage(ctx, cursor, limit) })
}

func (s *Store) scanPage(ctx context.Context, cursor string, limit int) (found []ledger.Stored, next string, err error) {
	if limit < 1 {
		limit = 100
	}
	nodes, print, err := s.primaries(ctx)
	if err != nil {
		return nil, "", s.explain(err)
	}
	var at, pos uint64
	if cursor != "" {
		position, began, _ := strings.Cut(cursor, "/")
		if at, pos, err = numbers(position); err != nil || began == "" || (began == print && at >= uint64(len(nodes))) {
			return nil, "", fmt.Errorf("cursor %q is not one that a scan of this ledger returned", cursor)
		}
		if began != print {
			return nil, "", errors.New("the primaries of the Cluster have changed during the scan: begin it again")
		}
	}
	keys, pos, err := nodes[at].Scan(ctx, pos, s.prefix+"{agw:*}:*:e*", int64(limit)).Result()
	if err == nil {
		found, err = s.fetch(ctx, keys)
	}
	if err != nil {
		return nil, "", s.explain(err)
	}
	if pos == 0 {
		at++
	}
	if at == uint64(len(nodes)) {
		return found, "", nil
	}
	return found, fmt.Sprintf("%d.%d/%s", at, pos, print), nil
}

// primaries lists the nodes that hold records, in a lasting order, and a fingerprint of them.
func (s *Store) primaries(ctx context.Context) (nodes []*redis.Client, print string, err error) {
	if s.cluster == nil {
		return []*redis.Client{s.client.(*redis.Client)}, "1", nil
	}
	var mu sync.Mutex
	if err := s.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	}); err != nil {
		return nil, "", err
	}
	slices.SortFunc(nodes, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	sum := xxhash.New()
	for _, n := range nodes {
		sum.WriteString(n.Options().Addr + "\n")
	}
	return nodes, strconv.FormatUint(sum.Sum64(), 36), nil
}

// fetch reads the records under keys; some may be gone by now.
func (s *Store) fetch(ctx context.Context, keys []string) (found []ledger.Stored, err error) {
	pipe := s.client.Pipeline()
	values := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		values[i] = pipe.Get(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for i, key := range keys {
		value, err := values[i].Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, at, _ := strings.Cut(key, "}:")
		partition, name, _ := strings.Cut(at, ":")
		st := ledger.Stored{Address: ledger.Address{Partition: agentgw.Partition(partition), Name: name}, Record: ledger.Record{Name: name}}
		if len(value) == 0 || !unpack(value, &st.Record) {
			return nil, fmt.Errorf("%s is not a record of a ledger: give the ledger a prefix of its own (?prefix=…)", key)
		}
		found = append(found, st)
	}
	return found, nil
}

// numbers reads "a.b".
func numbers(text string) (a, b uint64, err error) {
	x, y, _ := strings.Cut(text, ".")
	if a, err = strconv.ParseUint(x, 10, 64); err == nil {
		b, err = strconv.ParseUint(y, 10, 64)
	}
	return a, b, err
}
