package ledger_test

import (
	"fmt"
	"time"

	"agentgw"
)

func opOf(rule *agentgw.Rule, n byte) *agentgw.Operation {
	key := agentgw.Digest{n}
	return &agentgw.Operation{Rule: rule, Tenant: "t", ID: agentgw.EffectID{Partition: agentgw.NewPartition(agentgw.PartitionEffect, key), Key: key}, Digest: key}
}

func wish(op *agentgw.Operation) part { return part{op: op, call: agentgw.Call{Tenant: "t"}} }

var payment = agentgw.Rule{Name: "pay", Pattern: agentgw.Once, TTL: 24 * time.Hour, Lease: time.Minute, IdempotencyKey: agentgw.KeyCheck}

// locked is an effect that needs the one lock.
func locked(n byte) part {
	op := opOf(&payment, n)
	op.Lock, op.LockOf = agentgw.NewPartition(agentgw.PartitionLock, agentgw.Digest{'l'}), "the till"
	return wish(op)
}

// keyed is an effect under the one caller's key.
func keyed(n byte) part {
	op := opOf(&payment, n)
	op.CallerKey, op.CallerID = agentgw.NewPartition(agentgw.PartitionCallerKey, agentgw.Digest{'k'}), "key"
	p := wish(op)
	p.call.IdempotencyKey = "key"
	return p
}

// limited is one of the effects of which there may be one.
func limited(n byte) part {
	rule := payment
	rule.Limit = &agentgw.Budget{Count: 1, Per: 240 * time.Hour}
	op := opOf(&rule, n)
	op.Limit = agentgw.NewPartition(agentgw.PartitionLimit, agentgw.Digest{'b'})
	return wish(op)
}

// batch is one send of several effects.
func batch(elements ...byte) part {
	name := byte(100)
	for _, n := range elements {
		name = name*3 + n
	}
	op := opOf(&payment, name)
	for _, n := range elements {
		op.Elements = append(op.Elements, *opOf(&payment, n))
	}
	return wish(op)
}

// approval is a transition of the one order, which also needs the one lock.
func approval(key byte, from, to string) part {
	rule := payment
	rule.Pattern, rule.Initial, rule.From, rule.To = agentgw.Transition, "pending", []string{from}, to
	op := opOf(&rule, key)
	op.Entity, op.EntityOf = agentgw.NewPartition(agentgw.PartitionEntity, agentgw.Digest{'s'}), "the order"
	op.ID.Partition = op.Entity
	op.Lock, op.LockOf = agentgw.NewPartition(agentgw.PartitionLock, agentgw.Digest{'l'}), "the till"
	return wish(op)
}

func inVain(p part) part { p.vain = true; return p }
func again(p part) part  { p.again = true; return p }

// scenes are played with every death and every lapse. Where two that have nothing else in common displace each other by lapses, there are
// tens of thousands of orders: those are long.
func scenes() (all []scene) {
	for _, sc := range []scene{
		{name: "one effect with a lock, twice", actors: []part{locked(1), locked(1)}},
		{name: "two effects with one lock", actors: []part{locked(1), locked(2)}, long: true},
		{name: "two effects with one lock, one in vain", actors: []part{inVain(locked(1)), locked(2)}, long: true},
		{name: "one effect under one caller's key, twice", actors: []part{keyed(1), keyed(1)}},
		{name: "two effects under one caller's key", actors: []part{keyed(1), keyed(2)}, limit: 1, long: true},
		{name: "a budget of one for two effects", actors: []part{limited(1), limited(2)}, limit: 1, long: true},
		{name: "a budget of one for one effect, twice", actors: []part{limited(1), limited(1)}, limit: 1},
		{name: "one batch, twice", actors: []part{batch(1, 2), batch(1, 2)}},
		{name: "two batches that share an element", actors: []part{batch(1, 2), batch(2, 3)}, long: true},
		{name: "one repeat with a lock, twice", actors: []part{again(locked(1)), again(locked(1))}},
		{name: "a repeat in vain", actors: []part{inVain(again(locked(1))), again(locked(1))}},
		{name: "one transition with a lock, twice", actors: []part{approval(1, "pending", "approved"), approval(1, "pending", "approved")}},
	} {
		for _, f := range []struct{ crashes, lapses int }{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			played := sc
			played.crashes, played.lapses = f.crashes, f.lapses
			played.long = f.lapses > 0 && (f.crashes > 0 || sc.long)
			played.name = fmt.Sprintf("%s, %d deaths, %d lapses", sc.name, f.crashes, f.lapses)
			all = append(all, played)
		}
	}
	return all
}
