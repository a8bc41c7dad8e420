package redisstore

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/internal/redistest"
	"agentgw/ledger"
)

func lookAt(n int) ledger.Swap {
	return ledger.Swap{Partition: claim(n).Partition, Changes: []ledger.Change{{Name: "e1", Look: true}}}
}

// sees expects that a look finds a record at the first try.
func sees(t *testing.T, s *Store, n int, version uint64) {
	t.Helper()
	r, err := s.Swap(t.Context(), lookAt(n))
	if err != nil {
		t.Fatal(err)
	}
	if r[0].Records[0].Version != version {
		t.Errorf("the record has version %d instead of %d", r[0].Records[0].Version, version)
	}
}

// A look whose connection breaks is made once more, as it changes nothing; a write is not.
func TestLookAgain(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	var lose atomic.Int64
	s, err := Open(server.TCP, Options{dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		return &losing{Conn: conn, lose: &lose}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := applied(t, s, claim(1))
	lose.Store(1)
	sees(t, s, 1, r.Version)
	lose.Store(1)
	if _, err := s.Swap(t.Context(), sent(2)); err == nil {
		t.Error("a write was sent again")
	}
}

// When a replica has taken over, the first look finds what was written before, without an error between.
func TestFirstLookAfterAFailover(t *testing.T) {
	sentinels := redistest.StartSentinel(t, 1)
	a, b := gateways(t, sentinels.URL, Options{Window: testWindow})
	r := applied(t, a, sent(1))
	sees(t, b, 1, r.Version)
	if err := sentinels.CaughtUp(); err != nil {
		t.Fatal(err)
	}
	if _, err := sentinels.Die(); err != nil {
		t.Fatal(err)
	}
	sees(t, b, 1, r.Version)
	if _, _, err := a.Open(t.Context(), "", 10); err != nil {
		t.Error(err)
	}
}

func TestFirstLookAfterAClusterLostAPrimary(t *testing.T) {
	cluster := redistest.StartReplicated(t)
	a, b := gateways(t, cluster.URL, Options{Window: testWindow})
	owner, err := cluster.Owner(a.shard(claim(1).Partition).version)
	if err != nil {
		t.Fatal(err)
	}
	r := applied(t, a, sent(1))
	sees(t, b, 1, r.Version)
	time.Sleep(300 * time.Millisecond) // replicated
	if err := cluster.Die(owner); err != nil {
		t.Fatal(err)
	}
	sees(t, b, 1, r.Version)
	if _, _, err := a.Open(t.Context(), "", 10); err != nil {
		t.Error(err)
	}
}
