package redisstore

import (
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// A command is what each claim and each settlement sends: its texts are one allocation.
func TestCommandsAreFewAllocations(t *testing.T) {
	s, err := Open("redis://127.0.0.1:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := agentgw.EffectID{Key: agentgw.Digest{1}}
	id.Partition = agentgw.NewPartition(agentgw.PartitionEffect, id.Key)
	sw := &ledger.Swap{Partition: id.Partition, Stamp: 1, Claim: true, Changes: []ledger.Change{{Name: id.Record(), Want: 1 << 50, Value: make([]byte, 300), Keep: 7 * 24 * time.Hour}}}
	is := &served{sha: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"}
	var c once
	if n := testing.AllocsPerRun(100, func() { c = s.command(t.Context(), is, sw) }); n > 6 {
		t.Errorf("%v allocations", n)
	}
	if len(c.Args()) != 9 {
		t.Errorf("%d arguments", len(c.Args()))
	}
}
