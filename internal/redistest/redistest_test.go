package redistest

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestServer(t *testing.T) {
	s := Start(t, Options{Config: []string{"maxmemory 10mb"}})
	m := s.Monitor(t)
	for _, args := range [][]string{{"SET", "a", "1"}, {"EVAL", "redis.call('GET', KEYS[1]) return redis.call('SET', KEYS[1], '2')", "1", "a"}} {
		if got, err := s.Do(args...); err != nil || got != "OK" {
			t.Fatalf("%v: %q, %v", args, got, err)
		}
	}
	if got, err := s.Do("GET", "a"); err != nil || got != "2" {
		t.Fatalf("GET: %q, %v", got, err)
	}
	seen, err := m.Take()
	if err != nil || len(seen) != 3 || !strings.HasPrefix(strings.ToLower(seen[1]), `"eval"`) {
		t.Fatalf("seen %q, %v", seen, err)
	}
	if _, err := s.Do("NOSUCH"); !errors.As(err, new(Refusal)) {
		t.Fatalf("an unknown command got %v", err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Do("CONFIG", "GET", "maxmemory"); err != nil || got != "maxmemory\n10485760" {
		t.Fatalf("CONFIG: %q, %v", got, err)
	}
	dir := s.dir
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatalf("its files are left: %v", err)
	}
}

func TestWithoutRedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Run(Options{}); !errors.Is(err, errNoRedis) || !strings.Contains(err.Error(), "install") {
		t.Fatalf("without redis-server: %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	if _, err := Run(Options{Config: []string{"no-such-setting yes"}}); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Fatalf("a bad setting: %v", err)
	}
}

func TestSentinel(t *testing.T) {
	s := StartSentinel(t, 1)
	before, err := s.Primary()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Failover(); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Primary(); err != nil || after == before {
		t.Fatalf("the primary is %v, %v", after, err)
	}
}

func TestCluster(t *testing.T) {
	c := StartCluster(t)
	served := 0
	for _, s := range c.Servers {
		if _, err := s.Do("SET", "{a}1", "x"); err == nil {
			served++
		} else if !strings.HasPrefix(err.Error(), "MOVED") {
			t.Fatal(err)
		}
	}
	if served != 1 {
		t.Fatalf("%d of %d primaries serve one key", served, len(c.Servers))
	}
}
