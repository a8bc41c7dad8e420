package redisstore

import (
	"fmt"
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
	b.Run("socket", func(b *testing.B) { storetest.Bench(b, open(b, server.URL)) })
	b.Run("tcp", func(b *testing.B) { storetest.Bench(b, open(b, server.TCP)) })
}
