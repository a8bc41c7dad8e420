package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"agentgw/ledger"
)

const (
	clients       = 8
	stepsOfClient = 60 // of each client
	partitions    = 3
)

var names = []string{"e1", "x", "y"}

// linearizable lets clients swap on few records and asks porcupine whether one order of the swaps explains all answers.
func (s *suite) linearizable() {
	var mu sync.Mutex
	var history []porcupine.Operation
	var wait sync.WaitGroup
	began := time.Now()
	for client := range clients {
		wait.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(client), uint64(began.UnixNano())))
			seen := map[string]uint64{}
			for range stepsOfClient {
				sw := randomSwap(rnd, seen)
				call := time.Since(began)
				replies, err := s.store.Swap(s.ctx, sw)
				back := time.Since(began)
				if err != nil {
					s.Errorf("swap: %v", err)
					return
				}
				for _, r := range replies[0].Records {
					seen[string(sw.Partition)+r.Name] = r.Version
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: sw, Call: int64(call), Output: replies[0], Return: int64(back)})
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if s.Failed() {
		return
	}
	applied := 0
	for _, op := range history {
		if op.Output.(ledger.Reply).Version != 0 {
			applied++
		}
	}
	if applied < clients || applied == len(history) {
		s.Fatalf("%d of %d swaps were applied: the clients did not meet", applied, len(history))
	}
	if result := porcupine.CheckOperationsTimeout(swapModel, history, 30*time.Second); result != porcupine.Ok {
		s.Fatalf("no order of the %d swaps explains all answers: %v", len(history), result)
	}
}

// randomSwap touches one or two records, mostly believing what its client saw last.
func randomSwap(rnd *rand.Rand, seen map[string]uint64) ledger.Swap {
	sw := ledger.Swap{Partition: partition(rnd.IntN(partitions)), Stamp: rnd.Uint64() | 1}
	order := rnd.Perm(len(names))
	for _, n := range order[:1+rnd.IntN(2)] {
		c := ledger.Change{Name: names[n]}
		switch rnd.IntN(6) {
		case 0:
			c.Look = true
		case 1:
			c.Want = seen[string(sw.Partition)+c.Name] // delete
		default:
			c.Want, c.Value, c.Open = seen[string(sw.Partition)+c.Name], fmt.Appendf(nil, "%x", sw.Stamp), rnd.IntN(2) == 0
		}
		sw.Changes = append(sw.Changes, c)
	}
	return sw
}

// partitionState is what a partition holds between two swaps.
type partitionState struct {
	last    uint64 // version
	records map[string]ledger.Record
}

// swapModel is the contract of Swap without stamps sent twice, expiry and faults.
var swapModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			p := string(op.Input.(ledger.Swap).Partition)
			by[p] = append(by[p], op)
		}
		return slices.Collect(maps.Values(by))
	},
	Init: func() any { return partitionState{} },
	Step: func(state, input, output any) (bool, any) {
		return step(state.(partitionState), input.(ledger.Swap), output.(ledger.Reply))
	},
	Equal: func(a, b any) bool {
		x, y := a.(partitionState), b.(partitionState)
		return x.last == y.last && maps.EqualFunc(x.records, y.records, func(a, b ledger.Record) bool { return a.Version == b.Version })
	},
}

func step(before partitionState, sw ledger.Swap, r ledger.Reply) (bool, partitionState) {
	fits, writes := true, false
	for _, c := range sw.Changes {
		fits = fits && (c.Look || before.records[c.Name].Version == c.Want)
		writes = writes || (!c.Look && c.Value != nil)
	}
	if r.Applied != fits || (r.Version != 0) != (fits && writes) || (r.Version != 0 && r.Version <= before.last) {
		return false, before
	}
	after := partitionState{last: max(before.last, r.Version), records: maps.Clone(before.records)}
	if after.records == nil {
		after.records = map[string]ledger.Record{}
	}
	for i, c := range sw.Changes {
		switch {
		case !fits || c.Look:
		case c.Value == nil:
			delete(after.records, c.Name)
		default:
			after.records[c.Name] = ledger.Record{Version: r.Version, Value: c.Value}
		}
		is := after.records[c.Name]
		if r.Records[i].Version != is.Version || string(r.Records[i].Value) != string(is.Value) {
			return false, before
		}
	}
	return true, after
}
