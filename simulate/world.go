package simulate

import (
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"agentgw"
	"agentgw/canonicalize/meaning"
	"agentgw/gateway"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/policy"
)

// manner is how a case is played.
type manner int

const (
	inVirtualTime manner = iota // as it is written
	withoutGaps                 // in virtual time that stands still: one step after the other, answers at once
	inRealTime                  // the same in real time
)

// world is everything around one case: gateways, their ledger, the upstream, time.
type world struct {
	*testCase
	*timeline
	manner manner
	store  ledger.Store // what the gateways share
	down   atomic.Bool
	prefix string // of all tenants

	rules   *policy.Policy // the version in force
	serving *life
	lives   []*life
	paused  *life

	runs     []*run
	named    map[string]*run
	upstream upstreamState
	failures []string
	watch    func(*run)                                                                 // told of every call that is about to be sent; nil: nobody
	meddle   func(l *life, swap func() ([]ledger.Reply, error)) ([]ledger.Reply, error) // in the way to the ledger; nil: nothing
}

func newWorld(c *testCase, m manner) *world {
	w := &world{testCase: c, timeline: newTimeline(), manner: m, rules: c.policy, named: map[string]*run{}}
	w.store = memstore.New(memstore.Options{Replicas: true, Now: func() time.Time { return w.now }})
	w.upstream = upstreamState{done: map[string]*script{}, reads: c.answers}
	return w
}

// ledger is the ledger as an operator sees it, whatever state the gateways are in.
func (w *world) operator() *ledger.Ledger { return ledger.New(w.store) }

// serve starts a gateway that takes the calls from now on.
func (w *world) serve() {
	l := &life{}
	var clock gateway.Clock = virtual{w.timeline, l}
	if w.manner == inRealTime {
		clock = real{l}
	}
	l.Gateway = gateway.New(gateway.Options{Policy: w.rules, Ledger: ledger.New(&link{w.store, w, l}), Sender: &sender{w, clock},
		Tools: w.tools(), Upstreams: w.upstreams(), Clock: clock, Wording: &meaning.Lexical{}})
	w.lives = append(w.lives, l)
	w.serving = l
}

// tools are all that the case names.
func (w *world) tools() map[string]*gateway.Tool {
	tools := map[string]*gateway.Tool{}
	add := func(name string) {
		if name != "" {
			tools[name] = &gateway.Tool{Name: name, Upstream: upstream}
		}
	}
	for _, o := range w.rules.Operations {
		for _, name := range o.Tools {
			add(name)
		}
		if o.StateTool != nil {
			add(o.StateTool.Tool)
		}
	}
	for _, s := range w.steps {
		if s.call != nil {
			add(s.call.call.Tool)
		}
	}
	return tools
}

// upstreams are those of all routes, and the one of the tools.
func (w *world) upstreams() map[string]*gateway.Upstream {
	ups := map[string]*gateway.Upstream{}
	add := func(name string) {
		u := &gateway.Upstream{Name: name, URL: &url.URL{Scheme: "http", Host: name + ".invalid"}}
		if w.dedups {
			u.IdempotencyHeader = "Idempotency-Key"
		}
		ups[name] = u
	}
	add(upstream)
	for _, o := range w.rules.Operations {
		for _, route := range o.Routes {
			add(route.Upstream)
		}
	}
	return ups
}

// play runs the case from its first step to its last answer.
func (w *world) play() CaseResult {
	w.serve()
	for _, s := range w.steps {
		if s.call != nil {
			w.runs = append(w.runs, &run{world: w, step: s})
			if s.id != "" {
				w.named[s.id] = w.runs[len(w.runs)-1]
			}
		}
	}
	calls := w.runs
	for _, s := range w.steps {
		var r *run
		if s.call != nil {
			r, calls = calls[0], calls[1:]
		}
		w.schedule(s, r)
	}
	w.timeline.play(w.finished)
	for _, l := range w.lives { // what is still frozen never answers
		w.end(l)
	}
	w.timeline.play(func() bool { return false })
	return w.result()
}

// schedule files a step, or plays it at once.
func (w *world) schedule(s *step, r *run) {
	do := func() { w.happen(s, r) }
	switch w.manner {
	case inVirtualTime:
		w.begin(dawn.Add(s.at), classStep, nil, do)
	case withoutGaps:
		over := false
		w.begin(w.now, classStep, nil, func() { do(); over = true })
		w.timeline.play(func() bool { return over })
	case inRealTime:
		do()
	}
}

// finished reports whether every call has its decision.
func (w *world) finished() bool {
	return !slices.ContainsFunc(w.runs, func(r *run) bool { return r.decision == nil }) &&
		!slices.ContainsFunc(w.queue, func(e *event) bool { return e.class == classStep })
}

func (w *world) happen(s *step, r *run) {
	switch {
	case s.call != nil:
		r.play()
	case s.event != nil:
		w.event(s)
	case s.policy != nil:
		w.rules = s.policy
		w.serve()
	case s.answers != nil:
		w.upstream.reads = s.answers
	}
}

// end kills a gateway: what it still writes or answers is lost. Who waits for it is told nothing, and the call counts as executed.
func (w *world) end(l *life) {
	l.dead.Store(true)
	for _, r := range w.runs {
		if r.life == l && r.decision == nil {
			r.abandoned = true
			r.finish(&agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Indeterminate})
		}
	}
	if w.manner != inRealTime {
		w.bury(l)
	}
}

// fail notes what went otherwise than expected.
func (w *world) fail(line int, where, format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf("%s:%d: case %s%s: %s", w.file, line, w.name, where, fmt.Sprintf(format, args...)))
}

func (w *world) failStep(s *step, format string, args ...any) {
	where := fmt.Sprintf(", step %d", s.number)
	if s.id != "" {
		where += " (" + s.id + ")"
	}
	w.fail(s.line, where, format, args...)
}

func (w *world) result() CaseResult {
	res := CaseResult{File: w.file, Case: w.name, Calls: []CallResult{}}
	var by []string
	for _, r := range w.runs {
		res.Calls = append(res.Calls, r.result())
		if n := r.effects(); n > 0 {
			res.Effects += n
			by = append(by, fmt.Sprintf("step %d", r.step.number))
		}
	}
	switch n := res.Effects; {
	case w.exactly && n != w.most:
		w.fail(w.line, "", "expected %d effects, %d happened (%s)", w.most, n, joined(by))
	case w.most >= 0 && n > w.most:
		w.fail(w.line, "", "expected at most %d effects, %d happened (%s)", w.most, n, joined(by))
	}
	res.Failures = w.failures
	res.OK = len(w.failures) == 0
	return res
}
