package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"agentgw"
)

// Refused is the error of an operator's word that has no place in the effect's state. It says what has.
type Refused struct{ Why string }

func (r *Refused) Error() string { return r.Why }

// Resolve settles a doubt by an operator's word. version is the one the operator saw (0: whichever is there); ErrStale where it is not
// the record's any more, *Refused where there is no doubt. answer may be nil. From then on the attempt's own late word is evidence only.
func (l *Ledger) Resolve(ctx context.Context, id agentgw.EffectID, version uint64, outcome agentgw.Outcome, answer *agentgw.Answer, who, reason string) (*agentgw.Effect, error) {
	e, err := l.forOperator(ctx, id, version)
	if err != nil {
		return e, err
	}
	if outcome != agentgw.Succeeded && outcome != agentgw.Failed {
		return e, &Refused{Why: fmt.Sprintf("outcome %q: a doubt is resolved as succeeded or failed", outcome)}
	}
	if !e.Batch.IsZero() && e.State == agentgw.StateClaimed {
		return e, &Refused{Why: fmt.Sprintf("%s is an element of the batch %s: resolve that", id, e.Batch)}
	}
	next, ok := resolveNext(*e, outcome, answer, l.random(), fmt.Sprintf("resolved as %s by %s: %s", outcome, who, reason))
	if !ok {
		return e, &Refused{Why: fmt.Sprintf("%s is %s; only an indeterminate effect can be resolved", id, e.State)}
	}
	now, applied, err := l.conclude(ctx, e, &next, outcome)
	if err == nil && !applied {
		err = ErrStale
	}
	return now, err
}

// Void frees a success by an operator's word: the next call executes. A transition's entity stays where it is.
func (l *Ledger) Void(ctx context.Context, id agentgw.EffectID, version uint64, who, reason string) (*agentgw.Effect, error) {
	e, err := l.forOperator(ctx, id, version)
	if err != nil {
		return e, err
	}
	next, ok := step(*e, evVoid)
	if !ok {
		return e, &Refused{Why: fmt.Sprintf("%s is %s; only a success can be voided", id, e.State)}
	}
	free(&next, e.Now, false)
	next.Why, next.Answer, next.Apart = fmt.Sprintf("voided by %s: %s", who, reason), nil, false
	now, applied, err := l.put(ctx, e, &next, nil)
	if err == nil && !applied {
		err = ErrStale
	}
	if err == nil {
		err = l.finish(ctx, e, now, agentgw.Failed)
	}
	return now, err
}

// forOperator is the effect as it stands, with a lapse written first.
func (l *Ledger) forOperator(ctx context.Context, id agentgw.EffectID, version uint64) (*agentgw.Effect, error) {
	e, err := l.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if version != 0 && version != e.Version {
		return e, ErrStale
	}
	if e.Lapsed(e.Now) {
		if e, err = l.lapse(ctx, e, false); err == nil && e == nil {
			err = ErrNotFound
		}
	}
	return e, err
}

// Filter chooses effects for List. Empty members choose all.
type Filter struct {
	Tenant    string
	State     agentgw.State // an open state reads the index; others scan
	Operation string
	Text      string // substring of id, canonical fields, principal or context
	Cursor    string
	Limit     int // 0: 50
}

func (f *Filter) fits(e *agentgw.Effect) bool {
	switch {
	case f.Tenant != "" && f.Tenant != e.Tenant,
		f.State != "" && f.State != e.State,
		f.Operation != "" && f.Operation != e.Operation:
		return false
	}
	if f.Text == "" {
		return true
	}
	hay := []string{e.ID.String(), e.Operation, e.Principal, e.Context.Agent, e.Context.Run, e.Context.Task, e.Context.CallID}
	for _, field := range e.Fields {
		hay = append(hay, field.Canon)
	}
	return slices.ContainsFunc(hay, func(s string) bool { return strings.Contains(s, f.Text) })
}

// ErrCursor: List did not give out that cursor, or for a list that is read another way.
var ErrCursor = errors.New("the cursor is none of this list")

// sealCursor makes the cursor of a list of a store's, which need not notice what is no cursor. list is "open" or "scan".
func sealCursor(list, cursor string) string {
	if cursor == "" {
		return ""
	}
	sum := crc32.ChecksumIEEE([]byte(list + cursor))
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, sum), cursor...))
}

func openCursor(list, sealed string) (string, error) {
	if sealed == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(b) <= 4 || sealCursor(list, string(b[4:])) != sealed {
		return "", ErrCursor
	}
	return string(b[4:]), nil
}

// List shows effects, newest first within a page; next is "" at the end. A page may hold fewer than the limit before the end. ErrCursor.
func (l *Ledger) List(ctx context.Context, f Filter) (found []*agentgw.Effect, next string, err error) {
	limit := cmp.Or(f.Limit, 50)
	list, read := "scan", l.scanPage
	if f.State.Open() {
		list, read = "open", l.openPage
	}
	cursor, err := openCursor(list, f.Cursor)
	if err != nil {
		return nil, "", err
	}
	for len(found) < limit {
		var page []*agentgw.Effect
		if page, cursor, err = read(ctx, cursor, limit); err != nil {
			return nil, "", err
		}
		for _, e := range page {
			if e.Lapsed(e.Now) { // said as it is; the sweep writes it
				e.State = table[e.State][evLapse]
			}
			if f.fits(e) {
				found = append(found, e)
			}
		}
		if cursor == "" {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b *agentgw.Effect) int { return b.Updated.Compare(a.Updated) })
	return found, sealCursor(list, cursor), nil
}

func (l *Ledger) openPage(ctx context.Context, cursor string, limit int) ([]*agentgw.Effect, string, error) {
	at, next, err := l.store.Open(ctx, cursor, limit)
	if err != nil || len(at) == 0 {
		return nil, next, err
	}
	looks := make([]Swap, len(at))
	for i, a := range at {
		looks[i] = look(a.Partition, a.Name)
	}
	replies, err := l.swap(ctx, looks...)
	if err != nil {
		return nil, "", err
	}
	var page []*agentgw.Effect
	for i, r := range replies {
		if r.Records[0].Version == 0 {
			continue
		}
		e, err := decodeEffect(at[i].Partition, r.Records[0], r.Now)
		if err != nil {
			return nil, "", err
		}
		page = append(page, e)
	}
	return page, next, nil
}

func (l *Ledger) scanPage(ctx context.Context, cursor string, limit int) ([]*agentgw.Effect, string, error) {
	at, next, err := l.store.Scan(ctx, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	var page []*agentgw.Effect
	for _, s := range at {
		e, err := decodeEffect(s.Partition, s.Record, s.Record.At)
		if err != nil {
			return nil, "", err
		}
		page = append(page, e)
	}
	return page, next, nil
}

// Sweep marks what has lapsed and counts what is in doubt, by operation. It is slow and unhurried: one pass over the index.
func (l *Ledger) Sweep(ctx context.Context) (doubts map[string]int, err error) {
	doubts = map[string]int{}
	for cursor := ""; ; {
		page, next, err := l.openPage(ctx, cursor, 256)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Lapsed(e.Now) && e.Batch.IsZero() {
				if e, err = l.lapse(ctx, e, false); err != nil {
					return nil, err
				}
			}
			if e != nil && e.State == agentgw.StateIndeterminate {
				doubts[e.Operation]++
			}
		}
		if cursor = next; cursor == "" {
			return doubts, nil
		}
	}
}

// secretPartition holds what all gateways on one ledger share.
var secretPartition = agentgw.NewPartition('x', agentgw.Digest{})

// Secret is 32 random bytes that all gateways on this ledger share; the first that asks makes them.
func (l *Ledger) Secret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, 32)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	replies, err := l.swap(ctx, Swap{Partition: secretPartition, Stamp: l.random(), Changes: []Change{{Name: "secret", Value: fresh}}})
	if err != nil {
		return nil, err
	}
	if v := replies[0].Records[0].Value; len(v) == len(fresh) {
		return v, nil
	}
	return nil, errors.New("the ledger's secret is torn")
}
