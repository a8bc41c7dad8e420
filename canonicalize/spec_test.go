package canonicalize

import (
	"errors"
	"strings"
	"testing"

	"agentgw"
)

// read makes an operation of one call; rule and call are filled with what a test leaves out.
func read(t *testing.T, spec Spec, rule agentgw.Rule, call agentgw.Call, args string) *agentgw.Operation {
	t.Helper()
	op, err := tryRead(t, spec, rule, call, args)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return op
}

func tryRead(t *testing.T, spec Spec, rule agentgw.Rule, call agentgw.Call, args string) (*agentgw.Operation, error) {
	t.Helper()
	if rule.Name == "" {
		rule.Name = "op"
	}
	if rule.Pattern == "" {
		rule.Pattern = agentgw.Once
	}
	if call.Tenant == "" {
		call.Tenant = "acme"
	}
	call.Arguments = []byte(args)
	v, err := Parse(call.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	return spec.Operation(&rule, &call, v)
}

func fieldsFor(t *testing.T, short ...string) []*Field {
	t.Helper()
	var out []*Field
	for _, s := range short {
		name, expr, _ := strings.Cut(s, ": ")
		out = append(out, compileField(t, FieldSpec{Name: name, Type: expr}))
	}
	return out
}

func TestEntity(t *testing.T) {
	approve := Spec{Entity: "order", EntityBy: fieldsFor(t, "order_id: id")}
	ship := Spec{Entity: "order", EntityBy: fieldsFor(t, "id: id"), Key: fieldsFor(t, "id: id", "carrier: enum")}
	rule := agentgw.Rule{Pattern: agentgw.Transition, Name: "order.approve"}
	a := read(t, approve, rule, agentgw.Call{}, `{"order_id":"A-1042"}`)
	rule.Name = "order.ship"
	b := read(t, ship, rule, agentgw.Call{}, `{"id":" A-1042 ","carrier":"DHL"}`)
	if a.Entity == "" || a.Entity != b.Entity || a.EntityOf != "order A-1042" {
		t.Errorf("one order, two entities: %s %s, %q", a.Entity, b.Entity, a.EntityOf)
	}
	if a.ID.Partition != a.Entity || b.ID.Partition != b.Entity || a.ID.Key == b.ID.Key {
		t.Errorf("effects %s and %s do not live with their entity %s", a.ID, b.ID, a.Entity)
	}
	if len(a.Fields) != 1 || a.Fields[0].Role != agentgw.RoleKey || len(b.Fields) != 2 {
		t.Errorf("fields repeat: %+v, %+v", a.Fields, b.Fields)
	}
	other := approve
	other.Entity = "claim"
	pair := Spec{Entity: "order", EntityBy: fieldsFor(t, "order_id: id", "site: id")}
	swapped := Spec{Entity: "order", EntityBy: fieldsFor(t, "site: id", "order_id: id")}
	seen := map[agentgw.Partition]string{}
	for name, op := range map[string]*agentgw.Operation{
		"order":         a,
		"another order": read(t, approve, rule, agentgw.Call{}, `{"order_id":"A-1043"}`),
		"another type":  read(t, other, rule, agentgw.Call{}, `{"order_id":"A-1042"}`),
		"tenant":        read(t, approve, rule, agentgw.Call{Tenant: "red"}, `{"order_id":"A-1042"}`),
		"pair":          read(t, pair, rule, agentgw.Call{}, `{"order_id":"A-1042","site":"1"}`),
		"pair, turned":  read(t, pair, rule, agentgw.Call{}, `{"site":"A-1042","order_id":"1"}`),
	} {
		if was, ok := seen[op.Entity]; ok {
			t.Errorf("%s and %s are one entity", name, was)
		}
		seen[op.Entity] = name
	}
	if op := read(t, swapped, rule, agentgw.Call{}, `{"order_id":"A-1042","site":"1"}`); seen[op.Entity] != "pair" {
		t.Error("the order in which a policy lists an entity's fields matters")
	}
	if _, err := tryRead(t, approve, rule, agentgw.Call{}, `{}`); !errors.Is(err, ErrMissing) {
		t.Errorf("the entity is the key, but its absence is %v", err)
	}
	if _, err := tryRead(t, Spec{Key: fieldsFor(t, "n: id"), Entity: "order", EntityBy: fieldsFor(t, "order_id: id")}, rule, agentgw.Call{}, `{"n":1}`); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("without its entity, a call with a key is let pass or read: %v", err)
	}
}

func TestLock(t *testing.T) {
	spec := Spec{Key: fieldsFor(t, "slip: id"), Lock: fieldsFor(t, "shelf: id", "row: int?")}
	rule := agentgw.Rule{Name: "stock.move"}
	a := read(t, spec, rule, agentgw.Call{}, `{"slip":1,"shelf":"S7"}`)
	rule.Name = "stock.count"
	b := read(t, spec, rule, agentgw.Call{}, `{"slip":2,"shelf":"S7","row":null}`)
	c := read(t, spec, rule, agentgw.Call{}, `{"slip":2,"shelf":"S7","row":3}`)
	d := read(t, spec, rule, agentgw.Call{Tenant: "red"}, `{"slip":2,"shelf":"S7"}`)
	if a.Lock == "" || a.Lock != b.Lock || a.Lock == c.Lock || a.Lock == d.Lock || a.ID == b.ID {
		t.Errorf("locks %s %s %s %s", a.Lock, b.Lock, c.Lock, d.Lock)
	}
	if a.LockOf != "shelf S7" || c.LockOf != "shelf S7, row 3" {
		t.Errorf("in words: %q, %q", a.LockOf, c.LockOf)
	}
	if last := a.Fields[1]; last.Name != "shelf" || last.Role != agentgw.RoleOther {
		t.Errorf("the lock's field is %+v", last)
	}
	spec.Lock = fieldsFor(t, "shelf: id?")
	if op := read(t, spec, rule, agentgw.Call{}, `{"slip":1}`); op.Lock != "" {
		t.Error("a lock on nothing")
	}
}

func TestCallerKey(t *testing.T) {
	spec := Spec{Key: fieldsFor(t, "crate: id")}
	call := agentgw.Call{IdempotencyKey: "k-1", Principal: "p", Context: agentgw.Context{Task: "t"}}
	a := read(t, spec, agentgw.Rule{}, call, `{"crate":1}`)
	b := read(t, spec, agentgw.Rule{IdempotencyKey: agentgw.KeyCheck}, call, `{"crate":2}`)
	if a.CallerKey == "" || a.CallerKey != b.CallerKey || a.CallerID != "k-1" || a.ID == b.ID {
		t.Errorf("one caller's key, records %s and %s", a.CallerKey, b.CallerKey)
	}
	plain := read(t, spec, agentgw.Rule{}, agentgw.Call{}, `{"crate":1}`)
	if plain.CallerKey != "" || plain.ID != a.ID {
		t.Error("a checked caller's key changes the identity")
	}
	if op := read(t, spec, agentgw.Rule{IdempotencyKey: agentgw.KeyIgnore}, call, `{"crate":1}`); op.CallerKey != "" || op.ID != a.ID {
		t.Error("an ignored caller's key is not ignored")
	}
	use := read(t, spec, agentgw.Rule{IdempotencyKey: agentgw.KeyUse}, call, `{"crate":1}`)
	if use.CallerKey != "" || use.ID == a.ID {
		t.Error("a used caller's key is not the identity")
	}
	for name, op := range map[string]*agentgw.Operation{
		"operation": read(t, spec, agentgw.Rule{Name: "other"}, call, `{"crate":1}`),
		"tenant":    read(t, spec, agentgw.Rule{}, agentgw.Call{Tenant: "red", IdempotencyKey: "k-1"}, `{"crate":1}`),
		"scope":     read(t, spec, agentgw.Rule{Scope: agentgw.ScopeTask}, call, `{"crate":1}`),
		"principal": read(t, spec, agentgw.Rule{Scope: agentgw.ScopePrincipal}, call, `{"crate":1}`),
		"key":       read(t, spec, agentgw.Rule{}, agentgw.Call{IdempotencyKey: "K-1"}, `{"crate":1}`),
	} {
		if op.CallerKey == a.CallerKey {
			t.Errorf("the record of a caller's key does not tell apart: %s", name)
		}
	}
	// A field named like the member of the text that holds the caller's key is no caller's key.
	posing := Spec{Key: fieldsFor(t, "caller_key: exact")}
	if op := read(t, posing, agentgw.Rule{}, agentgw.Call{}, `{"caller_key":"k-1"}`); op.ID == read(t, Spec{}, agentgw.Rule{IdempotencyKey: agentgw.KeyUse}, call, `{}`).ID {
		t.Error("a field passes for the caller's key")
	}
}

func TestNewer(t *testing.T) {
	spec := Spec{Key: fieldsFor(t, "box: id"), Newer: fieldsFor(t, "changed: instant")[0]}
	rule := agentgw.Rule{Pattern: agentgw.Overwrite}
	a := read(t, spec, rule, agentgw.Call{}, `{"box":1,"changed":"2026-03-01T10:00:00Z"}`)
	b := read(t, spec, rule, agentgw.Call{}, `{"box":1,"changed":"2026-03-01T19:00:00+09:00"}`)
	c := read(t, spec, rule, agentgw.Call{}, `{"box":1,"changed":"2026-03-01T10:00:00.5Z"}`)
	if a.Newer == "" || a.Newer != b.Newer || a.Newer >= c.Newer || a.ID != c.ID {
		t.Errorf("newer %q %q %q", a.Newer, b.Newer, c.Newer)
	}
	if a.ID.Partition != agentgw.NewPartition(agentgw.PartitionNewer, a.ID.Key) {
		t.Errorf("an overwrite with newer lives in %s", a.ID.Partition)
	}
	if _, err := tryRead(t, spec, rule, agentgw.Call{}, `{"box":1}`); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("an overwrite without its time: %v", err)
	}
	spec.Newer = nil
	if op := read(t, spec, rule, agentgw.Call{}, `{"box":1}`); op.ID.Partition != agentgw.NewPartition(agentgw.PartitionEffect, op.ID.Key) {
		t.Errorf("an overwrite without newer or lock lives in %s", op.ID.Partition)
	}
}

func TestMeaning(t *testing.T) {
	spec := Spec{Key: fieldsFor(t, "room: id", "what: meaning")}
	a := read(t, spec, agentgw.Rule{}, agentgw.Call{}, `{"room":12,"what":"The printer is jammed"}`)
	b := read(t, spec, agentgw.Rule{}, agentgw.Call{}, `{"room":12,"what":"the printer has a paper jam"}`)
	c := read(t, spec, agentgw.Rule{}, agentgw.Call{}, `{"room":13,"what":"The printer is jammed"}`)
	if a.ID.Partition[0] != agentgw.PartitionMeaning || a.ID.Partition != b.ID.Partition || a.ID.Key == b.ID.Key || a.ID.Partition == c.ID.Partition {
		t.Errorf("effects %s %s %s", a.ID, b.ID, c.ID)
	}
	if a.Fields[1].Role != agentgw.RoleMeaning {
		t.Errorf("fields %+v", a.Fields)
	}
}

func TestLimitAndArguments(t *testing.T) {
	spec := Spec{Key: fieldsFor(t, "user: id")}
	limit := &agentgw.Budget{Count: 2}
	a := read(t, spec, agentgw.Rule{Limit: limit}, agentgw.Call{}, `{"user":1,"n":1.0}`)
	b := read(t, spec, agentgw.Rule{Limit: limit}, agentgw.Call{}, ` {"n":1, "user":1}`)
	c := read(t, spec, agentgw.Rule{Name: "other", Limit: limit}, agentgw.Call{}, `{"user":"1","n":1}`)
	if a.Limit == "" || a.Limit != b.Limit || a.Limit == c.Limit {
		t.Errorf("budgets %s %s %s", a.Limit, b.Limit, c.Limit)
	}
	if a.ArgDigest.IsZero() || a.ArgDigest != b.ArgDigest || a.ArgDigest == c.ArgDigest {
		t.Errorf("digests of the arguments %x %x %x", a.ArgDigest, b.ArgDigest, c.ArgDigest)
	}
	if string(b.Arguments) != `{"n":1, "user":1}` {
		t.Errorf("the arguments are kept as %s", b.Arguments)
	}
	if _, err := spec.Operation(&agentgw.Rule{}, &agentgw.Call{}, Value{Kind: List}); err == nil {
		t.Error("a list is taken for arguments")
	}
}

// What cannot be read outweighs what is missing: a policy that lets calls without a key pass must not let a broken key pass.
func TestMissing(t *testing.T) {
	spec := Spec{Key: fieldsFor(t, "a: id", "b: id"), Match: fieldsFor(t, "c: id")}
	for args, missing := range map[string]bool{
		`{}`:                       true,
		`{"a":1,"c":1}`:            true,
		`{"b":" ","c":1}`:          false,
		`{"a":true}`:               false,
		`{"a":1,"b":2}`:            false,
		`{"a":1,"b":2,"c":null}`:   false,
		`{"a":null,"b":2,"c":"x"}`: true,
	} {
		if _, err := tryRead(t, spec, agentgw.Rule{}, agentgw.Call{}, args); err == nil || errors.Is(err, ErrMissing) != missing {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestBatch(t *testing.T) {
	each, err := ParsePath("to")
	if err != nil {
		t.Fatal(err)
	}
	to := compileField(t, FieldSpec{Name: "to", Type: "email", Arg: []string{"item"}})
	spec := Spec{Key: append(fieldsFor(t, "mail: id"), to), Each: &each, Lock: fieldsFor(t, "mail: id")}
	call := agentgw.Call{IdempotencyKey: "k"}
	op := read(t, spec, agentgw.Rule{}, call, `{"mail":7,"to":["b@example.com","A@example.com"]}`)
	if len(op.Elements) != 2 || op.Elements[1].Fields[1].Canon != `"a@example.com"` {
		t.Fatalf("elements %+v", op.Elements)
	}
	single := read(t, Spec{Key: append(fieldsFor(t, "mail: id"), compileField(t, FieldSpec{Name: "to", Type: "email"}))}, agentgw.Rule{}, call,
		`{"mail":7,"to":"a@example.com"}`)
	if op.Elements[1].ID != single.ID {
		t.Error("an element is not the effect it would be alone")
	}
	if op.Lock == "" || op.Elements[0].Lock != "" || op.CallerKey == "" || op.Elements[0].CallerKey != "" {
		t.Error("lock and caller's key belong to the batch")
	}
	if len(op.Fields) != 1 || op.Fields[0].Name != "mail" {
		t.Errorf("the batch's own fields are %+v", op.Fields)
	}
	turned := read(t, spec, agentgw.Rule{}, call, `{"mail":"7","to":["a@example.com","b@example.com"]}`)
	if turned.ID != op.ID || turned.Digest != op.Digest {
		t.Error("the order of elements matters")
	}
	byItem := Spec{Key: spec.Key, Each: &each, Entity: "box", EntityBy: []*Field{to}}
	op = read(t, byItem, agentgw.Rule{Pattern: agentgw.Transition}, call, `{"mail":7,"to":["b@example.com","a@example.com"]}`)
	if op.Entity != "" || op.Elements[0].Entity == "" || op.Elements[0].ID.Partition != op.Elements[0].Entity || op.Elements[0].Entity == op.Elements[1].Entity {
		t.Error("each element is to have its own entity")
	}
	_, err = tryRead(t, spec, agentgw.Rule{}, call, `{"mail":7,"to":["a@example.com","b@example.com","a@Example.com "]}`)
	if e, ok := err.(*Error); !ok || e.Place != "/to/2" || !strings.Contains(e.Reason, "/to/0") {
		t.Errorf("twins: %v", err)
	}
	if _, err := tryRead(t, spec, agentgw.Rule{}, call, `{"mail":7,"to":["a@example.com",7]}`); err == nil || !strings.HasPrefix(err.Error(), "field to: /to/1: is a number") {
		t.Errorf("a bad element: %v", err)
	}
}
