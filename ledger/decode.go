package ledger

import (
	"encoding/binary"
	"time"

	"agentgw"
)

// decodeEffect unpacks a stored effect; what only the write could know is filled in from the record.
func decodeEffect(p agentgw.Partition, r Record, now time.Time) (*agentgw.Effect, error) {
	e := &agentgw.Effect{Version: r.Version, Updated: r.At, Now: now, ID: addressOf(p, r.Name)}
	if len(r.Value) == 0 || r.Value[0] != formatEffect {
		return nil, errTorn
	}
	for b := r.Value[1:]; len(b) > 0; {
		tag, v, rest, err := nextMember(b)
		if err != nil {
			return nil, err
		}
		b = rest
		if err := decodeMember(e, tag, v); err != nil {
			return nil, err
		}
	}
	fill(e)
	return e, nil
}

// nextMember is the first member of packed ones.
func nextMember(b []byte) (tag byte, v, rest []byte, err error) {
	n, k := binary.Uvarint(b[1:])
	if k <= 0 || n > uint64(len(b)-1-k) {
		return 0, nil, nil, errTorn
	}
	end := 1 + k + int(n)
	return b[0], b[1+k : end], b[end:], nil
}

func decodeMember(e *agentgw.Effect, tag byte, v []byte) (err error) {
	num, _ := binary.Uvarint(v)
	switch tag {
	case tagOperation:
		e.Operation = string(v)
	case tagTenant:
		e.Tenant = string(v)
	case tagPrincipal:
		e.Principal = string(v)
	case tagAgent:
		e.Context.Agent = string(v)
	case tagRun:
		e.Context.Run = string(v)
	case tagTask:
		e.Context.Task = string(v)
	case tagCallID:
		e.Context.CallID = string(v)
	case tagDigest:
		copy(e.Digest[:], v)
	case tagState:
		e.State = agentgw.State(v)
	case tagFence:
		e.Fence = num
	case tagClaim:
		e.Claim = num
	case tagGeneration:
		e.Generation = num
	case tagOrdinal:
		e.Ordinal = int(num)
	case tagBase:
		e.Base = num
	case tagRepeat:
		e.Repeat = true
	case tagAttempt:
		e.Attempt = int(num)
	case tagSend:
		if len(v) == 8 {
			e.Sends = append(e.Sends, fromMicros(binary.BigEndian.Uint64(v)))
		}
	case tagFirstSeen:
		e.FirstSeen = fromMicros(num)
	case tagClaimed:
		e.Claimed = fromMicros(num)
	case tagSettled:
		e.Settled = fromMicros(num)
	case tagLease:
		e.Lease = time.Duration(num)
	case tagExpires:
		e.Expires = fromMicros(num)
	case tagGone:
		e.Gone = fromMicros(num)
	case tagArguments:
		e.Arguments, err = unpack(v)
	case tagAnswer:
		e.Answer, err = decodeAnswer(v)
	case tagWhy:
		e.Why = string(v)
	case tagEvidence:
		e.Evidence = append(e.Evidence, string(v))
	case tagEntity:
		e.Entity = agentgw.Partition(v)
	case tagMove:
		e.Move = num
	case tagNonce:
		e.Nonce = string(v)
	case tagBatch:
		e.Batch, err = agentgw.ParseEffectID(string(v))
	case tagTTL:
		e.TTL = time.Duration(num)
	case tagSliding:
		e.Sliding = true
	case tagTomb:
		e.Tomb = time.Duration(num)
	case tagKeep:
		e.Keep = string(v)
	case tagLinger:
		e.Linger = time.Duration(num)
	case tagApart:
		e.Apart = true
	case tagTo:
		e.To = string(v)
	case tagPrior:
		e.Prior = true
	case tagDoubted:
		e.Doubted = true
	case tagNewer:
		e.Newer = string(v)
	case tagPending:
		e.Pending = string(v)
	case tagField, tagHold:
		err = decodeTexts(e, tag, v)
	case tagNearID, tagNearField:
		err = decodeNear(e, tag, v)
	}
	return err
}

func decodeTexts(e *agentgw.Effect, tag byte, v []byte) error {
	parts, err := splitTexts(v)
	switch {
	case err != nil:
		return err
	case tag == tagField && len(parts) == 3 && len(parts[1]) == 1:
		e.Fields = append(e.Fields, agentgw.Field{Name: parts[0], Role: agentgw.Role(parts[1][0] - '0'), Canon: parts[2]})
	case tag == tagHold && len(parts) == 2 && parts[0] != "":
		e.Holds = append(e.Holds, agentgw.Hold{Kind: parts[0][0], Partition: agentgw.Partition(parts[0]), Of: parts[1]})
	default:
		return errTorn
	}
	return nil
}

func decodeNear(e *agentgw.Effect, tag byte, v []byte) error {
	if tag == tagNearID {
		id, err := agentgw.ParseEffectID(string(v))
		e.NearTo = &agentgw.Near{ID: id}
		return err
	}
	if e.NearTo != nil {
		e.NearTo.Fields = append(e.NearTo.Fields, string(v))
	}
	return nil
}

// fill sets what a write could not know of itself: its own time and version.
func fill(e *agentgw.Effect) {
	at := e.Updated
	if e.FirstSeen.IsZero() {
		e.FirstSeen = at
	}
	if e.Claimed.IsZero() {
		e.Claimed = at
	}
	if e.Fence == 0 {
		e.Fence = e.Version
	}
	if e.Generation == 0 {
		e.Generation = e.Fence
	}
	for i, t := range e.Sends {
		if t.IsZero() {
			e.Sends[i] = at
		}
	}
	if e.State != agentgw.StateSucceeded {
		return
	}
	if e.Settled.IsZero() {
		e.Settled = at
	}
	if e.Expires.IsZero() {
		e.Expires = at.Add(e.TTL)
		e.Gone = e.Expires.Add(e.Tomb)
	}
}

// addressOf is the effect id of a record: its name carries the key; of an overwrite's, its partition does.
func addressOf(p agentgw.Partition, name string) agentgw.EffectID {
	if len(p) == 27 && p[0] == agentgw.PartitionNewer {
		name = string(p)
	}
	if len(name) < 27 || len(p) != 27 {
		return agentgw.EffectID{Partition: p}
	}
	id, err := agentgw.ParseEffectID("eff_" + string(p) + name[1:27])
	if err != nil {
		id, _ = agentgw.ParseEffectID("eff_" + string(p))
	}
	return id
}

func decodeAnswer(v []byte) (*agentgw.Answer, error) {
	b, err := unpack(v)
	if err != nil {
		return nil, err
	}
	a := &agentgw.Answer{}
	for len(b) > 0 {
		tag, v, rest, err := nextMember(b)
		if err != nil {
			return nil, err
		}
		b = rest
		switch tag {
		case tagStatus:
			s, _ := binary.Uvarint(v)
			a.Status = int(s)
		case tagBody:
			a.Body = v
		case tagHeader, tagTrailer:
			parts, err := splitTexts(v)
			if err != nil || len(parts) != 2 {
				return nil, errTorn
			}
			h := agentgw.Header{Name: parts[0], Value: parts[1]}
			if tag == tagHeader {
				a.Header = append(a.Header, h)
			} else {
				a.Trailer = append(a.Trailer, h)
			}
		}
	}
	return a, nil
}

func unpack(b []byte) ([]byte, error) {
	switch {
	case len(b) == 0:
		return nil, errTorn
	case b[0] == 0:
		return b[1:], nil
	case b[0] == 1:
		return unpacker.DecodeAll(b[1:], nil)
	}
	return nil, errTorn
}

// splitTexts takes apart what texts has packed.
func splitTexts(b []byte) ([]string, error) {
	var parts []string
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil, errTorn
		}
		parts = append(parts, string(b[k:k+int(n)]))
		b = b[k+int(n):]
	}
	return parts, nil
}
