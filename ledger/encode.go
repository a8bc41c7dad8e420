package ledger

import (
	"encoding/binary"
	"slices"
	"time"

	"agentgw"
)

type encoder struct{ b []byte }

func (w *encoder) bytes(tag byte, v []byte) {
	w.b = binary.AppendUvarint(append(w.b, tag), uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *encoder) text(tag byte, v string) {
	if v != "" {
		w.b = binary.AppendUvarint(append(w.b, tag), uint64(len(v)))
		w.b = append(w.b, v...)
	}
}

func (w *encoder) uint(tag byte, v uint64) {
	if v != 0 {
		var buf [binary.MaxVarintLen64]byte
		w.bytes(tag, buf[:binary.PutUvarint(buf[:], v)])
	}
}

func (w *encoder) bool(tag byte, v bool) {
	if v {
		w.bytes(tag, nil)
	}
}

func (w *encoder) time(tag byte, t time.Time) { w.uint(tag, micros(t)) }

// texts writes several texts as one member.
func (w *encoder) texts(tag byte, parts ...string) {
	start := len(w.b)
	w.b = appendTexts(w.b, parts...)
	w.wrap(tag, start)
}

// packed writes a text that may be large, as pack does.
func (w *encoder) packed(tag byte, b []byte) {
	if len(b) > packAbove {
		w.bytes(tag, pack(b))
		return
	}
	start := len(w.b)
	w.b = append(append(w.b, 0), b...)
	w.wrap(tag, start)
}

// answer writes an answer as one member.
func (w *encoder) answer(tag byte, a *agentgw.Answer) {
	if sizeOfAnswer(a) > packAbove {
		w.bytes(tag, encodeAnswer(a))
		return
	}
	start := len(w.b)
	w.b = append(w.b, 0)
	w.answerMembers(a)
	w.wrap(tag, start)
}

// wrap makes a member of what was written from start on.
func (w *encoder) wrap(tag byte, start int) {
	var buf [1 + binary.MaxVarintLen64]byte
	head := binary.AppendUvarint(append(buf[:0], tag), uint64(len(w.b)-start))
	w.b = slices.Insert(w.b, start, head...)
}

// texts packs several texts into one value.
func texts(parts ...string) []byte { return appendTexts(nil, parts...) }

func appendTexts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

// encodeEffect packs e. Version, Updated, Now and ID are the store's and the address's. Times that are zero are read back as the time
// of the write, a zero fence as its version: what a claim from nothing cannot know before it is written.
func encodeEffect(e *agentgw.Effect) []byte {
	w := encoder{b: make([]byte, 0, sizeOf(e))}
	w.b = append(w.b, formatEffect)
	w.text(tagOperation, e.Operation)
	w.text(tagTenant, e.Tenant)
	w.text(tagPrincipal, e.Principal)
	w.text(tagAgent, e.Context.Agent)
	w.text(tagRun, e.Context.Run)
	w.text(tagTask, e.Context.Task)
	w.text(tagCallID, e.Context.CallID)
	w.bytes(tagDigest, e.Digest[:])
	w.text(tagState, string(e.State))
	w.uint(tagFence, e.Fence)
	w.uint(tagClaim, e.Claim)
	w.uint(tagGeneration, e.Generation)
	w.uint(tagOrdinal, uint64(e.Ordinal))
	w.uint(tagBase, e.Base)
	w.bool(tagRepeat, e.Repeat)
	w.uint(tagAttempt, uint64(e.Attempt))
	for _, t := range e.Sends {
		w.b = binary.AppendUvarint(append(w.b, tagSend), 8)
		w.b = binary.BigEndian.AppendUint64(w.b, micros(t))
	}
	w.time(tagFirstSeen, e.FirstSeen)
	w.time(tagClaimed, e.Claimed)
	w.time(tagSettled, e.Settled)
	w.uint(tagLease, uint64(e.Lease))
	w.time(tagExpires, e.Expires)
	w.time(tagGone, e.Gone)
	for _, f := range e.Fields {
		w.texts(tagField, f.Name, string(rune('0'+f.Role)), f.Canon)
	}
	if len(e.Arguments) > 0 {
		w.packed(tagArguments, e.Arguments)
	}
	if e.Answer != nil {
		w.answer(tagAnswer, e.Answer)
	}
	w.text(tagWhy, e.Why)
	for _, v := range e.Evidence {
		w.text(tagEvidence, v)
	}
	for _, h := range e.Holds {
		w.texts(tagHold, string(h.Partition), h.Of)
	}
	w.text(tagEntity, string(e.Entity))
	w.uint(tagMove, e.Move)
	w.text(tagNonce, e.Nonce)
	w.text(tagBatch, e.Batch.String())
	w.uint(tagTTL, uint64(e.TTL))
	w.bool(tagSliding, e.Sliding)
	w.uint(tagTomb, uint64(e.Tomb))
	w.text(tagKeep, e.Keep)
	w.uint(tagLinger, uint64(e.Linger))
	w.bool(tagApart, e.Apart)
	w.text(tagTo, e.To)
	w.bool(tagPrior, e.Prior)
	w.bool(tagDoubted, e.Doubted)
	w.text(tagNewer, e.Newer)
	w.text(tagPending, e.Pending)
	if e.NearTo != nil {
		w.text(tagNearID, e.NearTo.ID.String())
		for _, f := range e.NearTo.Fields {
			w.text(tagNearField, f)
		}
	}
	return w.b
}

// sizeOf is about how long e is when packed, rather too much: so that it is written without growing.
func sizeOf(e *agentgw.Effect) int {
	n := 384 + len(e.Operation) + len(e.Tenant) + len(e.Principal) + len(e.Why) + min(len(e.Arguments), packAbove)
	for i := range e.Fields {
		n += 8 + len(e.Fields[i].Name) + len(e.Fields[i].Canon)
	}
	if e.Answer != nil {
		n += min(sizeOfAnswer(e.Answer), packAbove)
	}
	return n
}

func encodeAnswer(a *agentgw.Answer) []byte {
	w := encoder{b: make([]byte, 0, sizeOfAnswer(a))}
	w.answerMembers(a)
	return pack(w.b)
}

func (w *encoder) answerMembers(a *agentgw.Answer) {
	w.uint(tagStatus, uint64(a.Status))
	for _, h := range a.Header {
		w.texts(tagHeader, h.Name, h.Value)
	}
	for _, h := range a.Trailer {
		w.texts(tagTrailer, h.Name, h.Value)
	}
	if len(a.Body) > 0 {
		w.bytes(tagBody, a.Body)
	}
}

func sizeOfAnswer(a *agentgw.Answer) int {
	n := 16 + len(a.Body)
	for _, h := range a.Header {
		n += 8 + len(h.Name) + len(h.Value)
	}
	return n
}

// pack compresses what is large; the first byte says which it did.
func pack(b []byte) []byte {
	if len(b) <= packAbove {
		return append([]byte{0}, b...)
	}
	return packer.EncodeAll(b, []byte{1})
}
