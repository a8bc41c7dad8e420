package memstore

import (
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// What has expired leaves memory while other records are written, without one long stop.
func TestExpiredRecordsAreSwept(t *testing.T) {
	clock := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return clock }})
	write := func(n int, keep time.Duration) {
		t.Helper()
		r, err := s.Swap(t.Context(), ledger.Swap{Partition: agentgw.NewPartition('e', agentgw.Digest{byte(n), byte(n >> 8)}), Stamp: 1, Changes: []ledger.Change{
			{Name: "e1", Value: []byte("x"), Keep: keep, Open: true},
		}})
		if err != nil || !r[0].Applied {
			t.Fatal(r, err)
		}
	}
	const many = 2000
	for n := range many {
		write(n, time.Duration(1+n%7)*time.Minute)
	}
	clock = clock.Add(time.Hour)
	for n := range many / 2 {
		write(many+n, 0)
	}
	if len(s.records) != many/2 || len(s.open) != many/2 || len(s.expiry) != 0 || len(s.born) > many+64 {
		t.Fatalf("%d records, %d open, %d to expire, %d places, for %d that are there", len(s.records), len(s.open), len(s.expiry), len(s.born), many/2)
	}
}
