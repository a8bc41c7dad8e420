package simulate

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentgw"
	"agentgw/ledger"
	"agentgw/policy"
)

var (
	seeds = flag.Int("seeds", 200, "how many random cases TestRandomWorlds plays")
	from  = flag.Int("from", 0, "the first of them")
)

const randomPolicy = `
version: 1
entities: {order: {states: [new, open, shut], initial: new}}
operations:
  pay: {tools: [pay], key: {id: id}, must_match: {amount: int}, lease: 30s, timeout: 40s, ttl: 300d}
  move: {tools: [move], key: {id: id}, lock: {desk: id}, lease: 30s, timeout: 40s, ttl: 300d}
  retry: {tools: [retry], key: {id: id}, lock: {desk: id}, on_indeterminate: retry, lease: 30s, timeout: 40s, ttl: 300d}
  mail: {tools: [mail], each: to, key: {to: {type: id, arg: item}}, lease: 30s, timeout: 40s, ttl: 300d}
  blink: {tools: [blink], key: {id: id}, repeat: new_key, lease: 30s, timeout: 40s, ttl: 300d}
  tea: {tools: [tea], key: {id: id}, lease: 30s, timeout: 40s, ttl: 300d}
  coupon: {tools: [coupon], key: {id: id}, limit: {count: 2, per: 10m}, lease: 30s, timeout: 40s, ttl: 300d}
  open: {tools: [open], pattern: transition, entity: {order: {order: id}}, from: [new, shut], to: open, lease: 30s, timeout: 40s, ttl: 300d}
  shut: {tools: [shut], pattern: transition, entity: {order: {order: id}}, from: [open], to: shut, lease: 30s, timeout: 40s, ttl: 300d}
  label: {tools: [label], pattern: overwrite, key: {id: id}, newer: {rev: int}, lock: {desk: id}, lease: 30s, timeout: 40s}
`

// TestRandomWorlds plays random cases in a world that tells the truth: an answer that says "not done" means so, and operators resolve a
// doubt by what happened. Then no effect ever happens twice, no lock is passed by, no transition leaves a state that it may not leave, no
// older value follows a newer one; and when all is calm again every call is executed or replayed.
func TestRandomWorlds(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, err := policy.Load([]policy.Source{{Name: "random.yaml", Text: []byte(randomPolicy)}},
		policy.Env{AllowAll: true, Upstreams: map[string]policy.UpstreamFacts{upstream: {IdempotencyHeader: true}}})
	if err != nil {
		t.Fatal(err)
	}
	var m *model
	events["settle_doubts"] = func(w *world, _ *subject) error { return m.settleDoubts(w) }
	events["calm"] = func(w *world, _ *subject) error { return m.calm(w) }
	events["strike"] = func(w *world, _ *subject) error { m.strike(w); return nil }
	events["void_some"] = func(w *world, _ *subject) error { m.void(w); return nil }
	defer delete(events, "void_some")
	defer delete(events, "strike")
	defer delete(events, "settle_doubts")
	defer delete(events, "calm")
	for seed := *from; seed < *from+*seeds; seed++ {
		c := randomCase(p, rand.New(rand.NewPCG(uint64(seed), 1)))
		w := newWorld(c, inVirtualTime)
		m = &model{rand: rand.New(rand.NewPCG(uint64(seed), 2)), voids: map[string]int{}}
		w.watch, w.meddle = m.watch, func(l *life, swap func() ([]ledger.Reply, error)) ([]ledger.Reply, error) {
			return m.meddle(w, l, swap)
		}
		res := w.play()
		for _, f := range res.Failures {
			if !strings.Contains(f, "carried no repeat token") && !strings.Contains(f, "has no answer yet") {
				m.fail("%s", f)
			}
		}
		m.count(w)
		if len(m.wrong) > 0 {
			t.Errorf("seed %d: %v", seed, m.wrong)
			for _, s := range c.steps {
				t.Log(story(s, w))
			}
			break
		}
	}
}

var (
	desks   = []string{"d1", "d2"}
	ids     = []string{"1", "2"}
	keys    = []string{"", "", "k1", "k2", "k3"}
	tools   = []string{"pay", "move", "retry", "mail", "blink", "tea", "coupon", "open", "shut", "label"}
	mishaps = []string{"gateway_dies", "gateway_dies_before_send", "ledger_down", "ledger_up", "pause", "resume", "settle_doubts", "settle_doubts",
		"strike", "strike", "strike", "strike", "void_some"}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func randomCase(p *policy.Policy, r *rand.Rand) *testCase {
	c := &testCase{file: "random", name: "random", most: -1, dedups: true, policy: p}
	at := time.Duration(0)
	few := tools // sometimes only a few tools, so that they meet more often
	if r.IntN(2) == 0 {
		few = []string{pick(r, tools), pick(r, tools)}
	}
	paused := false
	for range 10 + r.IntN(50) {
		at += time.Duration(r.ExpFloat64() * float64(8*time.Second))
		if r.IntN(12) == 0 {
			at += time.Minute
		}
		s := &step{at: at, number: len(c.steps) + 1}
		if r.IntN(6) == 0 {
			s.event = &eventStep{name: pick(r, mishaps)}
			switch s.event.name {
			case "pause":
				if paused {
					s.event.name = "resume"
				}
				paused = !paused
			case "resume":
				if !paused {
					s.event.name = "settle_doubts"
				}
				paused = false
			}
		} else {
			s.call = randomCall(r, pick(r, few))
			if s.call.call.Tool == "tea" {
				s.id = fmt.Sprintf("tea %d", s.number)
				s.call.repeatOf = earlierTea(r, c.steps, s.call)
			}
		}
		c.steps = append(c.steps, s)
	}
	for range 3 {
		at += 20 * time.Minute
		c.steps = append(c.steps, &step{at: at, number: len(c.steps) + 1, event: &eventStep{name: "calm"}})
	}
	return append1(c, at)
}

// earlierTea is the id of an earlier call for the same tea, whose answer may carry a token; often none.
func earlierTea(r *rand.Rand, steps []*step, c *callStep) string {
	c.call.IdempotencyKey = ""
	for _, s := range steps[r.IntN(len(steps)+1):] {
		if s.call != nil && s.call.call.Tool == "tea" && s.call.call.Mode == agentgw.Check && bytes.Equal(s.call.call.Arguments, c.call.Arguments) {
			return s.id
		}
	}
	return ""
}

// append1 lets every call come once more, in a calm world.
func append1(c *testCase, at time.Duration) *testCase {
	seen := map[string]bool{}
	for _, s := range slices.Clone(c.steps) {
		if s.call == nil || s.call.call.Mode == agentgw.Check {
			continue
		}
		again := *s.call
		again.script = script{answer: answerOK, status: 200, header: http.Header{}, takes: time.Second}
		again.call.IdempotencyKey, again.repeatOf = "", ""
		for _, args := range singly(again.call) {
			again := again
			again.call.Arguments = args
			if name := again.call.Tool + string(args); seen[name] {
				continue
			} else {
				seen[name] = true
			}
			at += 20 * time.Minute
			c.steps = append(c.steps, &step{at: at, number: len(c.steps) + 1, id: "calm", call: &again})
		}
	}
	return c
}

// singly is a batch one element after the other, and any other call as it is.
func singly(call agentgw.Call) (all [][]byte) {
	if call.Tool != "mail" {
		return [][]byte{call.Arguments}
	}
	for _, to := range []string{"a", "b", "c"} {
		if bytes.Contains(call.Arguments, []byte(`"`+to+`"`)) {
			all = append(all, fmt.Appendf(nil, `{"to":["%s"]}`, to))
		}
	}
	return all
}

func randomCall(r *rand.Rand, tool string) *callStep {
	c := &callStep{call: agentgw.Call{Tenant: "t", Tool: tool, Mode: agentgw.Execute, IdempotencyKey: pick(r, keys)}, expect: expectation{sends: -1}}
	switch r.IntN(12) {
	case 0:
		c.call.Mode = agentgw.Check
	case 4, 5, 6, 7:
		if tool == "tea" {
			c.call.Mode = agentgw.Check
		}
	case 3:
		c.call.Mode = agentgw.Redeliver
	}
	id, desk := pick(r, ids), pick(r, desks)
	args := fmt.Sprintf(`{"id":%q,"desk":%q,"amount":%d,"order":%q}`, id, desk, 5, id)
	switch tool {
	case "mail":
		to := []string{"a", "b", "c"}
		r.Shuffle(3, func(i, j int) { to[i], to[j] = to[j], to[i] })
		args = fmt.Sprintf(`{"to":%q}`, to[:1+r.IntN(3)])
		args = string(bytes.ReplaceAll([]byte(args), []byte(`" "`), []byte(`","`)))
	case "coupon":
		args = fmt.Sprintf(`{"id":"%d"}`, r.IntN(5))
	case "label":
		args = fmt.Sprintf(`{"id":%q,"desk":%q,"rev":%d}`, id, desk, r.IntN(20))
	}
	c.call.Arguments = []byte(args)
	c.script = randomScript(r)
	return c
}

func randomScript(r *rand.Rand) script {
	s := script{answer: answerOK, status: 200, header: http.Header{}, takes: time.Duration(r.ExpFloat64() * float64(8*time.Second))}
	yes, no := true, false
	switch r.IntN(12) {
	case 0, 1:
		s.status = 422
	case 2:
		s.status, s.effect = 500, pick(r, []*bool{&yes, &no})
	case 3, 4:
		s.answer, s.effect = answerReset, pick(r, []*bool{&yes, &no})
	case 5:
		s.answer, s.effect = answerTimeout, pick(r, []*bool{&yes, &no})
	case 6:
		s.answer = answerRefused
	case 7:
		s.answer = answerUnsaved
	}
	return s
}

// settleDoubts is an operator's work, who looks what happened.
func (m *model) settleDoubts(w *world) error {
	if w.down.Load() {
		return nil
	}
	for _, r := range w.runs {
		id := r.key
		if r.life == nil || id.IsZero() {
			continue
		}
		e, err := w.operator().Get(context.Background(), id)
		if err != nil || !inDoubt(e) || id.Record() == "n" {
			continue
		}
		done := false
		for _, a := range m.arrived {
			done = done || a.key == id && a.generation == e.Generation && a.happened
		}
		outcome := agentgw.Failed
		if done {
			outcome = agentgw.Succeeded
		}
		if _, err := w.operator().Resolve(context.Background(), id, 0, outcome, nil, "operator", "looked"); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}

// calm ends all mishaps.
func (m *model) calm(w *world) error {
	w.down.Store(false)
	m.left = 0
	if w.paused != nil {
		_ = w.resume(nil)
	}
	return m.settleDoubts(w)
}

// model is what the upstream knows of itself.
type model struct {
	rand    *rand.Rand
	arrived []arrival
	wrong   []string
	voids   map[string]int
	left    int // swaps until one meets with a mishap; 0: none does
}

// strike lets one of the next swaps meet with a mishap.
func (m *model) strike(*world) { m.left = 1 + m.rand.IntN(8) }

// void frees one success.
func (m *model) void(w *world) {
	for _, i := range m.rand.Perm(len(w.runs)) {
		r := w.runs[i]
		if r.call == nil || r.key.IsZero() || r.key.Record() == "n" || w.down.Load() || slices.Contains([]string{"open", "shut", "coupon"}, r.call.Tool) {
			continue
		}
		if _, err := w.operator().Void(context.Background(), r.key, 0, "operator", "why not"); err == nil {
			for _, args := range singly(*r.call) {
				m.voids[nameOf(r, args)]++
			}
			return
		}
	}
}

// nameOf names an effect of a call: its own, or one of a batch.
func nameOf(r *run, args []byte) string {
	if r.call.Tool == "mail" {
		return "mail" + string(args)
	}
	return r.call.Tool + " " + r.key.String()
}

// meddle loses a swap or its reply, and sometimes the gateway with it.
func (m *model) meddle(w *world, l *life, swap func() ([]ledger.Reply, error)) ([]ledger.Reply, error) {
	if m.left == 0 {
		return swap()
	}
	if m.left--; m.left > 0 {
		return swap()
	}
	if m.rand.IntN(2) == 0 {
		if _, err := swap(); err != nil {
			return nil, err
		}
	}
	if m.rand.IntN(3) > 0 {
		w.end(l)
		switch l {
		case w.serving:
			w.serve()
		case w.paused:
			w.paused = nil
		}
	}
	return nil, errors.New("the connection broke")
}

type arrival struct {
	*run
	at         time.Time
	generation uint64 // of its effect
	args       struct {
		ID, Desk, Order string
		Rev             int
	}
}

func (m *model) fail(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// watch looks at a call that is about to be sent.
func (m *model) watch(r *run) {
	a := arrival{run: r, at: r.now}
	if e, err := r.operator().Get(context.Background(), r.key); err == nil {
		a.generation = e.Generation
	}
	_ = json.Unmarshal(r.call.Arguments, &a.args)
	where := fmt.Sprintf("step %d: %s", r.step.number, r.call.Tool)
	state, recent := "new", 0
	for _, b := range m.arrived {
		if !b.happened {
			continue
		}
		switch tool := b.call.Tool; {
		case (tool == "open" || tool == "shut") && b.args.Order == a.args.Order:
			state = tool
		case tool == "label" && r.call.Tool == "label" && b.args.ID == a.args.ID && a.args.Rev < b.args.Rev:
			m.fail("%s of %s: %d after %d", where, a.args.ID, a.args.Rev, b.args.Rev)
		case tool == "coupon" && a.at.Sub(b.at) < 10*time.Minute:
			recent++
		}
	}
	switch tool := r.call.Tool; {
	case tool == "open" && state == "open", tool == "shut" && state != "open":
		m.fail("%s from %q", where, state)
	case tool == "coupon" && recent >= 2:
		m.fail("%s: the third within the window", where)
	case tool == "move", tool == "retry", tool == "label":
		m.lock(r, a.args.Desk, where)
	}
	m.arrived = append(m.arrived, a)
}

// lock: nothing else on the same desk is under way or in doubt. A claim alone has sent nothing.
func (m *model) lock(r *run, desk, where string) {
	for _, a := range m.arrived {
		other := a.run
		if other == r || !other.sent || other.key == r.key || !bytes.Contains(other.call.Arguments, []byte(desk)) {
			continue
		}
		tool := other.call.Tool
		if tool != "move" && tool != "retry" && tool != "label" {
			continue
		}
		if d := other.decision; d != nil && !other.abandoned && (d.Outcome == agentgw.Succeeded || d.Outcome == agentgw.Failed && tool != "retry") {
			continue // it is over, whether or not that is written yet
		}
		e, err := r.operator().Get(context.Background(), other.key)
		if err != nil || a.generation != e.Generation || !lapsedInto(e).Open() || e.State == agentgw.StateClaimed || e.ID.Record() == "n" && (e.State == agentgw.StateIndeterminate || e.Lapsed(e.Now)) {
			continue
		}
		if !slices.ContainsFunc(e.Holds, func(h agentgw.Hold) bool { return h.Of == "desk "+desk }) {
			continue // its latest attempt was on another desk
		}
		m.fail("%s passes step %d, which is %s", where, other.step.number, e.State)
	}
}

// count looks at the end: what was asked for in the calm happened once, and nothing twice.
func (m *model) count(w *world) {
	times := map[string]int{}
	wishes := map[string]map[string]bool{}
	for _, r := range w.runs {
		if r.call == nil || r.call.Tool == "label" {
			continue
		}
		for _, args := range singly(*r.call) {
			name := nameOf(r, args)
			if wishes[name] == nil {
				wishes[name] = map[string]bool{}
			}
			wishes[name][r.call.IdempotencyKey+afterOrdinal(r.call.RepeatToken)] = true
			if r.happened {
				times[name]++
			}
			if d := r.decision; r.step.id == "calm" && d.Verdict != agentgw.Executed && d.Verdict != agentgw.Replayed && !(d.Reason == agentgw.ReasonState) {
				m.fail("step %d: %s in the calm: %s %s %s", r.step.number, name, d.Verdict, d.Reason, d.Detail)
			}
		}
	}
	for name, n := range times {
		most := 1
		if name[:3] == "tea" || name[:5] == "blink" {
			most = len(wishes[name])
		}
		most *= 1 + m.voids[name]
		if name[:4] == "open" || name[:4] == "shut" {
			continue // once for each time that the state allows it
		}
		if n > most {
			m.fail("%s happened %d times", name, n)
		}
	}
	for name := range wishes {
		if times[name] == 0 && name[:4] != "open" && name[:4] != "shut" && wished(w, name) {
			m.fail("%s never happened", name)
		}
	}
}

// afterOrdinal is what a token names: the effect's first claim and an ordinal.
func afterOrdinal(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	head, _ := base64.RawURLEncoding.DecodeString(parts[1])
	return string(head[:16])
}

// wished reports whether a call of the calm asked for it.
func wished(w *world, name string) bool {
	return slices.ContainsFunc(w.runs, func(r *run) bool {
		return r.step.id == "calm" && r.call != nil && (r.call.Tool+" "+r.key.String() == name || r.call.Tool+string(r.call.Arguments) == name)
	})
}

// story tells one step of a case for people.
func story(s *step, w *world) string {
	if s.event != nil {
		return fmt.Sprintf("%3d %9s %s", s.number, s.at.Round(time.Millisecond), s.event.name)
	}
	for _, r := range w.runs {
		if r.step == s {
			c := s.call
			return fmt.Sprintf("%3d %9s %-6s %s key=%q %s %s %d takes %s -> %s %s %s %s (%s)", s.number, s.at.Round(time.Millisecond), c.call.Tool, c.call.Arguments, c.call.IdempotencyKey,
				c.call.Mode, c.script.answer, c.script.status, c.script.takes.Round(time.Millisecond), r.decision.Verdict, r.decision.Reason, r.decision.Outcome,
				map[bool]string{true: "HAPPENED"}[r.happened], r.key)
		}
	}
	return ""
}
