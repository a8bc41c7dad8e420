package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"agentgw"
	"agentgw/internal/redistest"
	"agentgw/ledger"
)

var stamps atomic.Uint64

func claim(n int) ledger.Swap {
	p := agentgw.NewPartition('e', agentgw.Digest{byte(n), byte(n >> 8)})
	return ledger.Swap{Partition: p, Stamp: stamps.Add(1), Changes: []ledger.Change{{Name: "e1", Value: fmt.Appendf(nil, "claim %d", n), Open: true}}}
}

func applied(t *testing.T, s *Store, sw ledger.Swap) ledger.Reply {
	t.Helper()
	r, err := s.Swap(t.Context(), sw)
	if err != nil {
		t.Fatal(err)
	}
	if r[0].Err != nil || !r[0].Applied {
		t.Fatalf("not applied: %+v", r[0])
	}
	return r[0]
}

// refused expects an error after which nothing was written, and that says what to do.
func refused(t *testing.T, s *Store, sw ledger.Swap, says string) {
	t.Helper()
	_, err := s.Swap(t.Context(), sw)
	if !errors.Is(err, ledger.ErrNotApplied) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, expected ErrNotApplied and %q", err, says)
	}
}

// scripts counts the scripts among commands, and fails on anything else but what a look at the primary consists of.
func scripts(t *testing.T, m *redistest.Monitoring) (n int) {
	t.Helper()
	seen, err := m.Take()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range seen {
		command = strings.ToLower(command)
		switch {
		case strings.HasPrefix(command, `"eval`):
			n++
		case strings.HasPrefix(command, `"info"`), strings.HasPrefix(command, `"time"`), strings.HasPrefix(command, `"get"`), strings.HasPrefix(command, `"script" "load"`):
		default:
			t.Errorf("besides scripts there was %s", command)
		}
	}
	return n
}

func TestRoundTrips(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	if err := s.Health(t.Context()); err != nil { // which leaves the script there
		t.Fatal(err)
	}
	m := server.Monitor(t)
	step := func(what string, want int, do func()) {
		t.Helper()
		do()
		if got := scripts(t, m); got != want {
			t.Errorf("%s: %d commands, expected %d", what, got, want)
		}
	}
	var r ledger.Reply
	step("a first call's claim", 1, func() { r = applied(t, s, claim(1)) })
	step("its settling", 1, func() {
		sw := claim(1)
		sw.Changes[0] = ledger.Change{Name: "e1", Want: r.Version, Value: []byte("done"), Keep: time.Hour}
		applied(t, s, sw)
	})
	step("a duplicate", 1, func() {
		if r, err := s.Swap(t.Context(), claim(1)); err != nil || r[0].Applied {
			t.Error(r, err)
		}
	})
	step("a claim with a caller's key", 2, func() {
		if _, err := s.Swap(t.Context(), claim(2), claim(3)); err != nil {
			t.Error(err)
		}
	})
	if _, err := server.Do("SCRIPT", "FLUSH"); err != nil {
		t.Fatal(err)
	}
	m.Take()
	step("a claim where the script was forgotten", 2, func() { applied(t, s, claim(4)) })
	server.Do("SCRIPT", "FLUSH")
	m.Take()
	step("several of them", 6, func() {
		replies, err := s.Swap(t.Context(), claim(5), claim(6), claim(7))
		for _, r := range replies {
			if !r.Applied {
				t.Errorf("not applied: %+v", r)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
}

func TestAnswerLost(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := server.StartProxy(t)
	s := open(t, proxy.URL)
	applied(t, s, claim(0)) // the connection and the script are there
	for _, swaps := range [][]ledger.Swap{{claim(1)}, {claim(2), claim(3), claim(4)}} {
		m := server.Monitor(t)
		proxy.LoseReplies(1)
		_, err := s.Swap(t.Context(), swaps...)
		if err == nil || errors.Is(err, ledger.ErrNotApplied) {
			t.Fatalf("the answer was lost and the caller got %v", err)
		}
		if n := scripts(t, m); n != len(swaps) {
			t.Errorf("%d swaps ran %d times", len(swaps), n)
		}
		again, err := s.Swap(t.Context(), swaps...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range again {
			if !r.Applied || r.Version == 0 || string(r.Records[0].Value) != string(swaps[i].Changes[0].Value) {
				t.Errorf("sent again: %+v", r)
			}
		}
		third, err := s.Swap(t.Context(), swaps...)
		if err != nil || third[0].Version != again[0].Version {
			t.Errorf("sent a third time: version %d after %d, %v", third[0].Version, again[0].Version, err)
		}
	}
}

// losing is a connection whose next answer to a script never comes.
type losing struct {
	net.Conn
	lose *atomic.Int64
	lost bool
}

func (c *losing) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("eval")) && c.lose.Add(-1) >= 0 {
		c.lost = true
	}
	return c.Conn.Write(b)
}

func (c *losing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

func TestAnswerLostInCluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	var lose atomic.Int64
	s, err := Open(cluster.URL, Options{dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		return &losing{Conn: conn, lose: &lose}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	monitors := make([]*redistest.Monitoring, len(cluster.Servers))
	for i, server := range cluster.Servers {
		monitors[i] = server.Monitor(t)
	}
	count := func() (n int) {
		for _, m := range monitors {
			seen, err := m.Take()
			if err != nil {
				t.Fatal(err)
			}
			for _, command := range seen {
				if strings.HasPrefix(command, `"eval`) {
					n++
				}
			}
		}
		return n
	}
	one := claim(1)
	lose.Store(1)
	if _, err := s.Swap(t.Context(), one); err == nil || errors.Is(err, ledger.ErrNotApplied) {
		t.Errorf("the answer was lost and the caller got %v", err)
	}
	if n := count(); n != 1 {
		t.Errorf("one swap ran %d times", n)
	}
	applied(t, s, one)
	count()

	swaps := make([]ledger.Swap, 30) // over all nodes
	for i := range swaps {
		swaps[i] = claim(100 + i)
	}
	lose.Store(1) // on one of them
	replies, err := s.Swap(t.Context(), swaps...)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(); n != len(swaps) {
		t.Errorf("%d swaps ran %d times", len(swaps), n)
	}
	lost := 0
	for i, r := range replies {
		switch {
		case r.Err == nil && r.Applied:
		case r.Err != nil && !errors.Is(r.Err, ledger.ErrNotApplied):
			lost++
			applied(t, s, swaps[i])
		default:
			t.Errorf("swap %d: %+v", i, r)
		}
	}
	if lost == 0 || lost == len(swaps) {
		t.Errorf("%d of %d answers were lost with one connection", lost, len(swaps))
	}
}

func TestClusterRedirects(t *testing.T) {
	cluster := redistest.StartCluster(t)
	s := open(t, cluster.URL)
	sw := claim(1)
	first := applied(t, s, sw)
	slotText, err := cluster.Servers[0].Do("CLUSTER", "KEYSLOT", s.shard(sw.Partition).version)
	if err != nil {
		t.Fatal(err)
	}
	var slot int
	fmt.Sscan(slotText, &slot)
	from := cluster.Servers[slot*3/16384]
	to := cluster.Servers[(slot*3/16384+1)%3]
	if err := cluster.Move(slot, to); err != nil {
		t.Fatal(err)
	}
	sw.Stamp, sw.Changes[0].Want, sw.Changes[0].Value = stamps.Add(1), first.Version, []byte("after the move")
	second := applied(t, s, sw)
	if second.Version <= first.Version {
		t.Errorf("version %d after %d", second.Version, first.Version)
	}
	// A slot between two nodes whose keys are still with the old one is served there; one without keys by the new one.
	if err := cluster.StartMove(slot, to, from); err != nil {
		t.Fatal(err)
	}
	sw.Stamp, sw.Changes[0].Want, sw.Changes[0].Value = stamps.Add(1), second.Version, []byte("during a move")
	applied(t, s, sw)
}

func TestEvictionIsUnsafe(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	if err := s.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"allkeys-lru", "volatile-ttl", "allkeys-random"} {
		if _, err := server.Do("CONFIG", "SET", "maxmemory-policy", policy); err != nil {
			t.Fatal(err)
		}
		err := s.Health(t.Context())
		if err == nil || !strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), "CONFIG SET maxmemory-policy noeviction") {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

func TestFull(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	r := applied(t, s, claim(1))
	if _, err := server.Do("CONFIG", "SET", "maxmemory", "1"); err != nil {
		t.Fatal(err)
	}
	refused(t, s, claim(2), "raise maxmemory")
	settle := claim(1)
	settle.Changes[0] = ledger.Change{Name: "e1", Want: r.Version, Value: []byte("done")}
	applied(t, s, settle) // what was begun can be settled
	if found, _, err := s.Open(t.Context(), "", 10); err != nil || len(found) != 0 {
		t.Errorf("open: %v, %v", found, err)
	}
}

func TestReplica(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Config: []string{"replicaof 127.0.0.1 1"}})
	s := open(t, server.URL)
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "redis-sentinel://") {
		t.Errorf("health of a replica: %v", err)
	}
	refused(t, s, claim(1), "redis-sentinel://")
}

func TestClusterBehindAPlainURL(t *testing.T) {
	cluster := redistest.StartCluster(t)
	s := open(t, "redis://"+cluster.Servers[0].Addr)
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "redis-cluster://") {
		t.Errorf("health: %v", err)
	}
	for n := range 20 {
		if _, err := s.Swap(t.Context(), claim(n)); err != nil {
			if !errors.Is(err, ledger.ErrNotApplied) || !strings.Contains(err.Error(), "redis-cluster://") {
				t.Errorf("swap: %v", err)
			}
			return
		}
	}
	t.Error("no swap was redirected")
}

func TestForeignKeys(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	for i, key := range []string{s.shard(claim(1).Partition).open, s.shard(claim(1).Partition).version, s.shard(claim(1).Partition).record(claim(1).Partition, "e1")} {
		server.Do("FLUSHALL")
		if _, err := server.Do("LPUSH", key, "x"); err != nil {
			t.Fatal(err)
		}
		refused(t, s, claim(1), "prefix")
		if left, err := server.Do("KEYS", "*:e*:e1"); err != nil || (left != "" && i != 2) {
			t.Errorf("%q is left, %v", left, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.TCP)
	applied(t, s, claim(1))
	server.Kill()
	s.Swap(t.Context(), claim(2)) // over the old connection: not known
	began := time.Now()
	refused(t, s, claim(3), "is it running")
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %v", took)
	}
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "is it running") {
		t.Errorf("health: %v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Swap(t.Context(), claim(1)); err != nil || r[0].Applied { // a memory-only Redis has forgotten, and is told again
		t.Errorf("claimed twice: %+v, %v", r, err)
	}
}

func TestPaused(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	applied(t, s, claim(0))
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	// Whoever comes first is sent; who comes right after waits behind it, and some are sent with a later run.
	var wait sync.WaitGroup
	for n := range 20 {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(100+10*n)*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := s.Swap(ctx, claim(1+n))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("caller %d: %v", n, err)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("caller %d: took %v", n, took)
			}
		})
	}
	wait.Wait()
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	applied(t, s, claim(50))
}

// One caller's short deadline ends nobody else's call, and nobody is forgotten.
func TestCancelledCallersHarmNobody(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	applied(t, s, claim(0))
	var wait sync.WaitGroup
	var done, notApplied, unknown atomic.Int64
	for client := range 32 {
		wait.Go(func() {
			for n := range 200 {
				sw := claim(1 + client*200 + n)
				impatient := client%2 == 0
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				if impatient {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
				}
				r, err := s.Swap(ctx, sw)
				cancel()
				switch {
				case err == nil && r[0].Applied && string(r[0].Records[0].Value) == string(sw.Changes[0].Value):
					done.Add(1)
				case impatient && errors.Is(err, ledger.ErrNotApplied):
					notApplied.Add(1)
					look := ledger.Swap{Partition: sw.Partition, Changes: []ledger.Change{{Name: "e1", Look: true}}}
					if r := applied(t, s, look); r.Records[0].Version != 0 {
						t.Errorf("said to be not applied, but there is %+v", r.Records[0])
					}
				case impatient && errors.Is(err, context.DeadlineExceeded):
					unknown.Add(1)
				default:
					t.Errorf("client %d: %+v, %v", client, r, err)
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d done, %d not applied, %d unknown", done.Load(), notApplied.Load(), unknown.Load())
	atRest := func() (flying, waiting int) {
		s.single.plain.mu.Lock()
		defer s.single.plain.mu.Unlock()
		return s.single.plain.flying, len(s.single.plain.waiting)
	}
	flying, waiting := atRest()
	for end := time.Now().Add(10 * time.Second); flying != 0 && time.Now().Before(end); flying, waiting = atRest() {
		time.Sleep(time.Millisecond) // the last run tells its callers before it ends
	}
	if flying != 0 || waiting != 0 {
		t.Errorf("at rest %d runs are in the air and %d callers wait", flying, waiting)
	}
}

func TestFailover(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	s := open(t, sentinels.URL)
	first := applied(t, s, claim(1))
	if err := sentinels.CaughtUp(); err != nil {
		t.Fatal(err)
	}
	if err := sentinels.Failover(); err != nil {
		t.Fatal(err)
	}
	look := ledger.Swap{Partition: claim(1).Partition, Changes: []ledger.Change{{Name: "e1", Look: true}}}
	limit := time.Now().Add(15 * time.Second)
	for s.Health(t.Context()) != nil {
		if time.Now().After(limit) {
			t.Fatal("no primary 15 s after the failover:", s.Health(t.Context()))
		}
		time.Sleep(20 * time.Millisecond)
	}
	if r := applied(t, s, look); r.Records[0].Version != first.Version {
		t.Errorf("after the failover: %+v", r.Records[0])
	}
	if second := applied(t, s, claim(2)); second.Version <= first.Version {
		t.Errorf("version %d after %d", second.Version, first.Version)
	}
}

// Where the clock has gone back, or runs ahead of a failed primary's, versions go on from the last one.
func TestVersionsDoNotFollowTheClockBack(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	const future = uint64(4_000_000_000_000_000) // in the year 2096
	if _, err := server.Do("SET", s.shard(claim(1).Partition).version, "\x00\x0e\x35\xfa\x93\x1a\x00\x00"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r := applied(t, s, claim(1))
		if want := future + uint64(i) + 1; r.Version != want {
			t.Fatalf("version %d, expected %d", r.Version, want)
		}
		if r.Now.Year() > 2090 {
			t.Fatalf("now is %v", r.Now)
		}
		drop := claim(1)
		drop.Changes[0] = ledger.Change{Name: "e1", Want: r.Version}
		applied(t, s, drop)
	}
}

// The index of open records does not fill up with records that expired open.
func TestIndexForgetsTheExpired(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	sw := claim(1)
	for n := range 20 {
		sw.Stamp, sw.Changes[0].Name, sw.Changes[0].Keep = stamps.Add(1), fmt.Sprintf("e%d", n), time.Millisecond
		applied(t, s, sw)
	}
	time.Sleep(20 * time.Millisecond)
	sw.Stamp, sw.Changes[0].Name, sw.Changes[0].Keep = stamps.Add(1), "last", time.Hour
	applied(t, s, sw)
	if n, err := server.Do("ZCARD", s.shard(sw.Partition).open); err != nil || n != "1" {
		t.Errorf("the index holds %s entries, %v", n, err)
	}
}

// Two locks on one door: neither the client nor a command lets go-redis send anything again by itself. TestAnswerLost tells when both are
// gone.
func TestNothingIsRetried(t *testing.T) {
	for _, url := range []string{"redis://127.0.0.1:1", "redis-sentinel://127.0.0.1:1/m", "redis-cluster://127.0.0.1:1"} {
		s, err := Open(url, Options{})
		if err != nil {
			t.Fatal(err)
		}
		retries := -1
		switch c := s.client.(type) {
		case *redis.Client:
			retries = c.Options().MaxRetries
		case *redis.ClusterClient:
			retries = c.Options().MaxRetries
		}
		if retries > 0 {
			t.Errorf("%s: the client sends a command up to %d times again", url, retries)
		}
		s.Close()
	}
	if !(once{}).NoRetry() {
		t.Error("a swap may be sent again")
	}
}
