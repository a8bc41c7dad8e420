package redistest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cluster is a Redis Cluster.
type Cluster struct {
	URL      string // redis-cluster://…
	Servers  []*Server
	Replicas []*Server // one of each of Servers, or none
}

// StartCluster runs a Redis Cluster of three primaries for one test.
func StartCluster(t TB) *Cluster {
	t.Helper()
	c, err := RunCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// StartReplicated runs a Redis Cluster of three primaries, each with a replica that takes over soon, for one test.
func StartReplicated(t TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	t.Cleanup(func() { c.Close() })
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	if err := c.replicate(); err != nil {
		t.Fatal(err)
	}
	return c
}

const primaries = 3

// RunCluster starts a Redis Cluster of three primaries. The caller closes it.
func RunCluster() (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start() error {
	var addrs []string
	for i := range primaries {
		s, err := Run(nodeOptions)
		if err != nil {
			return err
		}
		c.Servers = append(c.Servers, s)
		addrs = append(addrs, s.Addr)
		first, last := slots(i)
		if _, err := s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
			return err
		}
		if _, err := s.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i > 0 {
			host, port, _ := strings.Cut(c.Servers[0].Addr, ":")
			if _, err := s.Do("CLUSTER", "MEET", host, port); err != nil {
				return err
			}
		}
	}
	c.URL = "redis-cluster://" + strings.Join(addrs, ",")
	for _, s := range c.Servers {
		if err := await("the cluster is well", func() (bool, error) {
			info, err := s.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_size:%d", primaries)), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// nodeOptions are those of every node of a Cluster.
var nodeOptions = Options{Config: []string{"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 2000", "repl-ping-replica-period 1"}}

// replicate gives each primary a replica.
func (c *Cluster) replicate() error {
	for _, primary := range c.Servers {
		r, err := Run(nodeOptions)
		if err != nil {
			return err
		}
		c.Replicas = append(c.Replicas, r)
		host, port, _ := strings.Cut(primary.Addr, ":")
		if _, err := r.Do("CLUSTER", "MEET", host, port); err != nil {
			return err
		}
		id, err := primary.Do("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if err := await("the replica knows its primary", func() (bool, error) {
			_, err := r.Do("CLUSTER", "REPLICATE", id)
			return err == nil, err
		}); err != nil {
			return err
		}
		if err := await("the replica follows", func() (bool, error) {
			info, err := r.Do("INFO", "replication")
			return strings.Contains(info, "master_link_status:up"), err
		}); err != nil {
			return err
		}
	}
	for _, s := range append(c.Servers, c.Replicas...) {
		if err := await("all nodes know all", func() (bool, error) {
			info, err := s.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", 2*primaries)), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Cut makes the replica of a primary lose it, and not find back.
func (c *Cluster) Cut(primary int) error {
	if _, err := c.Replicas[primary].Do("CONFIG", "SET", "masterauth", "not this"); err != nil {
		return err
	}
	return await("the replica is cut off", func() (bool, error) {
		if _, err := c.Servers[primary].Do("CLIENT", "KILL", "TYPE", "replica"); err != nil {
			return false, err
		}
		info, err := c.Servers[primary].Do("INFO", "replication")
		return strings.Contains(info, "connected_slaves:0"), err
	})
}

// Die kills a primary and waits until its replica serves in its place, and all others know it.
func (c *Cluster) Die(primary int) error {
	c.Servers[primary].Kill()
	return await("the replica takes over", func() (bool, error) {
		role, err := c.Replicas[primary].Do("ROLE")
		if err != nil || !strings.HasPrefix(role, "master") {
			return false, err
		}
		for i, s := range append(c.Servers, c.Replicas...) {
			if i == primary {
				continue
			}
			if info, err := s.Do("CLUSTER", "INFO"); err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false, err
			}
		}
		return true, nil
	})
}

// Owner is the primary that serves a key.
func (c *Cluster) Owner(key string) (int, error) {
	text, err := c.Servers[0].Do("CLUSTER", "KEYSLOT", key)
	if err != nil {
		return 0, err
	}
	slot, err := strconv.Atoi(text)
	for i := range primaries {
		if first, last := slots(i); first <= slot && slot <= last {
			return i, err
		}
	}
	return 0, fmt.Errorf("slot %q of key %q: %v", text, key, err)
}

// slots of primary i.
func slots(i int) (first, last int) {
	const all = 16384
	return i * all / primaries, (i+1)*all/primaries - 1
}

// Move gives a slot, with its keys, from one primary to another, and lets the others find out by redirection.
func (c *Cluster) Move(slot int, to *Server) error {
	var from *Server
	for i, s := range c.Servers {
		if first, last := slots(i); first <= slot && slot <= last {
			from = s
		}
	}
	if from == nil || from == to {
		return fmt.Errorf("slot %d cannot move from %v to %v", slot, from, to)
	}
	if err := c.agree(); err != nil {
		return err
	}
	if err := c.StartMove(slot, from, to); err != nil {
		return err
	}
	keys, err := from.Do("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(slot), "1000")
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(to.Addr, ":")
	for key := range strings.SplitSeq(keys, "\n") {
		if key == "" {
			continue
		}
		if _, err := from.Do("MIGRATE", host, port, key, "0", "5000"); err != nil {
			return err
		}
	}
	id, err := to.Do("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	for _, s := range []*Server{to, from} {
		if _, err := s.Do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", id); err != nil {
			return err
		}
	}
	return nil
}

// agree waits until all primaries have heard of the latest epoch. The new owner of a slot takes a later one; where it has not heard of
// the old owner's, the slot is taken back, and each sends clients to the other.
func (c *Cluster) agree() error {
	return await("all nodes have heard of the latest epoch", func() (bool, error) {
		epochs := map[string]bool{}
		for _, s := range c.Servers {
			info, err := s.Do("CLUSTER", "INFO")
			if err != nil {
				return false, err
			}
			_, rest, _ := strings.Cut(info, "cluster_current_epoch:")
			epoch, _, _ := strings.Cut(rest, "\r\n")
			epochs[epoch] = true
		}
		return len(epochs) == 1, nil
	})
}

// MoveKey moves the slot of a key.
func (c *Cluster) MoveKey(key string, to *Server) error {
	text, err := c.Servers[0].Do("CLUSTER", "KEYSLOT", key)
	if err != nil {
		return err
	}
	slot, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	return c.Move(slot, to)
}

// StartMove leaves a slot between two primaries: keys that are not at the old one are asked for at the new one.
func (c *Cluster) StartMove(slot int, from, to *Server) error {
	fromID, err := from.Do("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	toID, err := to.Do("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	if _, err := to.Do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "IMPORTING", fromID); err != nil {
		return err
	}
	_, err = from.Do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", toID)
	return err
}

// Close ends all of them.
func (c *Cluster) Close() error {
	var errs []error
	for _, s := range append(c.Servers, c.Replicas...) {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
