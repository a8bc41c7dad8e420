package gateway

import (
	"sync"

	"agentgw"
)

const (
	nearEffects    = 32   // latest effects of one operation that a new one is compared with
	nearOperations = 4096 // operations of tenants that are remembered at a time
)

// nearby remembers the latest effects that this gateway executed, so that each new one can say which it came nearest to and what kept
// them apart. It explains; it decides nothing, and is lost with the process.
type nearby struct {
	mu   sync.Mutex
	seen map[nearKey]*[nearEffects]nearEffect
	next map[nearKey]int
}

type nearKey struct{ tenant, operation string }

type nearEffect struct {
	id     agentgw.EffectID
	fields []agentgw.Field
}

// nearest is the effect with the fewest differing fields, the latest of equals; nil where none shares a field.
func (n *nearby) nearest(op *agentgw.Operation) *agentgw.Near {
	key := nearKey{op.Tenant, op.Rule.Name}
	n.mu.Lock()
	defer n.mu.Unlock()
	ring := n.seen[key]
	if ring == nil {
		return nil
	}
	var best *nearEffect
	least := len(op.Fields)
	for back := range nearEffects {
		e := &ring[(n.next[key]-1-back+2*nearEffects)%nearEffects]
		if e.id.IsZero() || e.id == op.ID {
			continue
		}
		if d := differ(e.fields, op.Fields, least); d < least {
			best, least = e, d
		}
	}
	if best == nil {
		return nil
	}
	near := &agentgw.Near{ID: best.id}
	for i, f := range op.Fields {
		if i >= len(best.fields) || best.fields[i].Canon != f.Canon {
			near.Fields = append(near.Fields, f.Name)
		}
	}
	return near
}

// differ counts differing fields, up to most.
func differ(a, b []agentgw.Field, most int) (n int) {
	for i := range b {
		if i >= len(a) || a[i].Name != b[i].Name || a[i].Canon != b[i].Canon {
			if n++; n >= most {
				return n
			}
		}
	}
	return n
}

// add remembers an executed operation.
func (n *nearby) add(op *agentgw.Operation) {
	key := nearKey{op.Tenant, op.Rule.Name}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil || len(n.seen) >= nearOperations && n.seen[key] == nil {
		n.seen, n.next = make(map[nearKey]*[nearEffects]nearEffect), make(map[nearKey]int)
	}
	ring := n.seen[key]
	if ring == nil {
		ring = new([nearEffects]nearEffect)
		n.seen[key] = ring
	}
	ring[n.next[key]] = nearEffect{op.ID, op.Fields}
	n.next[key] = (n.next[key] + 1) % nearEffects
}
