package redisstore

import (
	"testing"

	"agentgw"
	"agentgw/internal/redistest"
	"agentgw/ledger"
)

// BenchmarkScript measures what Redis itself spends on claims, settles and duplicates, sent in long pipelines.
func BenchmarkScript(b *testing.B) {
	s := open(b, fresh(redistest.Start(b, redistest.Options{}).URL))
	const batch = 250
	swaps := make([]ledger.Swap, batch)
	replies := make([]ledger.Reply, batch)
	n := 0
	phases := map[string]usage{}
	run := func(phase string) {
		before := used(b, s)
		var err error
		if replies, err = s.Swap(b.Context(), swaps...); err != nil {
			b.Fatal(err)
		}
		after := used(b, s)
		u := phases[phase]
		u.processor += after.processor - before.processor
		u.swaps += after.swaps - before.swaps
		phases[phase] = u
	}
	for b.Loop() {
		for i := range swaps {
			n++
			id := agentgw.EffectID{Key: agentgw.Digest{byte(n), byte(n >> 8), byte(n >> 16)}}
			id.Partition = agentgw.NewPartition('e', id.Key)
			swaps[i] = ledger.Swap{Partition: id.Partition, Stamp: uint64(n), Changes: []ledger.Change{{Name: id.Record(), Value: make([]byte, 300), Open: true}}}
		}
		run("claim")
		for i := range swaps {
			swaps[i].Stamp = ^swaps[i].Stamp
		}
		run("duplicate")
		for i := range swaps {
			swaps[i].Changes[0].Want = replies[i].Records[0].Version
			swaps[i].Changes[0].Open, swaps[i].Changes[0].Keep = false, 1e13
		}
		run("settle")
	}
	for phase, u := range phases {
		b.ReportMetric(u.processor*1e6/u.swaps, "redis-µs/"+phase)
	}
}
