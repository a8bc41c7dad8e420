package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// Bench measures pairs of claim and settle, each pair on an effect of its own, by 1, 32 and 128 clients at a time.
func Bench(b *testing.B, store ledger.Store) {
	for _, at := range []int{1, 32, 128} {
		b.Run(fmt.Sprintf("pairs/c=%d", at), func(b *testing.B) {
			var next atomic.Int64
			var wait sync.WaitGroup
			run := uint64(time.Now().UnixNano())
			b.ReportAllocs()
			busy := processor()
			b.ResetTimer()
			for range at {
				wait.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if err := pair(store, run, uint64(n)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			b.ReportMetric((processor()-busy).Seconds()*1e6/float64(b.N), "cpu-µs/pair")
		})
	}
}

// processor is the time that this process has spent on the processor: steadier than the clock on a machine with other things to do.
func processor() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// pair claims an effect and settles it, with records of the usual size.
func pair(store ledger.Store, run, n uint64) error {
	var d agentgw.Digest
	binary.BigEndian.PutUint64(d[:], run*0x9e3779b97f4a7c15^n*0xff51afd7ed558ccd)
	binary.BigEndian.PutUint64(d[8:], n)
	id := agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, d), Key: d}
	sw := ledger.Swap{Partition: id.Partition, Stamp: stamp(), Changes: []ledger.Change{
		{Name: id.Record(), Value: make([]byte, 300), Open: true},
	}}
	claimed, err := store.Swap(context.Background(), sw)
	if err != nil {
		return err
	}
	if !claimed[0].Applied {
		return fmt.Errorf("claim %d: someone was faster", n)
	}
	sw.Stamp = stamp()
	sw.Changes = []ledger.Change{{Name: id.Record(), Want: claimed[0].Version, Value: make([]byte, 500), Keep: 24 * time.Hour}}
	settled, err := store.Swap(context.Background(), sw)
	if err == nil && !settled[0].Applied {
		return fmt.Errorf("settle %d: not applied", n)
	}
	return err
}
