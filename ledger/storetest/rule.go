package storetest

import (
	"fmt"
	"math/rand/v2"

	"agentgw/ledger"
)

// held is what the rule says a record is.
type held struct {
	ledger.Stamped
	value string
}

// followsRule sends random swaps, one after the other and some of them again, and holds every answer against ledger.Swap.Fits.
func (s *suite) followsRule() {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	there, last := map[string]held{}, uint64(0)
	var sent []ledger.Swap
	outcomes := map[string]int{}
	for range 500 {
		var sw ledger.Swap
		if len(sent) > 0 && rnd.IntN(3) == 0 {
			sw = sent[len(sent)-1-rnd.IntN(min(5, len(sent)))]
		} else {
			sw = s.anySwap(rnd, there, last)
			sent = append(sent, sw)
		}
		found := make([]ledger.Stamped, len(sw.Changes))
		for i, c := range sw.Changes {
			found[i] = there[c.Name].Stamped
		}
		apply, before := sw.Fits(found)
		r := s.send(sw)
		if r.Applied != (apply || before != 0) || (!apply && r.Version != before) {
			s.Fatalf("%+v\nfound %+v\nreplied %+v", sw, found, r)
		}
		switch {
		case apply:
			outcomes["applied"]++
			last = s.follow(sw, r, there, last)
		case before != 0:
			outcomes["applied before"]++
		default:
			outcomes["refused"]++
		}
		for i, c := range sw.Changes {
			s.holds(r.Records[i], there[c.Name].Version, there[c.Name].value)
		}
	}
	if len(outcomes) < 3 {
		s.Fatalf("the swaps were not varied: %v", outcomes)
	}
}

// follow makes the changes of a swap that was applied.
func (s *suite) follow(sw ledger.Swap, r ledger.Reply, there map[string]held, last uint64) uint64 {
	s.Helper()
	writes := false
	for _, c := range sw.Changes {
		switch {
		case c.Look:
		case c.Value == nil:
			delete(there, c.Name)
		default:
			writes = true
			there[c.Name] = held{ledger.Stamped{Version: r.Version, Stamp: sw.Stamp}, string(c.Value)}
		}
	}
	if writes != (r.Version != 0) || (writes && r.Version <= last) {
		s.Fatalf("%+v\ngot version %d after %d", sw, r.Version, last)
	}
	return max(last, r.Version)
}

// anySwap changes up to three of four records, mostly knowing what is there.
func (s *suite) anySwap(rnd *rand.Rand, there map[string]held, last uint64) ledger.Swap {
	sw := ledger.Swap{Partition: partition(0), Stamp: rnd.Uint64() | 1}
	for _, n := range rnd.Perm(4)[:1+rnd.IntN(3)] {
		c := ledger.Change{Name: fmt.Sprintf("e%d", n)}
		c.Want = there[c.Name].Version
		switch rnd.IntN(12) {
		case 0:
			c.Want = last
		case 1:
			c.Want = 0
		}
		switch rnd.IntN(6) {
		case 0:
			c.Look = true
		case 1:
		default:
			c.Value, c.Open = fmt.Appendf(nil, "%x", sw.Stamp), rnd.IntN(2) == 0
		}
		sw.Changes = append(sw.Changes, c)
	}
	return sw
}
