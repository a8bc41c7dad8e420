package ledger

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"agentgw"
)

func usual() *agentgw.Effect {
	id := agentgw.EffectID{Key: agentgw.Digest{1, 2, 3}}
	id.Partition = agentgw.NewPartition(agentgw.PartitionEffect, id.Key)
	at := time.UnixMicro(1_790_000_000_000_000).UTC()
	return &agentgw.Effect{ID: id, Operation: "invoice.issue", Tenant: "acme", Principal: "billing-agent", Digest: agentgw.Digest{4}, State: agentgw.StateSucceeded,
		Fence: 1 << 50, Claim: 7, Generation: 1 << 50, Ordinal: 1, Base: 7, Attempt: 1, FirstSeen: at, Claimed: at, Settled: at, Expires: at.Add(time.Hour), Gone: at.Add(time.Hour),
		Lease: time.Minute, TTL: time.Hour, Linger: time.Hour,
		Fields:    []agentgw.Field{{Name: "customer_id", Role: agentgw.RoleKey, Canon: `"C-1"`}, {Name: "amount", Role: agentgw.RoleMatch, Canon: "1200.5"}},
		Arguments: []byte(`{"customer_id":"C-1","amount":"1200.50","note":"` + strings.Repeat("y", 100) + `"}`),
		Answer: &agentgw.Answer{Status: 200, Header: []agentgw.Header{{Name: "Content-Type", Value: "text/plain"}}, Trailer: []agentgw.Header{{Name: "X-Sum", Value: "1"}},
			Body: bytes.Repeat([]byte("x"), 300)}}
}

// A record is read as it was written, whatever the sizes of what is packed in it: those just around the lengths that are written otherwise.
func TestRecordsThereAndBack(t *testing.T) {
	for _, n := range []int{0, 1, 110, 127, 128, 129, packAbove - 60, packAbove - 1, packAbove, packAbove + 1, 70_000} {
		e := usual()
		e.Arguments, e.Answer.Body = bytes.Repeat([]byte("a"), n), bytes.Repeat([]byte("b"), n)
		e.Fields[0].Canon = strings.Repeat("c", n)
		if n == 0 {
			e.Arguments, e.Answer.Body = nil, nil
		}
		back, err := decodeEffect(e.ID.Partition, Record{Name: e.ID.Record(), Value: encodeEffect(e)}, time.Time{})
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if !reflect.DeepEqual(back, e) {
			t.Errorf("%d bytes:\n%+v\n%+v", n, back, e)
		}
	}
}

// The usual record is written in one piece: every claim and every settlement does it.
func TestRecordsAreOneAllocation(t *testing.T) {
	e := usual()
	if n := testing.AllocsPerRun(100, func() { encodeEffect(e) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { _ = e.ID.Record() }); n > 1 {
		t.Errorf("%v allocations for a name", n)
	}
}
