package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sentinels is a primary with a replica, watched by sentinels.
type Sentinels struct {
	URL     string // redis-sentinel://…/main
	Servers []*Server
	Watch   []*Server // the sentinels
}

const mainName = "main"

// StartSentinel runs a primary, a replica and so many sentinels for one test.
func StartSentinel(t TB, sentinels int) *Sentinels {
	t.Helper()
	s, err := RunSentinel(sentinels)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// RunSentinel starts a primary, a replica and so many sentinels. The caller closes them.
func RunSentinel(sentinels int) (*Sentinels, error) {
	s := &Sentinels{}
	err := s.start(sentinels)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Sentinels) start(sentinels int) error {
	for i := range 2 {
		var o Options
		if i > 0 {
			host, port, _ := strings.Cut(s.Servers[0].Addr, ":")
			o.Config = []string{"replicaof " + host + " " + port}
		}
		server, err := Run(o)
		if err != nil {
			return err
		}
		s.Servers = append(s.Servers, server)
	}
	if err := await("the replica follows", func() (bool, error) {
		info, err := s.Servers[1].Do("INFO", "replication")
		return strings.Contains(info, "master_link_status:up"), err
	}); err != nil {
		return err
	}
	var addrs []string
	for range sentinels {
		w, err := runSentinel(s.Servers[0].Addr, sentinels/2+1)
		if err != nil {
			return err
		}
		s.Watch = append(s.Watch, w)
		addrs = append(addrs, w.Addr)
	}
	s.URL = "redis-sentinel://" + strings.Join(addrs, ",") + "/" + mainName
	for _, w := range s.Watch {
		if err := await("the sentinels know each other", func() (bool, error) {
			info, err := w.Do("INFO", "sentinel")
			return strings.Contains(info, fmt.Sprintf("status=ok,address=%s,slaves=1,sentinels=%d", s.Servers[0].Addr, sentinels)), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// runSentinel starts a sentinel that watches the primary at addr.
func runSentinel(addr string, quorum int) (*Server, error) {
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, Socket: filepath.Join(dir, "s"), Addr: "127.0.0.1:" + strconv.Itoa(port)}
	conf := filepath.Join(dir, "sentinel.conf") // Sentinel writes to it
	lines := []string{
		"port " + strconv.Itoa(port), "bind 127.0.0.1", "dir " + dir, "unixsocket " + s.Socket, "logfile " + filepath.Join(dir, "log"),
		fmt.Sprintf("sentinel monitor %s %s %d", mainName, strings.Replace(addr, ":", " ", 1), quorum),
		"sentinel down-after-milliseconds " + mainName + " 500",
		"sentinel failover-timeout " + mainName + " 2000",
	}
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	s.args = []string{conf, "--sentinel"}
	if err := s.launch(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// Primary is the server that the first sentinel takes for the primary.
func (s *Sentinels) Primary() (*Server, error) {
	at, err := s.Watch[0].Do("SENTINEL", "get-master-addr-by-name", mainName)
	if err != nil {
		return nil, err
	}
	for _, server := range s.Servers {
		if server.Addr == strings.Replace(at, "\n", ":", 1) {
			return server, nil
		}
	}
	return nil, fmt.Errorf("the primary is at %q, which is none of ours", at)
}

// Failover makes the replica the primary and waits until it serves as such.
func (s *Sentinels) Failover() error {
	old, err := s.Primary()
	if err != nil {
		return err
	}
	if err := await("a sentinel agrees to fail over", func() (bool, error) {
		_, err := s.Watch[0].Do("SENTINEL", "FAILOVER", mainName)
		var refused Refusal
		if errors.As(err, &refused) {
			return false, nil // such as NOGOODSLAVE, INPROG
		}
		return err == nil, err
	}); err != nil {
		return err
	}
	return s.awaitSuccessor(old)
}

func (s *Sentinels) awaitSuccessor(old *Server) error {
	return await("the primary changes", func() (bool, error) {
		now, err := s.Primary()
		if err != nil || now == old {
			return false, err
		}
		role, err := now.Do("ROLE")
		return strings.HasPrefix(role, "master"), err
	})
}

// Cut makes the replica lose its primary, and not find back: what is written from now on dies with the primary.
func (s *Sentinels) Cut() error {
	primary, err := s.Primary()
	if err != nil {
		return err
	}
	for _, server := range s.Servers {
		if server != primary {
			if _, err := server.Do("CONFIG", "SET", "masterauth", "not this"); err != nil {
				return err
			}
		}
	}
	return await("the replica is cut off", func() (bool, error) {
		if _, err := primary.Do("CLIENT", "KILL", "TYPE", "replica"); err != nil {
			return false, err
		}
		info, err := primary.Do("INFO", "replication")
		return strings.Contains(info, "connected_slaves:0"), err
	})
}

// CaughtUp waits until the replica has all that the primary has written.
func (s *Sentinels) CaughtUp() error {
	primary, err := s.Primary()
	if err != nil {
		return err
	}
	return await("the replica has caught up", func() (bool, error) {
		info, err := primary.Do("INFO", "replication")
		_, rest, _ := strings.Cut(info, "master_repl_offset:")
		offset, _, _ := strings.Cut(rest, "\r\n")
		return offset != "" && strings.Contains(info, "state=online,offset="+offset+","), err
	})
}

// Die kills the primary and waits until the replica serves as such. It returns what was the primary.
func (s *Sentinels) Die() (*Server, error) {
	old, err := s.Primary()
	if err != nil {
		return nil, err
	}
	old.Kill()
	return old, s.awaitSuccessor(old)
}

// Rejoin starts a server that was killed, as a replica of the primary, and ends what Cut did.
func (s *Sentinels) Rejoin(dead *Server) error {
	if err := dead.Restart(); err != nil {
		return err
	}
	primary, err := s.Primary()
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(primary.Addr, ":")
	if _, err := dead.Do("REPLICAOF", host, port); err != nil {
		return err
	}
	for _, server := range s.Servers {
		if _, err := server.Do("CONFIG", "SET", "masterauth", ""); err != nil {
			return err
		}
	}
	return await("the replica follows again", func() (bool, error) {
		info, err := dead.Do("INFO", "replication")
		return strings.Contains(info, "master_link_status:up"), err
	})
}

// Close ends all of them.
func (s *Sentinels) Close() error {
	var errs []error
	for _, server := range append(s.Watch, s.Servers...) {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// await asks until the answer is yes.
func await(what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		ok, err := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited 30 s until %s: %w", what, errors.Join(err, ctx.Err()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Settled waits until one server is the primary and all others follow it.
func (s *Sentinels) Settled() error {
	return await("all servers follow one primary", func() (bool, error) {
		primary, err := s.Primary()
		if err != nil {
			return false, err
		}
		for _, server := range s.Servers {
			info, err := server.Do("INFO", "replication")
			if err != nil || server == primary && !strings.Contains(info, "role:master") || server != primary && !strings.Contains(info, "master_link_status:up") {
				return false, err
			}
		}
		return true, nil
	})
}
