package storetest

import (
	"fmt"
	"sync"
	"time"

	"agentgw/ledger"
)

// listOpen reads the whole index of open records, in pages of limit.
func (s *suite) listOpen(limit int) map[ledger.Address]int {
	s.Helper()
	found := map[ledger.Address]int{}
	for cursor, pages := "", 0; ; pages++ {
		page, next, err := s.store.Open(s.ctx, cursor, limit)
		if err != nil {
			s.Fatalf("open from %q: %v", cursor, err)
		}
		for _, at := range page {
			found[at]++
		}
		if next == "" {
			return found
		}
		if next == cursor || pages > 100_000 {
			s.Fatalf("open does not end: %q", next)
		}
		cursor = next
	}
}

// listEffects scans all records of effects, in pages of limit.
func (s *suite) listEffects(limit int) map[ledger.Address]ledger.Record {
	s.Helper()
	found := map[ledger.Address]ledger.Record{}
	for cursor, pages := "", 0; ; pages++ {
		page, next, err := s.store.Scan(s.ctx, cursor, limit)
		if err != nil {
			s.Fatalf("scan from %q: %v", cursor, err)
		}
		for _, st := range page {
			if st.Name != st.Record.Name {
				s.Fatalf("address %q, record %q", st.Name, st.Record.Name)
			}
			found[st.Address] = st.Record
		}
		if next == "" {
			return found
		}
		if next == cursor || pages > 100_000 {
			s.Fatalf("scan does not end: %q", next)
		}
		cursor = next
	}
}

// isOpen expects exactly these records of partition 0 in the index of open records.
func (s *suite) isOpen(names ...string) {
	s.Helper()
	found := s.listOpen(10)
	for _, name := range names {
		at := ledger.Address{Partition: partition(0), Name: name}
		if found[at] == 0 {
			s.Fatalf("%s is not among the open records %v", name, found)
		}
		delete(found, at)
	}
	if len(found) != 0 {
		s.Fatalf("also open: %v", found)
	}
}

func opened(name string, want uint64) ledger.Change {
	return ledger.Change{Name: name, Want: want, Value: []byte("open"), Open: true}
}

func (s *suite) openFollows() {
	s.isOpen()
	r := s.applied(s.swap(opened("e1", 0), write("x", 0, "shut"), opened("e2", 0)))
	s.isOpen("e1", "e2")
	s.refused(s.swap(write("e1", 0, "no"), opened("e3", 0)))
	s.isOpen("e1", "e2")
	r2 := s.applied(s.swap(write("e1", r.Version, "settled"), opened("x", r.Version)))
	s.isOpen("e2", "x")
	s.applied(s.swap(ledger.Change{Name: "x", Want: r2.Version}, opened("e2", r.Version)))
	s.isOpen("e2")
	s.applied(s.swap(opened("e1", r2.Version)))
	s.isOpen("e1", "e2")
}

func (s *suite) openExpires() {
	s.applied(s.swap(ledger.Change{Name: "e1", Value: []byte("a"), Open: true, Keep: keep}, opened("e2", 0)))
	s.applied(s.swap(ledger.Change{Name: "e3", Value: []byte("a"), Open: true, Keep: keep}))
	s.isOpen("e1", "e2", "e3")
	s.advance(keep + 20*time.Millisecond)
	s.isOpen("e2")
	s.applied(s.swap(write("e1", 0, "a second life, not open")))
	s.isOpen("e2")
	s.applied(s.swap(ledger.Change{Name: "e3", Value: []byte("a"), Open: true, Keep: time.Hour}))
	s.isOpen("e2", "e3")
}

func (s *suite) openPages() {
	const many = 300
	versions := map[int]uint64{}
	for n := range many {
		versions[n] = s.applied(s.send(ledger.Swap{Partition: partition(n), Stamp: stamp(), Changes: []ledger.Change{opened("e1", 0)}})).Version
	}
	if found := s.listOpen(7); len(found) != many {
		s.Fatalf("%d of %d open records found", len(found), many)
	}
	for n := 0; n < many; n += 2 {
		s.applied(s.send(ledger.Swap{Partition: partition(n), Stamp: stamp(), Changes: []ledger.Change{write("e1", versions[n], "settled")}}))
	}
	found := s.listOpen(1000)
	for n := range many {
		if at := (ledger.Address{Partition: partition(n), Name: "e1"}); (found[at] > 0) != (n%2 == 1) {
			s.Fatalf("record %d is found %d times among the open ones", n, found[at])
		}
	}
}

func (s *suite) scans() {
	const many = 400
	for n := range many {
		s.applied(s.send(ledger.Swap{Partition: partition(n), Stamp: stamp(), Changes: []ledger.Change{
			write("e1", 0, fmt.Sprint(n)), write("x1", 0, "not an effect"),
		}}))
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for n := many + w; ; n += 2 {
				select {
				case <-stop:
					return
				default:
				}
				at := partition(n%many + many)
				r, err := s.store.Swap(s.ctx, ledger.Swap{Partition: at, Stamp: stamp(), Changes: []ledger.Change{write("e1", 0, "comes and goes")}})
				if err == nil && r[0].Applied {
					_, err = s.store.Swap(s.ctx, ledger.Swap{Partition: at, Stamp: stamp(), Changes: []ledger.Change{{Name: "e1", Want: r[0].Version}}})
				}
				if err != nil {
					s.Errorf("writing beside a scan: %v", err)
					return
				}
			}
		})
	}
	found := s.listEffects(13)
	close(stop)
	writers.Wait()
	for n := range many {
		at := ledger.Address{Partition: partition(n), Name: "e1"}
		if r := found[at]; string(r.Value) != fmt.Sprint(n) || r.Version == 0 || r.At.IsZero() {
			s.Fatalf("effect %d was found as %+v", n, r)
		}
		if _, there := found[ledger.Address{Partition: partition(n), Name: "x1"}]; there {
			s.Fatalf("a scan for effects found x1 of partition %d", n)
		}
	}
}
