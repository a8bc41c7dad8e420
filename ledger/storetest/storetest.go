// Package storetest is the conformance suite that every ledger.Store passes, and a store that fails on demand.
package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// Run checks everything that ledger.Store promises. open gives an empty store, to be closed by the one who gave it, and a function that
// lets so much of the store's time pass.
func Run(t *testing.T, open func(t *testing.T) (ledger.Store, func(time.Duration))) {
	cases := []struct {
		name string
		run  func(*suite)
	}{
		{"an absent record is written", (*suite).writesAbsent},
		{"a stale version changes nothing and sees what is there", (*suite).refusesStale},
		{"several records change together or not at all", (*suite).allOrNothing},
		{"looking neither compares nor writes", (*suite).looks},
		{"deleting checks the version", (*suite).deletes},
		{"versions are never used again, even after deletion", (*suite).versionsGrow},
		{"the same stamp again has succeeded, once", (*suite).sameStamp},
		{"a stamp that was written over has not succeeded", (*suite).stampWrittenOver},
		{"a stamp on some records only has not succeeded", (*suite).stampOnSome},
		{"a swap that only deletes leaves no stamp", (*suite).deletesAgain},
		{"records are kept for as long as asked", (*suite).keeps},
		{"the clock goes on and the record says when it was written", (*suite).clock},
		{"the index of open records follows writes and deletes", (*suite).openFollows},
		{"the index of open records follows expiry", (*suite).openExpires},
		{"the index of open records is paged", (*suite).openPages},
		{"a scan finds effects only, under concurrent writes", (*suite).scans},
		{"many swaps of one call are independent and in order", (*suite).manySwaps},
		{"values are opaque", (*suite).opaque},
		{"large values", (*suite).large},
		{"values belong to the caller", (*suite).ownership},
		{"malformed swaps are refused", (*suite).malformed},
		{"a context that is over", (*suite).contextOver},
		{"a closed store", (*suite).closed},
		{"random swaps, some sent again, do what the rule says", (*suite).followsRule},
		{"concurrent clients see one history", (*suite).linearizable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			store, advance := open(t)
			c.run(&suite{T: t, ctx: ctx, store: store, advance: advance})
		})
	}
}

type suite struct {
	*testing.T
	ctx     context.Context
	store   ledger.Store
	advance func(time.Duration)
}

// partition names one of the suite's partitions; different numbers fall into different shards.
func partition(n int) agentgw.Partition {
	return agentgw.NewPartition(agentgw.PartitionEffect, agentgw.Digest{byte(n), byte(n >> 8), 7})
}

func stamp() uint64 { return rand.Uint64() | 1 }

func write(name string, want uint64, value string) ledger.Change {
	return ledger.Change{Name: name, Want: want, Value: []byte(value)}
}

func look(name string) ledger.Change { return ledger.Change{Name: name, Look: true} }

// swap sends one swap to partition 0 and expects an answer.
func (s *suite) swap(changes ...ledger.Change) ledger.Reply {
	s.Helper()
	return s.send(ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: changes})
}

func (s *suite) send(sw ledger.Swap) ledger.Reply {
	s.Helper()
	replies, err := s.store.Swap(s.ctx, sw)
	if err != nil {
		s.Fatalf("swap: %v", err)
	}
	if len(replies) != 1 {
		s.Fatalf("one swap got %d replies", len(replies))
	}
	r := replies[0]
	if r.Err != nil {
		s.Fatalf("swap: %v", r.Err)
	}
	if len(r.Records) != len(sw.Changes) {
		s.Fatalf("%d changes got %d records", len(sw.Changes), len(r.Records))
	}
	for i, c := range sw.Changes {
		if r.Records[i].Name != c.Name {
			s.Fatalf("record %d is %q, asked for %q", i, r.Records[i].Name, c.Name)
		}
	}
	return r
}

func (s *suite) applied(r ledger.Reply) ledger.Reply {
	s.Helper()
	if !r.Applied {
		s.Fatalf("not applied: %+v", r)
	}
	return r
}

func (s *suite) refused(r ledger.Reply) ledger.Reply {
	s.Helper()
	if r.Applied || r.Version != 0 {
		s.Fatalf("applied: %+v", r)
	}
	return r
}

// holds expects a record with this version and value; version 0: absent.
func (s *suite) holds(r ledger.Record, version uint64, value string) {
	s.Helper()
	if r.Version != version || string(r.Value) != value {
		s.Fatalf("%s is version %d %q, expected version %d %q", r.Name, r.Version, r.Value, version, value)
	}
	if absent := version == 0; absent != r.At.IsZero() {
		s.Fatalf("%s of version %d was written at %v", r.Name, r.Version, r.At)
	}
}

func (s *suite) writesAbsent() {
	r := s.applied(s.swap(write("e1", 0, "one")))
	if r.Version == 0 {
		s.Fatal("no version given")
	}
	s.holds(r.Records[0], r.Version, "one")
	s.holds(s.applied(s.swap(look("e1"))).Records[0], r.Version, "one")
	s.holds(s.swap(look("e2")).Records[0], 0, "")
}

func (s *suite) refusesStale() {
	first := s.applied(s.swap(write("e1", 0, "one")))
	s.holds(s.refused(s.swap(write("e1", 0, "again"))).Records[0], first.Version, "one")
	second := s.applied(s.swap(write("e1", first.Version, "two")))
	s.holds(s.refused(s.swap(write("e1", first.Version, "late"))).Records[0], second.Version, "two")
	s.holds(s.refused(s.swap(write("e2", first.Version, "no such"))).Records[0], 0, "")
	s.holds(s.swap(look("e1")).Records[0], second.Version, "two")
}

func (s *suite) allOrNothing() {
	r := s.applied(s.swap(write("e1", 0, "a"), write("x", 0, "b")))
	s.holds(r.Records[0], r.Version, "a")
	s.holds(r.Records[1], r.Version, "b")
	no := s.refused(s.swap(write("e1", r.Version, "A"), write("x", 1, "B"), write("y", 0, "C")))
	s.holds(no.Records[0], r.Version, "a")
	s.holds(no.Records[1], r.Version, "b")
	s.holds(no.Records[2], 0, "")
	now := s.swap(look("e1"), look("x"), look("y"))
	s.holds(now.Records[0], r.Version, "a")
	s.holds(now.Records[1], r.Version, "b")
	s.holds(now.Records[2], 0, "")
}

func (s *suite) looks() {
	r := s.applied(s.swap(write("e1", 0, "a")))
	both := s.applied(s.swap(look("e1"), write("x", 0, "b"), look("y")))
	s.holds(both.Records[0], r.Version, "a")
	s.holds(both.Records[1], both.Version, "b")
	s.holds(both.Records[2], 0, "")
	only := s.applied(s.send(ledger.Swap{Partition: partition(0), Changes: []ledger.Change{look("e1"), look("x")}}))
	if only.Version != 0 {
		s.Fatalf("looking got version %d", only.Version)
	}
	s.applied(s.send(ledger.Swap{Partition: partition(0)}))
}

func (s *suite) deletes() {
	r := s.applied(s.swap(write("e1", 0, "a"), write("x", 0, "b")))
	s.holds(s.refused(s.swap(write("x", 0, "c"), ledger.Change{Name: "e1", Want: r.Version})).Records[1], r.Version, "a")
	gone := s.applied(s.swap(ledger.Change{Name: "e1", Want: r.Version}))
	s.holds(gone.Records[0], 0, "")
	if gone.Version != 0 {
		s.Fatalf("wrote nothing and got version %d", gone.Version)
	}
	s.applied(s.swap(ledger.Change{Name: "e1"}))
	s.refused(s.swap(ledger.Change{Name: "e1", Want: r.Version}))
	s.refused(s.swap(ledger.Change{Name: "x"}))
	both := s.applied(s.swap(ledger.Change{Name: "x", Want: r.Version}, write("e1", 0, "new")))
	s.holds(both.Records[0], 0, "")
	s.holds(both.Records[1], both.Version, "new")
}

func (s *suite) versionsGrow() {
	last := uint64(0)
	for i := range 50 {
		r := s.applied(s.swap(write("e1", 0, fmt.Sprint(i))))
		if r.Version <= last {
			s.Fatalf("version %d after %d", r.Version, last)
		}
		last = r.Version
		s.applied(s.swap(ledger.Change{Name: "e1", Want: last}))
	}
	s.refused(s.swap(write("e1", last, "the late writer of an earlier life")))
}

func (s *suite) sameStamp() {
	sw := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "a"), look("z"), write("x", 0, "b")}}
	first := s.applied(s.send(sw))
	again := s.applied(s.send(sw))
	if again.Version != first.Version {
		s.Fatalf("version %d, the first time %d", again.Version, first.Version)
	}
	s.holds(again.Records[0], first.Version, "a")
	s.holds(again.Records[2], first.Version, "b")
	if !again.Records[0].At.Equal(first.Records[0].At) {
		s.Fatalf("written at %v, the first time %v", again.Records[0].At, first.Records[0].At)
	}
	del := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", first.Version, "c"), {Name: "x", Want: first.Version}}}
	once := s.applied(s.send(del))
	s.applied(s.swap(write("x", 0, "someone else's")))
	if twice := s.applied(s.send(del)); twice.Version != once.Version {
		s.Fatalf("version %d, the first time %d", twice.Version, once.Version)
	}
}

func (s *suite) stampWrittenOver() {
	sw := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "a")}}
	first := s.applied(s.send(sw))
	second := s.applied(s.swap(write("e1", first.Version, "b")))
	s.holds(s.refused(s.send(sw)).Records[0], second.Version, "b")
	s.applied(s.swap(ledger.Change{Name: "e1", Want: second.Version}))
	next := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", second.Version, "late")}}
	s.holds(s.refused(s.send(next)).Records[0], 0, "")
}

func (s *suite) stampOnSome() {
	sw := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "a"), write("x", 0, "b")}}
	first := s.applied(s.send(sw))
	second := s.applied(s.swap(write("x", first.Version, "c")))
	no := s.refused(s.send(sw))
	s.holds(no.Records[0], first.Version, "a")
	s.holds(no.Records[1], second.Version, "c")
}

func (s *suite) deletesAgain() {
	r := s.applied(s.swap(write("e1", 0, "a")))
	del := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{{Name: "e1", Want: r.Version}}}
	s.applied(s.send(del))
	s.holds(s.refused(s.send(del)).Records[0], 0, "")
}

const keep = 250 * time.Millisecond // long enough for the swaps between a write and a look at it, on a busy machine

func (s *suite) keeps() {
	r := s.applied(s.swap(ledger.Change{Name: "e1", Value: []byte("short"), Keep: keep}, write("x", 0, "for ever")))
	long := s.applied(s.swap(ledger.Change{Name: "y", Value: []byte("renewed"), Keep: keep}))
	s.applied(s.swap(ledger.Change{Name: "y", Want: long.Version, Value: []byte("renewed"), Keep: time.Hour}))
	other := s.applied(s.swap(ledger.Change{Name: "z", Value: []byte("kept after all"), Keep: keep}))
	s.applied(s.swap(write("z", other.Version, "kept after all")))
	s.holds(s.swap(look("e1")).Records[0], r.Version, "short")
	s.advance(keep + 20*time.Millisecond)
	now := s.swap(look("e1"), look("x"), look("y"), look("z"))
	s.holds(now.Records[0], 0, "")
	for _, there := range now.Records[1:] {
		if there.Version == 0 {
			s.Fatalf("%s is gone", there.Name)
		}
	}
	s.refused(s.swap(write("e1", r.Version, "late")))
	again := s.applied(s.swap(write("e1", 0, "a second life")))
	if again.Version <= r.Version {
		s.Fatalf("version %d after %d", again.Version, r.Version)
	}
	s.advance(keep)
	s.holds(s.swap(look("e1")).Records[0], again.Version, "a second life")
}

func (s *suite) clock() {
	first := s.applied(s.swap(write("e1", 0, "a")))
	if first.Now.Location() != time.UTC || !first.Records[0].At.Equal(first.Now) {
		s.Fatalf("now %v, written at %v", first.Now, first.Records[0].At)
	}
	s.advance(50 * time.Millisecond)
	then := s.swap(look("e1"))
	if passed := then.Now.Sub(first.Now); passed < 50*time.Millisecond || passed > 10*time.Second {
		s.Fatalf("50 ms later the store's clock had gone on by %v", passed)
	}
	if !then.Records[0].At.Equal(first.Now) {
		s.Fatalf("written at %v, then read as %v", first.Now, then.Records[0].At)
	}
}
