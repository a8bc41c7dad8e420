// Package chaos breaks a whole installation on purpose, by a schedule that can be repeated: gateways, the Redis under them, and the tool.
package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is one thing that goes wrong.
type Fault struct {
	At, For time.Duration // since the beginning; how long it lasts
	Target  string        // "gateway 0", "gateway 1", …, "primary", "tool"
	What    string        // "kill", "pause"; of the tool also "lose answers": it does what it is asked and hangs up
}

// String is one line of a report.
func (f Fault) String() string {
	return fmt.Sprintf("%6.1fs %-9s %s for %s", f.At.Seconds(), f.Target, f.What, f.For.Round(time.Millisecond))
}

// Plan is what a schedule is made from.
type Plan struct {
	Seed     uint64 // the same seed makes the same schedule
	Length   time.Duration
	Gateways int
	// Apart keeps the death of gateways away from that of the primary: what only a dead gateway knew is not written back (docs/limits.md).
	Apart bool
}

const (
	primaryEvery = 30 * time.Second // a failover, its window, and some time that is undisturbed
	primaryHolds = 9 * time.Second  // from its death on, gateways do not die either
	longestPause = 5 * time.Second  // of a gateway: shorter than the window after a failover
)

// Schedule lists the faults of a plan in order of time. No target has two faults at once.
func Schedule(p Plan) []Fault {
	rnd := rand.New(rand.NewPCG(p.Seed, 0))
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(rnd.Int64N(int64(to-from))) }
	var all, primary []Fault
	for at := between(4*time.Second, 8*time.Second); at < p.Length; at += primaryEvery + between(0, 5*time.Second) {
		f := Fault{At: at, Target: "primary", What: "kill", For: between(time.Second, 4*time.Second)}
		switch rnd.IntN(4) {
		case 0:
			f.What, f.For = "pause", between(100*time.Millisecond, 400*time.Millisecond) // a hiccup
		case 1:
			f.What = "pause"
		}
		primary = append(primary, f)
	}
	for g := range p.Gateways {
		for at := between(time.Second, 8*time.Second); at < p.Length; {
			f := Fault{At: at, Target: fmt.Sprintf("gateway %d", g), What: "kill", For: between(50*time.Millisecond, 2*time.Second)}
			if rnd.IntN(3) == 0 {
				f.What, f.For = "pause", between(50*time.Millisecond, longestPause)
			}
			at += f.For + between(2*time.Second, 9*time.Second)
			if p.Apart && f.What == "kill" && slices.ContainsFunc(primary, func(o Fault) bool {
				return f.At > o.At-2*time.Second && f.At < o.At+o.For+primaryHolds
			}) {
				continue
			}
			all = append(all, f)
		}
	}
	for at := between(2*time.Second, 5*time.Second); at < p.Length; {
		what := []string{"kill", "pause", "lose answers"}[rnd.IntN(3)]
		f := Fault{At: at, Target: "tool", What: what, For: between(100*time.Millisecond, 1500*time.Millisecond)}
		at += f.For + between(2*time.Second, 6*time.Second)
		all = append(all, f)
	}
	all = append(all, primary...)
	slices.SortStableFunc(all, func(a, b Fault) int { return int(a.At - b.At) })
	return all
}
