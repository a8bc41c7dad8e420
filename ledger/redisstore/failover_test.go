package redisstore

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/internal/redistest"
	"agentgw/ledger"
)

const testWindow = 3 * time.Second

// gateways are two stores on one ledger, as two gateways have them.
func gateways(t *testing.T, url string, o Options) (a, b *Store) {
	t.Helper()
	both := make([]*Store, 2)
	for i := range both {
		s, err := Open(url, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if err := s.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
		both[i] = s
	}
	return both[0], both[1]
}

// sent is a claim after which something would be sent.
func sent(n int) ledger.Swap {
	sw := claim(n)
	sw.Claim = true
	return sw
}

// claims asks again until the store takes a claim or says that another has it.
func claims(t *testing.T, s *Store, n int) (won bool, waited bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		r, err := s.Swap(t.Context(), sent(n))
		switch {
		case err == nil:
			return r[0].Applied, waited
		case time.Now().After(end):
			t.Fatal("never:", err)
		}
		waited = waited || strings.Contains(err.Error(), "its primary has changed")
		time.Sleep(20 * time.Millisecond)
	}
}

// lossy is a fault after which the ledger has forgotten claims 10 to 19 and remembers 0 to 9.
type lossy func(t *testing.T, write func(from int))

func sentinelLoses(sentinels *redistest.Sentinels) lossy {
	return func(t *testing.T, write func(from int)) {
		t.Helper()
		write(0)
		if err := sentinels.CaughtUp(); err != nil {
			t.Fatal(err)
		}
		if err := sentinels.Cut(); err != nil {
			t.Fatal(err)
		}
		write(10)
		if _, err := sentinels.Die(); err != nil {
			t.Fatal(err)
		}
	}
}

// forgets runs a fault and says how many of the lost claims another gateway could make again, and whether it was made to wait.
func forgets(t *testing.T, a, b *Store, fault lossy) (again int, waited bool) {
	t.Helper()
	versions := map[int]uint64{}
	fault(t, func(from int) {
		for n := from; n < from+10; n++ {
			r := applied(t, a, sent(n))
			versions[n] = r.Version
		}
	})
	for n := range 20 {
		won, w := claims(t, b, n)
		waited = waited || w
		if won {
			again++
			continue
		}
		look := ledger.Swap{Partition: claim(n).Partition, Changes: []ledger.Change{{Name: "e1", Look: true}}}
		if r := applied(t, b, look); r.Records[0].Version != versions[n] {
			t.Errorf("record %d has version %d instead of %d", n, r.Records[0].Version, versions[n])
		}
	}
	return again, waited
}

func TestWhatAFailoverLosesIsWrittenBack(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{Window: testWindow})
	if again, waited := forgets(t, a, b, sentinelLoses(sentinels)); again != 0 || !waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
	// What was begun before is settled, and what comes now gets a later version.
	r, err := a.Swap(t.Context(), ledger.Swap{Partition: claim(15).Partition, Changes: []ledger.Change{{Name: "e1", Look: true}}})
	if err != nil {
		t.Fatal(err)
	}
	settle := claim(15)
	settle.Changes[0] = ledger.Change{Name: "e1", Want: r[0].Records[0].Version, Value: []byte("done"), Keep: time.Hour}
	if s := applied(t, a, settle); s.Version <= r[0].Records[0].Version {
		t.Errorf("version %d after %d", s.Version, r[0].Records[0].Version)
	}
}

// Without the healing the same failover loses claims: the test above can fail.
func TestAFailoverLoses(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{noHeal: true})
	if again, waited := forgets(t, a, b, sentinelLoses(sentinels)); again < 10 || waited {
		t.Errorf("%d of 10 lost claims were made again; waited: %v", again, waited)
	}
}

// A Redis before 7.0 gives its replicas the scripts that it knows: then each call asks who answers.
func TestReplicasThatKnowTheScript(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{Window: testWindow, askScript: true})
	fault := sentinelLoses(sentinels)
	again, waited := forgets(t, a, b, func(t *testing.T, write func(int)) {
		if _, err := sentinels.Servers[1].Do("SCRIPT", "LOAD", a.served.Load().text); err != nil {
			t.Fatal(err)
		}
		fault(t, write)
	})
	if again != 0 || !waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
}

// A replica that was the primary before knows the script of then, and not that of now.
func TestBackToTheFirst(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{Window: testWindow})
	if err := sentinels.Failover(); err != nil {
		t.Fatal(err)
	}
	claims(t, a, 100)
	claims(t, b, 101)
	if err := sentinels.Settled(); err != nil {
		t.Fatal(err)
	}
	if again, waited := forgets(t, a, b, sentinelLoses(sentinels)); again != 0 || !waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
}

// Whoever prefers it goes on at once, and is safe from what it did itself.
func TestGoOnAtOnce(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, _ := gateways(t, sentinels.URL, Options{Window: -1})
	if again, waited := forgets(t, a, a, sentinelLoses(sentinels)); again != 0 || waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
}

// A gateway that starts right after a failover, when nobody has noticed it yet, waits as well.
func TestStartAfterFailover(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{Window: testWindow})
	sentinelLoses(sentinels)(t, func(from int) {
		for n := from; n < from+10; n++ {
			applied(t, a, sent(n))
		}
	})
	b.Close()
	late, err := Open(sentinels.URL, Options{Window: testWindow})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if won, waited := claims(t, late, 15); won || !waited {
		t.Errorf("won %v, waited %v", won, waited)
	}
	// And one that starts when the window is over does not.
	time.Sleep(testWindow)
	later, err := Open(sentinels.URL, Options{Window: testWindow})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if won, waited := claims(t, later, 100); !won || waited {
		t.Errorf("won %v, waited %v", won, waited)
	}
}

func TestEmptyAfterRestart(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a, b := gateways(t, server.TCP, Options{Window: testWindow})
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
}

// The server is the same and its data are gone.
func TestFlushed(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	a, b := gateways(t, server.URL, Options{Window: testWindow})
	again, waited := forgets(t, a, b, func(t *testing.T, write func(int)) {
		write(0)
		write(10)
		for n := range 20 { // it has seen them
			if won, _ := claims(t, b, n); won {
				t.Fatal("claimed twice")
			}
		}
		if _, err := server.Do("FLUSHALL"); err != nil {
			t.Fatal(err)
		}
	})
	if again != 0 || !waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
}

// A record that was deleted comes back with an older dataset, and is deleted again.
func TestDeletedStaysDeleted(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{Window: testWindow})
	r := applied(t, a, sent(1))
	if err := sentinels.CaughtUp(); err != nil {
		t.Fatal(err)
	}
	if err := sentinels.Cut(); err != nil {
		t.Fatal(err)
	}
	drop := claim(1)
	drop.Changes[0] = ledger.Change{Name: "e1", Want: r.Version}
	applied(t, a, drop)
	if _, err := sentinels.Die(); err != nil {
		t.Fatal(err)
	}
	if won, waited := claims(t, b, 1); !won || !waited {
		t.Errorf("won %v, waited %v", won, waited)
	}
	if found, _, err := b.Open(t.Context(), "", 10); err != nil || len(found) != 1 {
		t.Errorf("open: %v, %v", found, err)
	}
}

func TestClusterLosesAPrimary(t *testing.T) {
	cluster := redistest.StartReplicated(t)
	a, b := gateways(t, cluster.URL, Options{Window: testWindow})
	owner, err := cluster.Owner(a.shard(claim(10).Partition).version)
	if err != nil {
		t.Fatal(err)
	}
	again, waited := forgets(t, a, b, func(t *testing.T, write func(int)) {
		write(0)
		time.Sleep(300 * time.Millisecond)
		if err := cluster.Cut(owner); err != nil {
			t.Fatal(err)
		}
		write(10)
		if err := cluster.Die(owner); err != nil {
			t.Fatal(err)
		}
	})
	if again != 0 || !waited {
		t.Errorf("%d lost claims were made again; waited: %v", again, waited)
	}
}

// While slots move between nodes, with their keys, nobody has to wait for a failover that was none, and nothing is claimed twice.
func TestSlotsMoveUnderLoad(t *testing.T) {
	cluster := redistest.StartCluster(t)
	a, b := gateways(t, cluster.URL, Options{Window: time.Hour})
	done := make(chan int)
	go func() {
		won := 0
		for n := range 300 {
			for _, s := range []*Store{a, b} {
				for end := time.Now().Add(10 * time.Second); ; {
					r, err := s.Swap(t.Context(), sent(n))
					if err == nil {
						if r[0].Applied {
							won++
						}
						break
					}
					if !errors.Is(err, ledger.ErrNotApplied) || strings.Contains(err.Error(), "primary has changed") || time.Now().After(end) {
						t.Error(err)
						break
					}
				}
			}
		}
		done <- won
	}()
	for n := range 40 {
		key := a.shards[n*5].version
		owner, err := cluster.Owner(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.MoveKey(key, cluster.Servers[(owner+1)%3]); err != nil {
			t.Fatal(err)
		}
	}
	if won := <-done; won != 300 {
		t.Errorf("%d of 300 claims were won", won)
	}
}

// meddling is a connection that does something after it has been written to and before its answer is read.
type meddling struct {
	net.Conn
	meddle *atomic.Pointer[func()]
}

func (c meddling) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if f := c.meddle.Load(); f != nil && bytes.Contains(b, []byte("evalsha")) {
		(*f)()
	}
	return n, err
}

// What a primary answers while its successor is healed may be missing there: it does not count.
func TestAnswerOfAFormerPrimary(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	var meddle atomic.Pointer[func()]
	s, err := Open(server.TCP, Options{dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		return meddling{conn, &meddle}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	applied(t, s, claim(1))
	f := func() { s.epoch.Add(1) }
	meddle.Store(&f)
	if _, err := s.Swap(t.Context(), claim(2)); err == nil || errors.Is(err, ledger.ErrNotApplied) || !strings.Contains(err.Error(), "primary changed") {
		t.Errorf("got %v", err)
	}
	for _, notes := range s.journal.notes() {
		for _, n := range notes {
			if bytes.Equal(n.value, claim(2).Changes[0].Value) {
				t.Error("it is kept to be written back")
			}
		}
	}
}

// A dataset that is older than what a gateway has seen takes nothing from it before it is healed, whether or not it noticed by itself.
func TestFloor(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	s := open(t, server.URL)
	first := applied(t, s, claim(1))
	if _, err := server.Do("FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Swap(t.Context(), claim(1)); err != nil || r[0].Applied || r[0].Records[0].Version != first.Version {
		t.Errorf("at once: %+v, %v", r, err)
	}
}
