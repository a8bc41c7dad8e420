package ledger_test

import (
	"slices"

	"agentgw"
)

// move is what may happen next on a stage.
type move struct {
	who   byte              // 'A', 'B', …; 0: time passes
	what  byte              // 's' a step, 'd' a death, 't' time
	where agentgw.Partition // of a swap; "" otherwise
	look  bool
	about string
}

// apart reports whether it makes no difference which of two moves comes first: nobody could tell.
func (m move) apart(o move) bool {
	switch {
	case m.who == o.who:
		return false
	case m.what == 'd' || o.what == 'd':
		return true
	case m.what == 't' || o.what == 't':
		return m.where == "" && o.where == "" // whoever swaps reads the clock
	case m.where == "" || o.where == "":
		return m.where != o.where
	}
	return m.where != o.where || m.look && o.look
}

// schedule is one way through all choices, and leads to the next. Of orders that differ in moves only that are apart it visits one (sleep
// sets: Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, 1996).
type schedule struct {
	nodes []node
	depth int
}

type node struct {
	moves  []move
	chosen int
	asleep []move // what has been tried before in an order that is the same
}

func (n *node) sleeps(m move) bool {
	return slices.ContainsFunc(n.asleep, func(o move) bool { return o.who == m.who && o.what == m.what })
}

// awake is the first move from i on that is not asleep; -1: there is none.
func (n *node) awake(i int) int {
	for ; i < len(n.moves); i++ {
		if !n.sleeps(n.moves[i]) {
			return i
		}
	}
	return -1
}

// pick chooses one of the moves; -1: all that could come has been seen.
func (s *schedule) pick(moves []move) int {
	if s.depth == len(s.nodes) {
		n := node{moves: moves}
		if s.depth > 0 {
			before := s.nodes[s.depth-1]
			for _, m := range slices.Concat(before.asleep, before.moves[:before.chosen]) {
				if m.apart(before.moves[before.chosen]) {
					n.asleep = append(n.asleep, m)
				}
			}
		}
		if n.chosen = n.awake(0); n.chosen < 0 {
			return -1
		}
		s.nodes = append(s.nodes, n)
	}
	s.depth++
	return s.nodes[s.depth-1].chosen
}

// next is the following schedule, depth first; false: there is none.
func (s *schedule) next() bool {
	s.depth = 0
	for i := len(s.nodes) - 1; i >= 0; i-- {
		if c := s.nodes[i].awake(s.nodes[i].chosen + 1); c >= 0 {
			s.nodes = s.nodes[:i+1]
			s.nodes[i].chosen = c
			return true
		}
	}
	return false
}
