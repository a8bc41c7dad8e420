package ledger

import (
	"encoding/binary"
	"time"

	"agentgw"
)

func encodeEntity(en *agentgw.Entity) []byte {
	b := texts(en.State, en.By.String(), en.ByWhom, en.Holder.String())
	b = binary.BigEndian.AppendUint64(b, en.Moves)
	b = binary.BigEndian.AppendUint64(b, en.Fence)
	return binary.BigEndian.AppendUint64(b, micros(en.At))
}

const entityTail = 24

func decodeEntity(rec Record) (*agentgw.Entity, error) {
	if len(rec.Value) < entityTail {
		return nil, errTorn
	}
	head, tail := rec.Value[:len(rec.Value)-entityTail], rec.Value[len(rec.Value)-entityTail:]
	parts, err := splitTexts(head)
	if err != nil || len(parts) != 4 {
		return nil, errTorn
	}
	en := &agentgw.Entity{State: parts[0], ByWhom: parts[2], Version: rec.Version,
		Moves: binary.BigEndian.Uint64(tail), Fence: binary.BigEndian.Uint64(tail[8:]), At: fromMicros(binary.BigEndian.Uint64(tail[16:]))}
	for text, id := range map[string]*agentgw.EffectID{parts[1]: &en.By, parts[3]: &en.Holder} {
		if text != "" {
			if *id, err = agentgw.ParseEffectID(text); err != nil {
				return nil, err
			}
		}
	}
	if en.At.IsZero() && en.Moves > 0 {
		en.At = rec.At
	}
	return en, nil
}

// letGo is an entity without its holder.
func letGo(en agentgw.Entity) *agentgw.Entity {
	en.Holder, en.Fence = agentgw.EffectID{}, 0
	return &en
}

// moved is an entity after the success of e.
func moved(en agentgw.Entity, e *agentgw.Effect) *agentgw.Entity {
	next := letGo(en)
	next.State, next.Moves, next.By, next.ByWhom, next.At = e.To, en.Moves+1, e.ID, e.Operation, time.Time{}
	return next
}

// entityChange writes an entity over the version it was read at; one that no transition ever moved is forgotten.
func entityChange(en *agentgw.Entity) Change {
	c := Change{Name: nameEntity, Want: en.Version}
	if en.Moves > 0 || !en.Holder.IsZero() {
		c.Value = encodeEntity(en)
	}
	return c
}
