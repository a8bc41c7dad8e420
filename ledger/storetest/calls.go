package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"agentgw/ledger"
)

func (s *suite) manySwaps() {
	taken := s.applied(s.swap(write("e1", 0, "taken")))
	swaps := []ledger.Swap{{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "no")}}}
	for n := 1; n <= 40; n++ {
		swaps = append(swaps, ledger.Swap{Partition: partition(n), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, fmt.Sprint(n))}})
	}
	swaps = append(swaps,
		ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("x", 0, "x")}},
		ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("x", 0, "no"), look("e1")}})
	replies, err := s.store.Swap(s.ctx, swaps...)
	if err != nil || len(replies) != len(swaps) {
		s.Fatalf("%d swaps: %d replies, %v", len(swaps), len(replies), err)
	}
	s.holds(s.refused(replies[0]).Records[0], taken.Version, "taken")
	for n := 1; n <= 40; n++ {
		s.holds(s.applied(replies[n]).Records[0], replies[n].Version, fmt.Sprint(n))
	}
	x := s.applied(replies[41])
	s.holds(s.refused(replies[42]).Records[0], x.Version, "x")
	if replies, err := s.store.Swap(s.ctx); err != nil || len(replies) != 0 {
		s.Fatalf("no swaps: %d replies, %v", len(replies), err)
	}
}

func (s *suite) opaque() {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	values := []string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "[]", `{"id":9007199254740993}`, string(every), "\r\n$5\r\n", "\xff\xfe"}
	for i, v := range values {
		name := fmt.Sprintf("e%d", i)
		r := s.applied(s.swap(write(name, 0, v)))
		s.holds(s.swap(look(name)).Records[0], r.Version, v)
		s.holds(s.refused(s.swap(write(name, 0, "no"))).Records[0], r.Version, v)
	}
	wide := ledger.Swap{Partition: partition(0), Stamp: 1<<63 | 0x0d0a00ff, Changes: []ledger.Change{write("w", 0, "w")}}
	if first, again := s.applied(s.send(wide)), s.applied(s.send(wide)); first.Version != again.Version {
		s.Fatal("a stamp with every kind of byte is not recognised")
	}
}

func (s *suite) large() {
	big := make([]byte, 4<<20)
	for i := range big {
		big[i] = byte(rand.Uint32())
	}
	r := s.applied(s.swap(ledger.Change{Name: "e1", Value: big}, write("x", 0, "small")))
	got := s.swap(look("e1"), look("x"))
	if !bytes.Equal(got.Records[0].Value, big) {
		s.Fatal("4 MiB came back changed")
	}
	s.holds(got.Records[1], r.Version, "small")
}

func (s *suite) ownership() {
	mine := []byte("mine")
	r := s.applied(s.swap(ledger.Change{Name: "e1", Value: mine}))
	copy(mine, "????")
	first := s.swap(look("e1"))
	s.holds(first.Records[0], r.Version, "mine")
	copy(first.Records[0].Value, "????")
	refused := s.refused(s.swap(write("e1", 0, "no")))
	s.holds(refused.Records[0], r.Version, "mine")
	copy(refused.Records[0].Value, "????")
	for _, there := range s.listEffects(10) {
		s.holds(there, r.Version, "mine")
		copy(there.Value, "????")
	}
	s.holds(s.swap(look("e1")).Records[0], r.Version, "mine")
}

func (s *suite) malformed() {
	for what, sw := range map[string]ledger.Swap{
		"no partition":         {Stamp: 1, Changes: []ledger.Change{write("e1", 0, "a")}},
		"a brace":              {Partition: "e{1}", Stamp: 1, Changes: []ledger.Change{write("e1", 0, "a")}},
		"a colon":              {Partition: "e1", Stamp: 1, Changes: []ledger.Change{write("e:1", 0, "a")}},
		"no stamp":             {Partition: "e1", Changes: []ledger.Change{write("e1", 0, "a")}},
		"a record named twice": {Partition: "e1", Stamp: 1, Changes: []ledger.Change{write("e1", 0, "a"), look("e1")}},
	} {
		good := ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "a")}}
		if _, err := s.store.Swap(s.ctx, good, sw); !errors.Is(err, ledger.ErrNotApplied) {
			s.Errorf("%s: %v", what, err)
		}
	}
	s.holds(s.swap(look("e1")).Records[0], 0, "")
}

// Alone checks that a store without replicas takes no claim that one must have, and nothing of it.
func Alone(t *testing.T, store ledger.Store) {
	s := &suite{T: t, ctx: t.Context(), store: store}
	sw := ledger.Swap{Partition: partition(0), Stamp: stamp(), Claim: true, Replicated: true, Changes: []ledger.Change{write("e1", 0, "a")}}
	if r, err := s.store.Swap(s.ctx, sw); !errors.Is(err, ledger.ErrNotApplied) {
		s.Fatalf("%+v, %v", r, err)
	}
	s.holds(s.swap(look("e1")).Records[0], 0, "")
	sw.Claim = false // nothing is sent on the strength of it
	s.applied(s.send(sw))
}

func (s *suite) contextOver() {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	began := time.Now()
	_, err := s.store.Swap(ctx, ledger.Swap{Partition: partition(0), Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "a")}})
	if !errors.Is(err, ledger.ErrNotApplied) || !errors.Is(err, context.Canceled) {
		s.Fatalf("cancelled: %v", err)
	}
	if took := time.Since(began); took > time.Second {
		s.Fatalf("took %v", took)
	}
	s.holds(s.swap(look("e1")).Records[0], 0, "")
}

func (s *suite) closed() {
	if err := s.store.Health(s.ctx); err != nil {
		s.Fatalf("a new store: %v", err)
	}
	if err := s.store.Close(); err != nil {
		s.Fatal(err)
	}
	if _, err := s.store.Swap(s.ctx, ledger.Swap{Partition: partition(0), Stamp: 1, Changes: []ledger.Change{write("e1", 0, "a")}}); !errors.Is(err, ledger.ErrNotApplied) {
		s.Fatalf("a closed store: %v", err)
	}
	if err := s.store.Health(s.ctx); err == nil {
		s.Fatal("a closed store is well")
	}
}
