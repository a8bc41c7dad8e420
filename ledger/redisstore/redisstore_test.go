package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/internal/redistest"
	"agentgw/ledger"
	"agentgw/ledger/storetest"
)

var prefixes atomic.Int64

// fresh adds a prefix that nobody has used yet, so that each test has a store of its own on a shared server.
func fresh(url string) string {
	sep := "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	return fmt.Sprintf("%s%sprefix=t%d:", url, sep, prefixes.Add(1))
}

func open(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func conforms(t *testing.T, url string) {
	storetest.Run(t, func(t *testing.T) (ledger.Store, func(time.Duration)) {
		return open(t, fresh(url)), time.Sleep
	})
}

func TestStore(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	t.Run("socket", func(t *testing.T) { conforms(t, server.URL) })
	t.Run("tcp", func(t *testing.T) { conforms(t, server.TCP+"/3") })
	t.Run("tls", func(t *testing.T) {
		server := redistest.Start(t, redistest.Options{TLS: true})
		conforms(t, server.URL+"?ca="+server.CertFile)
	})
	t.Run("sentinel", func(t *testing.T) { conforms(t, redistest.StartSentinel(t, 3).URL) })
	t.Run("cluster", func(t *testing.T) { conforms(t, redistest.StartCluster(t).URL) })
}

func BenchmarkStore(b *testing.B) {
	server := redistest.Start(b, redistest.Options{})
	for _, url := range []string{server.URL, server.TCP} {
		b.Run(strings.SplitN(url, ":", 2)[0], func(b *testing.B) {
			s := open(b, fresh(url))
			before := used(b, s)
			storetest.Bench(b, s)
			after := used(b, s)
			b.Logf("Redis spent %.1f µs on a swap", (after.processor-before.processor)*1e6/(after.swaps-before.swaps))
		})
	}
}

// usage is what a server says of its processor time in seconds, and of the scripts that it ran.
type usage struct{ processor, swaps float64 }

func used(b *testing.B, s *Store) (u usage) {
	text, err := s.client.Info(b.Context(), "everything").Result()
	if err != nil {
		b.Fatal(err)
	}
	info := fields(text)
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			b.Fatal(err)
		}
		u.processor += seconds
	}
	fmt.Sscanf(info["cmdstat_evalsha"], "calls=%g", &u.swaps)
	return u
}
