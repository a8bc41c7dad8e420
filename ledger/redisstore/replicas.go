package redisstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"agentgw/ledger"
)

// needed is how many replicas must have what a swap writes before its caller may rely on it.
func (s *Store) needed(sw *ledger.Swap) int {
	switch {
	case !sw.Claim:
		return 0
	case sw.Replicated:
		return max(1, s.replicas)
	}
	return s.replicas
}

// replicasOf is how many replicas one of the commands needs, at most.
func replicasOf(cmds []once) int {
	most := 0
	for i := range cmds {
		most = max(most, cmds[i].replicas)
	}
	return most
}

// sendReplicated sends commands, and with them, on the same connection and in the same round trip, the wait for the replicas. In a Cluster
// that needs one connection a primary, past go-redis' own way of following slots that move.
func (s *Store) sendReplicated(ctx context.Context, cmds []once) {
	if s.cluster == nil {
		s.sendAndWait(ctx, s.client.(*redis.Client), cmds)
		return
	}
	by := map[*redis.Client][]int{}
	for i, c := range cmds {
		node, err := s.cluster.MasterForKey(ctx, c.shard.version)
		if err != nil {
			c.SetErr(fmt.Errorf("%w (%w)", s.explain(err), ledger.ErrNotApplied))
			continue
		}
		by[node] = append(by[node], i)
	}
	var all sync.WaitGroup
	for node, at := range by {
		all.Go(func() {
			part := make([]once, len(at))
			for i, n := range at {
				part[i] = cmds[n]
			}
			s.sendAndWait(ctx, node, part)
			for i, n := range at {
				cmds[n] = part[i]
			}
		})
	}
	all.Wait()
}

// sendAndWait sends commands to one primary, and marks the claims that too few replicas have. That holds for one that was made before, too:
// WAIT asks the replicas how far they are, and compares with how far the primary was when it ran the script.
func (s *Store) sendAndWait(ctx context.Context, node *redis.Client, cmds []once) {
	pipe := node.Pipeline()
	for i := range cmds {
		pipe.Process(ctx, &cmds[i])
	}
	wait := redis.NewIntCmd(ctx, "wait", replicasOf(cmds), s.replicaTimeout.Milliseconds())
	pipe.Process(ctx, onlyOnce{wait})
	execute(ctx, pipe, cmds)
	for i := range cmds {
		c := &cmds[i]
		if c.replicas == 0 || c.Err() != nil || c.Val() == "" || c.Val()[0] == 'N' {
			continue
		}
		if wait.Err() != nil || wait.Val() < int64(c.replicas) {
			c.short = fmt.Errorf("ledger %s: %d of %d replicas had the claim within %s: see INFO replication there, attach replicas, or ask for less (durability: local): %w",
				s.name, wait.Val(), c.replicas, s.replicaTimeout, ledger.ErrUnreplicated)
		}
	}
}

// onlyOnce is any command that go-redis must not send again by itself.
type onlyOnce struct{ redis.Cmder }

func (onlyOnce) NoRetry() bool { return true }
