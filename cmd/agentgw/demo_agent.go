package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// agent is a scripted agent that behaves as real ones do. It calls the billing service through a gateway, or directly.
type agent struct {
	ctx     context.Context
	billing *billing
	gateway *childGateway // nil: it calls the service directly
	say     func(line demoLine)

	mu       sync.Mutex
	intended int
	calls    int
	keys     int
}

// demoLine is one line of the demo's table.
type demoLine struct {
	Intent   string `json:"intent,omitempty"` // a new intended effect begins here
	Call     string `json:"call,omitempty"`
	Decision string `json:"decision,omitempty"`
	Why      string `json:"why,omitempty"`
}

// paths of the tools, for who calls them without a gateway.
var demoPaths = map[string]string{"create_invoice": "/invoices", "place_order": "/orders", "issue_refund": "/refunds"}

// options of one call.
type callOptions struct {
	patience time.Duration // how long the agent waits; 0: as long as it takes
	token    string
	mode     string
}

// intends begins a new intended effect.
func (a *agent) intends(what string) {
	a.intended++
	a.say(demoLine{Intent: what})
}

// call is one call with a fresh Idempotency-Key, as agents make one for every attempt. It returns what the gateway decided; directly, nil.
func (a *agent) call(what, tool, args string, o callOptions) *decision {
	ctx, cancel := a.ctx, context.CancelFunc(func() {})
	if o.patience > 0 {
		ctx, cancel = context.WithTimeout(a.ctx, o.patience)
	}
	defer cancel()
	a.mu.Lock()
	a.calls++
	a.keys++
	key := fmt.Sprintf("key-%d", a.keys)
	a.mu.Unlock()
	if a.gateway == nil {
		a.direct(ctx, tool, args)
		return nil
	}
	d, err := a.gateway.call(ctx, callBody{Tool: tool, Arguments: json.RawMessage(args), IdempotencyKey: key, RepeatToken: o.token, Mode: o.mode})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		a.say(demoLine{Call: what, Decision: "(no answer)", Why: "the agent's own deadline: it gives up and plans anew"})
	case err != nil:
		a.say(demoLine{Call: what, Decision: "(no answer)", Why: "the gateway was killed with SIGKILL while the call was out"})
	default:
		a.say(demoLine{Call: what, Decision: words(d.Decision, d.Outcome), Why: d.why()})
	}
	return d
}

// direct is a call without a gateway. What comes back does not matter: the script says what the agent does next.
func (a *agent) direct(ctx context.Context, tool, args string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.billing.url+demoPaths[tool], bytes.NewReader([]byte(args)))
	if err != nil {
		return
	}
	req.GetBody = nil // net/http itself would send some of them twice
	if res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
		res.Body.Close()
	}
}

// why says in a few words why a decision was made.
func (d *decision) why() string {
	switch d.Decision {
	case "executed":
		if d.Outcome == "indeterminate" {
			return "sent, and the connection broke: it may have happened"
		}
		return ""
	case "replayed":
		if len(d.Ignored) > 0 {
			return "the first answer again; does not count: " + strings.Join(names(d.Ignored), ", ")
		}
		return "the first answer again"
	case "in_flight":
		return "the first attempt is still running"
	case "conflict":
		return "same invoice, but differs: " + strings.Join(d.Fields, ", ")
	case "indeterminate":
		return "sent before, outcome not known: nothing is sent on a guess"
	}
	return d.Reason
}

// play is the whole story. Every scene is one intended effect, but for the last, which is two.
func (a *agent) play() {
	a.rewords()
	a.losesPatience()
	a.reorders()
	a.runsTwice()
	a.changesItsMind()
	a.losesTheAnswer()
	a.isKilled()
	a.meansItTwice()
}

func (a *agent) rewords() {
	a.intends("the November invoice of C-1")
	a.call("as asked", "create_invoice", `{"customer_id":"C-1","month":"2026-11","amount":"120.00","currency":"EUR","note":"November"}`, callOptions{})
	a.call("a second run words it anew", "create_invoice", `{"note":"Invoice for November, as the customer asked","currency":"eur","amount":120,"customer_id":" C-1 ","month":"November 2026"}`, callOptions{})
	a.call("and a third", "create_invoice", `{"customer_id":"C-1","month":"2026/11","amount":120.0,"currency":"EUR","request_id":"5d1c0f"}`, callOptions{})
}

func (a *agent) losesPatience() {
	a.intends("the invoice of C-2, by a slow service")
	a.billing.goesWrong("C-2", mood{takes: 1200 * time.Millisecond})
	args := `{"customer_id":"C-2","month":"2026-11","amount":"75.00","currency":"EUR"}`
	a.call("waits half a second", "create_invoice", args, callOptions{patience: 500 * time.Millisecond})
	a.call("plans it anew", "create_invoice", args, callOptions{})
	time.Sleep(900 * time.Millisecond)
	a.call("and once more", "create_invoice", args, callOptions{})
}

func (a *agent) reorders() {
	a.intends("an order of three articles for C-3")
	a.call("as asked", "place_order", `{"customer_id":"C-3","day":"2026-12-01","articles":["A-7","B-2","C-9"],"total":"88.50"}`, callOptions{})
	a.call("the list in another order", "place_order", `{"customer_id":"C-3","day":"1 December 2026","articles":["C-9","a-7","B-2"],"total":88.5}`, callOptions{})
}

func (a *agent) runsTwice() {
	a.intends("the invoice of C-4, by two workers at once")
	a.billing.goesWrong("C-4", mood{takes: 400 * time.Millisecond})
	args := `{"customer_id":"C-4","month":"2026-11","amount":"310.00","currency":"EUR"}`
	var both sync.WaitGroup
	for _, who := range []string{"the first worker", "the second worker"} {
		both.Go(func() { a.call(who, "create_invoice", args, callOptions{}) })
	}
	both.Wait()
	a.call("the loser asks again", "create_invoice", args, callOptions{})
}

func (a *agent) changesItsMind() {
	a.intends("the invoice of C-5")
	a.call("as asked", "create_invoice", `{"customer_id":"C-5","month":"2026-11","amount":"45.00","currency":"EUR"}`, callOptions{})
	a.call("misreads the amount later", "create_invoice", `{"customer_id":"C-5","month":"2026-11","amount":"450.00","currency":"EUR"}`, callOptions{})
}

func (a *agent) losesTheAnswer() {
	a.intends("the invoice of C-6; the connection breaks")
	a.billing.goesWrong("C-6", mood{cuts: true})
	args := `{"customer_id":"C-6","month":"2026-11","amount":"99.00","currency":"EUR"}`
	a.call("as asked", "create_invoice", args, callOptions{})
	d := a.call("tries again", "create_invoice", args, callOptions{})
	a.operatorLooksUp(d, "C-6")
	a.call("tries again", "create_invoice", args, callOptions{})
}

func (a *agent) isKilled() {
	a.intends("the invoice of C-7; the process is killed half-way")
	a.billing.goesWrong("C-7", mood{takes: 700 * time.Millisecond})
	args := `{"customer_id":"C-7","month":"2026-11","amount":"64.00","currency":"EUR"}`
	if a.gateway == nil { // the agent's own process dies, and its supervisor starts it again
		a.call("as asked", "create_invoice", args, callOptions{patience: 300 * time.Millisecond})
		a.call("starts again", "create_invoice", args, callOptions{})
		return
	}
	a.killWhenReached("C-7", func() { a.call("as asked", "create_invoice", args, callOptions{}) })
	d := a.call("the gateway is back", "create_invoice", args, callOptions{})
	for end := time.Now().Add(10 * time.Second); d != nil && d.Decision == "in_flight" && time.Now().Before(end); {
		time.Sleep(2200 * time.Millisecond) // the lease of the dead gateway
		d = a.call("asks when the lease is over", "create_invoice", args, callOptions{})
	}
	a.operatorLooksUp(d, "C-7")
	a.call("tries again", "create_invoice", args, callOptions{})
}

// killWhenReached kills the gateway with SIGKILL as soon as the service has the request, and starts it again on the same ledger.
func (a *agent) killWhenReached(ref string, call func()) {
	var calling sync.WaitGroup
	calling.Go(call)
	for got := ""; got != ref; {
		select {
		case got = <-a.billing.got:
		case <-time.After(10 * time.Second):
			return
		}
	}
	a.gateway.kill()
	calling.Wait()
	if err := a.gateway.start(a.ctx); err != nil {
		a.say(demoLine{Call: "the gateway does not come back: " + err.Error()})
	}
}

// operatorLooksUp is an operator who finds the lost answer in the billing system and says so.
func (a *agent) operatorLooksUp(d *decision, ref string) {
	if a.gateway == nil || d == nil || d.Decision != "indeterminate" || d.Effect == nil {
		return
	}
	if err := a.gateway.resolve(a.ctx, d.Effect.ID, a.billing.lookUp(ref)); err != nil {
		a.say(demoLine{Call: "an operator: " + err.Error()})
		return
	}
	a.say(demoLine{Call: "an operator looks it up", Decision: "resolved succeeded", Why: "found in the billing system"})
}

func (a *agent) meansItTwice() {
	a.intends("a refund of 12.00 on payment P-8")
	args := `{"payment":"P-8","amount":"12.00"}`
	a.call("as asked", "issue_refund", args, callOptions{})
	a.call("a worker retries it", "issue_refund", args, callOptions{})
	a.intends("a second, equal refund, on purpose")
	token := ""
	if a.gateway != nil {
		if d := a.call("asks how (mode check)", "issue_refund", args, callOptions{mode: "check"}); d != nil {
			token = d.RepeatToken
		}
	}
	a.call("with the repeat token", "issue_refund", args, callOptions{token: token})
	a.call("a worker retries it", "issue_refund", args, callOptions{token: token})
}
