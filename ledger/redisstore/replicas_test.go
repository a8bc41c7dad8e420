package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agentgw/internal/redistest"
	"agentgw/ledger"
)

func openReplicated(t *testing.T, url string, replicas int) *Store {
	t.Helper()
	s, err := Open(url, Options{Replicas: replicas, ReplicaTimeout: time.Second, Window: testWindow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// unreplicated expects that a claim was written, and that its caller is told not to rely on it.
func unreplicated(t *testing.T, s *Store, sw ledger.Swap) {
	t.Helper()
	_, err := s.Swap(t.Context(), sw)
	if !errors.Is(err, ledger.ErrUnreplicated) || errors.Is(err, ledger.ErrNotApplied) || !strings.Contains(err.Error(), "attach replicas") {
		t.Errorf("got %v, expected ErrUnreplicated and the remedy", err)
	}
}

func TestReplicated(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	s := openReplicated(t, sentinels.URL, 1)
	if err := s.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := sentinels.Servers[0].Monitor(t)
	first := applied(t, s, sent(1))
	seen, err := m.Take()
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	for _, command := range seen {
		if strings.HasPrefix(command, `"wait" "1"`) {
			waits++
		}
	}
	if waits != 1 {
		t.Errorf("a claim was waited for %d times: %q", waits, seen)
	}
	held, err := sentinels.Servers[1].Do("GET", s.shard(claim(1).Partition).record(claim(1).Partition, "e1"))
	if err != nil || !strings.HasSuffix(held, "claim 1") {
		t.Errorf("the replica has %q, %v", held, err)
	}
	// A replica that hangs has the claim of nobody; nor is another connection told otherwise.
	if err := sentinels.Servers[1].Pause(); err != nil {
		t.Fatal(err)
	}
	hung := sent(4)
	unreplicated(t, s, hung)
	unreplicated(t, openReplicated(t, sentinels.URL, 1), hung)
	if err := sentinels.Servers[1].Resume(); err != nil {
		t.Fatal(err)
	}
	if err := sentinels.Cut(); err != nil {
		t.Fatal(err)
	}
	unreplicated(t, s, sent(2))
	again := sent(3)
	unreplicated(t, s, again)
	unreplicated(t, s, again) // nor when it is found written

	settle := claim(1)
	settle.Changes[0] = ledger.Change{Name: "e1", Want: first.Version, Value: []byte("done")}
	applied(t, s, settle) // what was begun can be settled
	if r, err := s.Swap(t.Context(), sent(1)); err != nil || r[0].Applied {
		t.Errorf("a duplicate needs no replica: %+v, %v", r, err)
	}
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "durability: local") {
		t.Errorf("health: %v", err)
	}
}

// replicatedClaim is a claim that asks by itself for a replica to have it.
func replicatedClaim(n int) ledger.Swap {
	sw := sent(n)
	sw.Replicated = true
	return sw
}

// A claim asks for a replica by itself, in a store that asks for none: with the replica gone it is the only one that suffers, and it holds
// up no others.
func TestReplicatedOnRequest(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	s := openReplicated(t, sentinels.URL, 0)
	applied(t, s, replicatedClaim(1))
	held, err := sentinels.Servers[1].Do("GET", s.shard(claim(1).Partition).record(claim(1).Partition, "e1"))
	if err != nil || !strings.HasSuffix(held, "claim 1") {
		t.Errorf("the replica has %q, %v", held, err)
	}
	if err := sentinels.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := s.Health(t.Context()); err != nil {
		t.Errorf("the others can do without: %v", err)
	}
	var waiting sync.WaitGroup
	for n := range 20 {
		waiting.Go(func() { unreplicated(t, s, replicatedClaim(10+n)) })
	}
	time.Sleep(50 * time.Millisecond) // they are under way
	began := time.Now()
	for n := range 20 {
		applied(t, s, sent(40+n))
	}
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("claims that need no replica took %s beside those that wait for one", took)
	}
	waiting.Wait()
}

// A claim that replicas have is there after a failover, whether or not the gateway that made it is.
func TestReplicatedSurvives(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := openReplicated(t, sentinels.URL, 1), openReplicated(t, sentinels.URL, 0)
	for n := range 50 {
		applied(t, a, sent(n))
	}
	a.Close()
	if _, err := sentinels.Die(); err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		if won, _ := claims(t, b, n); won {
			t.Errorf("claim %d was lost", n)
		}
	}
}

func TestReplicatedInCluster(t *testing.T) {
	cluster := redistest.StartReplicated(t)
	s := openReplicated(t, cluster.URL, 1)
	swaps := make([]ledger.Swap, 30) // over all primaries
	for n := range swaps {
		swaps[n] = sent(n)
	}
	replies, err := s.Swap(t.Context(), swaps...)
	if err != nil {
		t.Fatal(err)
	}
	for n, r := range replies {
		if !r.Applied || r.Err != nil {
			t.Errorf("claim %d: %+v", n, r)
		}
	}
	owner, err := cluster.Owner(s.shard(claim(40).Partition).version)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.MoveKey(s.shard(claim(41).Partition).version, cluster.Servers[(owner+1)%3]); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r, err := s.Swap(t.Context(), sent(41)) // its slot has moved
		if err == nil && r[0].Applied {
			break
		}
		if !errors.Is(err, ledger.ErrNotApplied) || time.Now().After(end) {
			t.Fatalf("after a move: %+v, %v", r, err)
		}
	}
	if err := cluster.Cut(owner); err != nil {
		t.Fatal(err)
	}
	unreplicated(t, s, sent(40))
	onRequest := openReplicated(t, cluster.URL, 0)
	asking, plain := replicatedClaim(40), sent(40)
	asking.Changes[0].Name, plain.Changes[0].Name = "e2", "e3" // of the same primary
	unreplicated(t, onRequest, asking)
	applied(t, onRequest, plain)
}

// While Redis reads its data from the disk nothing is taken, and then all is there.
func TestLoading(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Config: []string{"key-load-delay 5000", "loading-process-events-interval-bytes 1024"}})
	s := open(t, server.URL)
	for n := range 300 {
		applied(t, s, sent(n))
	}
	if _, err := server.Do("SAVE"); err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	go func() { back <- server.Restart() }()
	loading := 0
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r, err := s.Swap(t.Context(), claim(7))
		if err == nil {
			if r[0].Applied {
				t.Error("claimed twice")
			}
			break
		}
		if strings.Contains(err.Error(), "reading its data") {
			loading++
			if !errors.Is(err, ledger.ErrNotApplied) {
				t.Errorf("while loading: %v", err)
			}
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	if loading == 0 {
		t.Error("it was never seen loading")
	}
}

// A user with nothing but what the package comment lists, over TLS: claims, replicas, and a restart that forgets.
func TestLeastRightsOverTLS(t *testing.T) {
	server := redistest.Start(t, redistest.Options{TLS: true, Users: []string{
		"gw on >secret ~agw.{agw:*}:* -@all +info +eval +evalsha +script|load +time +get +set +del +zadd +zrem +zremrangebyscore +scan +zscan +zcard +exists +wait",
	}})
	url := fmt.Sprintf("rediss://gw:secret@%s?prefix=agw.&ca=%s", server.Addr, server.CertFile)
	a, b := gateways(t, url, Options{Window: testWindow})
	again, waited := forgets(t, a, b, func(t *testing.T, write func(int)) {
		write(0)
		write(10)
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	})
	if again != 0 || !waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
	unreplicated(t, openReplicated(t, url, 1), sent(50))
}
