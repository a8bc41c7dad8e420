package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"agentgw"
)

// Effects that differ in free text only share a partition, and in it an index of their wordings. The index changes in the same step as
// every claim, so that of two rewordings at the same time one always sees the other.

const (
	nameIndex   = "c"
	maxIndex    = 256  // wordings kept in a partition; the oldest go first
	maxWording  = 2000 // bytes of one text that are kept
	maxAskedFor = 8    // candidates that a caller is asked about
)

// wording is what one effect of the partition says in free text.
type wording struct {
	Key  agentgw.Digest
	Text map[string]string
}

func (t *try) meaning() bool {
	return t.Op.ID.Partition != "" && t.Op.ID.Partition[0] == agentgw.PartitionMeaning
}

// textsOf are the free texts of an operation, by field, as far as they are kept.
func textsOf(op *agentgw.Operation) map[string]string {
	m := op.Meaning()
	for name, text := range m {
		m[name] = text[:min(len(text), maxWording)]
	}
	return m
}

func (t *try) indexWith(op *agentgw.Operation) []wording {
	all := slices.DeleteFunc(slices.Clone(t.index), func(w wording) bool { return w.Key == op.ID.Key })
	all = append(all, wording{Key: op.ID.Key, Text: textsOf(op)})
	return all[max(0, len(all)-maxIndex):]
}

func encodeIndex(all []wording) []byte {
	var b []byte
	for _, w := range all {
		parts := []string{string(w.Key[:])}
		for name, text := range w.Text {
			parts = append(parts, name, text)
		}
		b = append(b, texts(string(texts(parts...)))...)
	}
	return pack(b)
}

func decodeIndex(v []byte) ([]wording, error) {
	b, err := unpack(v)
	if err != nil {
		return nil, err
	}
	entries, err := splitTexts(b)
	if err != nil {
		return nil, err
	}
	all := make([]wording, 0, len(entries))
	for _, entry := range entries {
		parts, err := splitTexts([]byte(entry))
		if err != nil || len(parts)%2 != 1 || len(parts[0]) != len(agentgw.Digest{}) {
			return nil, errTorn
		}
		w := wording{Text: make(map[string]string, len(parts)/2)}
		copy(w.Key[:], parts[0])
		for i := 1; i < len(parts); i += 2 {
			w.Text[parts[i]] = parts[i+1]
		}
		all = append(all, w)
	}
	return all, nil
}

// rememberSimilar finds the earlier effects that this call, were it new, may mean again: worded alike, and still standing.
func (t *try) rememberSimilar(ctx context.Context) error {
	if !t.meaning() || t.Alike == nil || t.m.Own.Stands(t.m.Now) {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(t.index), func(w wording) bool {
		return w.Key == t.Op.ID.Key || t.Apart[agentgw.EffectID{Partition: t.Op.ID.Partition, Key: w.Key}]
	})
	earlier := make([]map[string]string, len(others))
	for i, w := range others {
		earlier[i] = w.Text
	}
	for _, like := range t.Alike(textsOf(t.Op), earlier) {
		w := others[like.Index]
		x, err := t.occupant(ctx, agentgw.EffectID{Partition: t.Op.ID.Partition, Key: w.Key})
		if err != nil {
			return err
		}
		if !x.Stands(t.m.Now) {
			continue
		}
		t.m.Similar = append(t.m.Similar, agentgw.Candidate{ID: x.ID, Text: w.Text, Differs: like.Differs, Score: like.Score})
		if len(t.m.Similar) == maxAskedFor {
			break
		}
	}
	return nil
}

// Opinion is what a judge said of a pair of wordings: whether they mean one effect, and why.
type Opinion struct {
	Same bool
	Why  string
}

// opinionName is the record of a pair, whichever of the two came first.
func opinionName(a, b agentgw.Digest) string {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	sum := sha256.Sum256(append(a[:], b[:]...))
	return "j" + hex.EncodeToString(sum[:16])
}

// Judged is the recorded opinion on an operation and an earlier effect of its partition; nil: nobody has judged them.
func (l *Ledger) Judged(ctx context.Context, op *agentgw.Operation, earlier agentgw.EffectID) (*Opinion, error) {
	name := opinionName(op.ID.Key, earlier.Key)
	replies, err := l.swap(ctx, look(op.ID.Partition, name))
	if err != nil || replies[0].Records[0].Version == 0 {
		return nil, err
	}
	parts, err := splitTexts(replies[0].Records[0].Value)
	if err != nil || len(parts) != 2 {
		return nil, errTorn
	}
	return &Opinion{Same: parts[0] == "same", Why: parts[1]}, nil
}

// Judge records an opinion for as long as the effects of the operation are kept. Where another was quicker, that one's stands.
func (l *Ledger) Judge(ctx context.Context, op *agentgw.Operation, earlier agentgw.EffectID, o Opinion) error {
	word := "different"
	if o.Same {
		word = "same"
	}
	_, err := l.swap(ctx, Swap{Partition: op.ID.Partition, Stamp: l.random(), Changes: []Change{
		{Name: opinionName(op.ID.Key, earlier.Key), Value: texts(word, o.Why), Keep: op.Rule.TTL + op.Rule.Tombstone + 24*time.Hour}}})
	return err
}
