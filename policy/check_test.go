package policy_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"agentgw"
	"agentgw/policy"
)

// load reads operations written below `operations:`, with an entity order.
func load(t testing.TB, operations string, env policy.Env) (*policy.Policy, error) {
	t.Helper()
	text := "version: 1\nentities: {order: {states: [pending, approved], initial: pending}}\noperations:\n"
	for line := range strings.SplitSeq(strings.TrimSpace(operations), "\n") {
		text += "  " + line + "\n"
	}
	return policy.Load([]policy.Source{{Name: "p.yaml", Text: []byte(text)}}, env)
}

func mustLoad(t testing.TB, operations string) *policy.Policy {
	t.Helper()
	p, err := load(t, operations, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every check is shown with what it refuses and, beside it, the nearest policy that loads.
func TestChecks(t *testing.T) {
	dedups := policy.Env{Upstreams: map[string]policy.UpstreamFacts{"bank": {IdempotencyHeader: true}, "erp": {}},
		Routes: map[string]policy.Route{"pay": {Method: "POST", Upstream: "bank", Path: "/pay/{id}"}, "buy": {Method: "POST", Upstream: "erp", Path: "/orders"}}}
	for _, c := range []struct {
		name, refused, want, fine string
		env                       policy.Env
	}{
		{name: "guards nothing", refused: `a: {key: {x: id}}`, want: "4:3: operation a guards nothing", fine: `a: {tools: [a], key: {x: id}}`},
		{name: "once without a key", refused: `a: {tools: [a]}`, want: "4:3: operation a has no key", fine: `a: {tools: [a], idempotency_key: use}`},
		{name: "once with the caller's key only looked at", refused: `a: {tools: [a], idempotency_key: check}`, want: "has no key", fine: `a: {tools: [a], key: {x: id}, idempotency_key: check}`},
		{name: "transition without entity", refused: `a: {tools: [a], pattern: transition, from: any, to: approved}`, want: "without entity", fine: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, from: any, to: approved}`},
		{name: "transition without from", refused: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, to: approved}`, want: "without from", fine: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, from: [pending], to: approved}`},
		{name: "transition without to", refused: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, from: any}`, want: "without to", fine: `a: {tools: [a], pattern: transition, entity: {order: {shop: id, x: id}}, from: any, to: approved}`},
		{name: "entity without transition", refused: `a: {tools: [a], key: {x: id}, entity: {order: {x: id}}}`, want: "4:41: entity has no effect with pattern once; leave it out, or choose pattern transition", fine: `a: {tools: [a], key: {x: id}, lock: {x: id}}`},
		{name: "newer without overwrite", refused: `a: {tools: [a], key: {x: id}, newer: {at: instant}}`, want: "newer has no effect with pattern once", fine: `a: {tools: [a], pattern: overwrite, key: {x: id}, newer: {at: instant}}`},
		{name: "newer without a key", refused: `a: {tools: [a], pattern: overwrite, newer: {at: instant}}`, want: "newer needs a key", fine: `a: {tools: [a], pattern: overwrite}`},
		{name: "newer of a type without order", refused: `a: {tools: [a], pattern: overwrite, key: {x: id}, newer: {at: text}}`, want: "values of type text are not older or newer", fine: `a: {tools: [a], pattern: overwrite, key: {x: id}, newer: {at: int}}`},
		{name: "newer that may be absent", refused: `a: {tools: [a], pattern: overwrite, key: {x: id}, newer: {at: "instant?"}}`, want: "neither older nor newer", fine: `a: {tools: [a], pattern: overwrite, key: {x: "id?"}, newer: {at: instant}}`},
		{name: "newer of two fields", refused: `a: {tools: [a], pattern: overwrite, key: {x: id}, newer: {at: int, of: int}}`, want: "newer compares one field, not 2", fine: `a: {tools: [a], pattern: overwrite, key: {x: id}, newer: {of: int}}`},
		{name: "newer in the key", refused: `a: {tools: [a], pattern: overwrite, key: {x: id, at: int}, newer: {at: int}}`, want: "field at stands in key", fine: `a: {tools: [a], pattern: overwrite, key: {x: id, of: int}, newer: {at: int}}`},
		{name: "a field in key and in must_match", refused: `a: {tools: [a], key: {x: id}, must_match: {y: id, x: text}}`, want: "4:53: field x stands in key and in must_match", fine: `a: {tools: [a], key: {x: id}, must_match: {y: id}}`},
		{name: "meaning that must match", refused: `a: {tools: [a], key: {x: id}, must_match: {y: meaning}}`, want: "meaning belongs in key", fine: `a: {tools: [a], key: {x: id, y: meaning}}`},
		{name: "a key for what is not guarded", refused: `a: {tools: [a], pattern: read, key: {x: id}}`, want: "key has no effect with pattern read", fine: `a: {tools: [a], pattern: read, timeout: 3s}`},
		{name: "a lifetime for what is not guarded", refused: `a: {tools: [a], pattern: unguarded, ttl: 1h}`, want: "ttl has no effect with pattern unguarded; leave it out, or choose pattern once, transition or overwrite", fine: `a: {tools: [a], pattern: unguarded, when: "true"}`},
		{name: "replicas of a ledger that has none", env: policy.Env{Unreplicated: "memory:"}, refused: `a: {tools: [a], key: {x: id}, durability: replicated}`, want: "4:45: durability: the ledger memory: has no replicas", fine: `a: {tools: [a], key: {x: id}, durability: local}`},
		{name: "less durability than of all", env: policy.Env{Replicated: true}, refused: `a: {tools: [a], key: {x: id}, durability: local}`, want: "4:45: durability: the configuration has all claims replicated", fine: `a: {tools: [a], key: {x: id}, durability: replicated}`},
		{name: "replicas of what is not claimed", refused: `a: {tools: [a], pattern: overwrite, key: {x: id}, durability: replicated}`, want: "durability has no effect on an overwrite without newer or lock", fine: `a: {tools: [a], pattern: overwrite, key: {x: id}, lock: {x: id}, durability: replicated}`},
		{name: "repeats of an overwrite", refused: `a: {tools: [a], pattern: overwrite, repeat: never}`, want: "repeat has no effect with pattern overwrite", fine: `a: {tools: [a], pattern: overwrite, key: {x: id}, lock: {x: id}}`},
		{name: "overwriting an email", refused: `a: {tools: [a], pattern: overwrite, side_effects: [log, email]}`, want: "4:59: an overwrite repeats freely, and email must not happen twice", fine: `a: {tools: [a], pattern: overwrite, side_effects: [log]}`},
		{name: "overwriting a payment, in other letters", refused: `a: {tools: [a], pattern: overwrite, side_effects: [Payments]}`, want: "Payments must not happen twice", fine: `a: {tools: [a], key: {x: id}, side_effects: [payment]}`},
		{name: "overwriting a message", refused: `a: {tools: [a], pattern: overwrite, side_effects: [message]}`, want: "message must not", fine: `a: {tools: [a], pattern: overwrite, side_effects: [metric]}`},
		{name: "overwriting an invoice", refused: `a: {tools: [a], pattern: overwrite, side_effects: [invoice]}`, want: "invoice must not", fine: `a: {tools: [a], pattern: overwrite, side_effects: [cache]}`},
		{name: "overwriting an order", refused: `a: {tools: [a], pattern: overwrite, side_effects: [order]}`, want: "order must not", fine: `a: {tools: [a], pattern: overwrite, side_effects: [profile]}`},

		{name: "a 5xx that succeeded", refused: `a: {tools: [a], key: {x: id}, outcomes: {"500": succeeded}}`, want: "4:44: an answer of 500 must not count as succeeded", fine: `a: {tools: [a], key: {x: id}, outcomes: {"409": succeeded}}`},
		{name: "a class with a 5xx", refused: `a: {tools: [a], key: {x: id}, outcomes: {5xx: succeeded}}`, want: "an answer of 500 must", fine: `a: {tools: [a], key: {x: id}, outcomes: {5xx: failed, 4xx: failed}}`},
		{name: "a range with a 5xx", refused: `a: {tools: [a], key: {x: id}, outcomes: [{status: 409-501, is: succeeded}]}`, want: "an answer of 500 must", fine: `a: {tools: [a], key: {x: id}, outcomes: [{status: 409-499, is: succeeded}]}`},
		{name: "a condition on a 5xx", refused: `a: {tools: [a], key: {x: id}, outcomes: [{when: "result.status == 503 || result.body.ok", is: succeeded}]}`, want: "an answer of 503 must", fine: `a: {tools: [a], key: {x: id}, outcomes: [{when: "result.status < 500 && result.body.ok", is: succeeded}]}`},
		{name: "a condition that holds always", refused: `a: {tools: [a], key: {x: id}, outcomes: [{when: "true", is: succeeded}]}`, want: "an answer of 500 must", fine: `a: {tools: [a], key: {x: id}, outcomes: [{when: "true", is: failed}]}`},
		{name: "an outcome of nothing", refused: `a: {tools: [a], key: {x: id}, outcomes: [{is: failed}]}`, want: "an outcome needs status or when", fine: `a: {tools: [a], key: {x: id}, outcomes: [{status: 503, is: failed}]}`},
		{name: "an outcome without a word", refused: `a: {tools: [a], key: {x: id}, outcomes: [{status: "503"}]}`, want: "an outcome needs is", fine: `a: {tools: [a], key: {x: id}, outcomes: [{status: 200 - 299, is: indeterminate}]}`},
		{name: "a wrong status", refused: `a: {tools: [a], key: {x: id}, outcomes: {"7xx": failed}}`, want: `the status cannot be "7xx"`, fine: `a: {tools: [a], key: {x: id}, outcomes: {503: failed}}`},
		{name: "a wrong outcome", refused: `a: {tools: [a], key: {x: id}, outcomes: {"503": fail}}`, want: `an outcome cannot be "fail"; did you mean "failed"?`, fine: `a: {tools: [a], key: {x: id}, outcomes: {2XX: succeeded}}`},

		{name: "retry without a header, by route", refused: `a: {http: ["POST /erp/x"], key: {x: id}, on_indeterminate: retry}`, want: "4:62: on_indeterminate: retry would repeat a lost effect: upstream erp has no idempotency_header", fine: `a: {http: ["POST /bank/x"], key: {x: id}, on_indeterminate: retry}`, env: dedups},
		{name: "retry without a header, by tool", refused: `a: {tools: [buy], key: {x: id}, on_indeterminate: retry}`, want: "the upstream of tool buy has no idempotency_header", fine: `a: {tools: [pay], key: {x: id}, on_indeterminate: retry}`, env: dedups},
		{name: "retry of a tool whose upstream is not known", refused: `a: {tools: [pay, other], key: {x: id}, on_indeterminate: retry}`, want: "the upstream of tool other", fine: `a: {tools: [pay], key: {x: id}, on_indeterminate: retry}`, env: dedups},
		{name: "retry without upstreams", refused: `a: {tools: [pay], key: {x: id}, on_indeterminate: retry}`, want: "no idempotency_header", fine: `a: {tools: [pay], key: {x: id}, on_indeterminate: block}`},

		{name: "one tool twice", refused: "a: {tools: [x], key: {x: id}}\nb: {tools: [y, x], key: {x: id}}", want: "5:18: operations a (p.yaml:4:3) and b match the same calls: tool x", fine: "a: {tools: [x], key: {x: id}}\nb: {tools: [y], key: {x: id}}"},
		{name: "one tool twice under one condition", refused: "a: {tools: [x], key: {x: id}, when: args.x == '1'}\nb: {tools: [x], key: {x: id}, when: \"args.x == '1'\"}", want: "match the same calls: tool x", fine: "a: {tools: [x], key: {x: id}, when: args.x == '1'}\nb: {tools: [x], key: {x: id}, when: args.x == '2'}"},
		{name: "one route twice", refused: "a: {http: [\"POST /u/a/{x}\"], key: {x: id}}\nb: {http: [\"ANY /u/{y}/b/\"], key: {y: id}}", want: "5:14: operations a (p.yaml:4:3) and b match the same calls: POST /u/a/{x} and * /u/{y}/b/", fine: "a: {http: [\"POST /u/a/{x}\"], key: {x: id}}\nb: {http: [\"PUT /u/{y}/b\", \"POST /v/a/{x}\", \"POST /u/b/{x}\"], key: {y: id}}"},
		{name: "a tool and its own route", refused: "a: {tools: [pay], key: {x: id}}\nb: {http: [\"POST /bank/pay/{no}\"], key: {no: id}}", want: "match the same calls: tool pay is POST /bank/pay/{no}", fine: "a: {tools: [pay], key: {x: id}}\nb: {http: [\"POST /bank/pay\"], key: {no: id}}", env: dedups},
		{name: "a route and its tool", refused: "a: {http: [\"POST /bank/pay/{no}\"], key: {no: id}}\nb: {tools: [pay], key: {x: id}}", want: "5:15: operations a (p.yaml:4:3) and b match the same calls: tool pay is", fine: "a: {http: [\"PUT /bank/pay/{no}\"], key: {no: id}}\nb: {tools: [pay], key: {x: id}}", env: dedups},

		{name: "a batch without elements", refused: `a: {tools: [a], each: lines, key: {order: id}}`, want: "4:25: each: no key field tells the elements apart", fine: `a: {tools: [a], each: lines, key: {order: id, sku: {type: id, arg: item.sku}}}`},
		{name: "a batch of transitions", refused: `a: {tools: [a], each: lines, pattern: transition, entity: {order: {x: id}}, from: any, to: approved}`, want: "each has no effect with pattern transition", fine: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, key: {x: id, y: id}, from: any, to: approved}`},
		{name: "a fresh key that is ignored", refused: `a: {tools: [a], key: {x: id}, repeat: new_key, idempotency_key: ignore}`, want: "repeat: new_key needs the caller's key", fine: `a: {tools: [a], key: {x: id}, repeat: new_key}`},
		{name: "an element where there are many", refused: `a: {tools: [a], each: l, key: {x: id, s: {type: id, arg: item.s}}, when: "fields.s == '1'"}`, want: `fields has no member "s"`, fine: `a: {tools: [a], each: l, key: {x: id, s: {type: id, arg: item.s}}, when: "fields.x == '1'"}`},
		{name: "a lease too short", refused: `a: {tools: [a], key: {x: id}, lease: 200ms}`, want: "lease: 200ms is too short; make it at least 1s", fine: `a: {tools: [a], key: {x: id}, lease: 1s}`},
		{name: "a lease too long", refused: `a: {tools: [a], key: {x: id}, lease: 2d}`, want: "lease: 2d is too long; make it at most 24h", fine: `a: {tools: [a], key: {x: id}, lease: 24h}`},
		{name: "no retention", refused: `a: {tools: [a], key: {x: id}, ttl: 0s}`, want: "ttl: 0s is too short", fine: `a: {tools: [a], key: {x: id}, wait: 0s, tombstone: 400d}`},
		{name: "a wait without end", refused: `a: {tools: [a], key: {x: id}, wait: 2h}`, want: "wait: 2h is too long", fine: `a: {tools: [a], key: {x: id}, wait: 1m30s}`},
		{name: "attempts without a window", refused: `a: {tools: [a], key: {x: id}, attempts: {count: 3}}`, want: "attempts needs count and per", fine: `a: {tools: [a], key: {x: id}, attempts: {count: 3, per: 10m}}`},
		{name: "a limit of nothing", refused: `a: {tools: [a], key: {x: id}, limit: {count: 0, per: 1d}}`, want: `limit.count cannot be "0"`, fine: `a: {tools: [a], key: {x: id}, limit: {count: 1, per: 1d}}`},
		{name: "half a number", refused: `a: {tools: [a], key: {x: id}, limit: {count: 1.5, per: 1d}}`, want: `limit.count cannot be "1.5"`, fine: `a: {tools: [a], key: {x: id}, limit: {count: 2, per: 1d}}`},
		{name: "a yes that YAML 1.1 takes for true", refused: `a: {tools: [a], key: {x: id}, sliding: yes}`, want: `sliding cannot be "yes"; choose true or false`, fine: `a: {tools: [a], key: {x: id}, sliding: true}`},
		{name: "a type of nothing", refused: `a: {tools: [a], key: {x: }}`, want: "the type of field x must be a text, not nothing", fine: `a: {tools: [a], key: {x: {type: id}}}`},
		{name: "a long form without a type", refused: `a: {tools: [a], key: {x: {arg: y}}}`, want: "4:28: field x has no type", fine: `a: {tools: [a], key: {x: {type: id, arg: [y, 注文]}}}`},
		{name: "aliases of what is no enum", refused: `a: {tools: [a], key: {x: {type: id, aliases: {a: b}}}}`, want: "only enums have aliases", fine: `a: {tools: [a], key: {x: {type: enum, default: std, aliases: {ガス: gas}}}}`},
		{name: "a default that its type cannot read", refused: `a: {tools: [a], key: {x: {type: int, default: one}}}`, want: "field x: the default", fine: `a: {tools: [a], key: {x: {type: int, default: 1}}}`},
		{name: "a route without a method", refused: `a: {http: ["/erp/x"], key: {x: id}}`, want: "is not a route", fine: `a: {http: ["* /erp/x"], key: {x: id}}`},
		{name: "a route with a broken parameter", refused: `a: {http: ["POST /erp/{x"], key: {x: id}}`, want: "is not a parameter", fine: `a: {http: ["POST /erp/{x}"], key: {x: id}}`},
		{name: "a name with a space", refused: `"a b": {tools: [a], key: {x: id}}`, want: `"a b" cannot name an operation`, fine: `請求.発行: {tools: [a], key: {x: id}}`},
		{name: "probing without a probe", refused: `a: {tools: [a], key: {x: id}, on_indeterminate: probe}`, want: "4:51: on_indeterminate: probe needs a probe; add probe: {tool: find_invoice", fine: `a: {tools: [a], key: {x: id}, on_indeterminate: probe, probe: {tool: find, done: "true", not_done: "false"}}`},
		{name: "a probe that nobody asks for", refused: `a: {tools: [a], key: {x: id}, probe: {tool: find, done: "true", not_done: "false"}}`, want: "probe has no effect without on_indeterminate: probe", fine: `a: {tools: [a], key: {x: id}, on_indeterminate: block}`},
		{name: "state without a value", refused: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, from: any, to: approved, state: {tool: get}}`, want: "state needs tool and value", fine: `a: {tools: [a], pattern: transition, entity: {order: {x: id}}, from: any, to: approved, state: {tool: get, arguments: {x: fields.x, page: 1}, value: result.body.state}}`},
		{name: "a decoding nobody knows", refused: `a: {tools: [a], key: {x: id}, decode: [htm]}`, want: `decode has no "htm"; did you mean "html"?`, fine: `a: {tools: [a], key: {x: id}, decode: [html], repair: [trailing-commas, model-end-tokens]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := load(t, c.refused, c.env)
			if err == nil {
				t.Fatalf("%s loads: %+v", c.refused, p.Operations[0])
			}
			if errs, ok := err.(policy.Errors); !ok || len(errs) != 1 || !strings.Contains(errs[0].String(), c.want) {
				t.Errorf("got %v\nwant one error with %q", err, c.want)
			}
			if _, err := load(t, c.fine, c.env); err != nil {
				t.Errorf("%s: %v", c.fine, err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	p := mustLoad(t, "a: {tools: [a], key: {x: id}}\nb: {tools: [b], pattern: transition, entity: {order: {x: id, y: code}}, from: any, to: approved}")
	want := agentgw.Rule{Name: "a", Pattern: agentgw.Once, TTL: 24 * time.Hour, Lease: time.Minute, Repeat: "token", IdempotencyKey: "check",
		Missing: "reject", OnIndeterminate: "block", Scope: "tenant", Keep: "answer", Durability: "local", MaxAnswer: 4 << 20}
	if got := p.Operation("a").Rule; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	b := p.Operation("b")
	if b.Spec.Entity != "order" || len(b.Spec.Key) != 2 || b.Initial != "pending" || !b.FromAny || b.To != "approved" {
		t.Errorf("transition: %+v", b)
	}
}
