package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/ledger/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (ledger.Store, func(time.Duration)) {
		var offset atomic.Int64
		s := memstore.New(memstore.Options{Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
		t.Cleanup(func() { s.Close() })
		return s, func(d time.Duration) { offset.Add(int64(d)) }
	})
}

func TestAlone(t *testing.T) { storetest.Alone(t, memstore.New(memstore.Options{})) }

func BenchmarkStore(b *testing.B) { storetest.Bench(b, memstore.New(memstore.Options{})) }
