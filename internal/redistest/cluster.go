package redistest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cluster is a Redis Cluster of primaries without replicas.
type Cluster struct {
	URL     string // redis-cluster://…
	Servers []*Server
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
		s, err := Run(Options{Config: []string{"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 5000"}})
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
	for _, s := range c.Servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
