package canonicalize

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"

	"agentgw"
)

// Version is the version of the canonical forms. It is a part of every key: when a form changes, so does the version, and no key of the
// old form is taken for one of the new.
const Version = 1

// identity is what a digest is taken of: an object whose absent members are left out. It is written as canonical JSON, so two different
// identities never have the same text, whatever their parts hold.
type identity struct {
	callerKey *string
	elements  []agentgw.Digest
	entity    string
	fields    []agentgw.Field
	hasFields bool
	kind      string // told apart from effects: "caller_key", "entity", "limit", "lock"
	operation string
	scope     string
	hasScope  bool
	tenant    string
}

func (id *identity) append(dst []byte) []byte {
	dst = append(dst, '{')
	if id.callerKey != nil {
		dst = appendQuoted(append(dst, `"caller_key":`...), *id.callerKey)
		dst = append(dst, ',')
	}
	dst = strconv.AppendInt(append(dst, `"canon":`...), Version, 10)
	if id.elements != nil {
		dst = append(dst, `,"elements":[`...)
		for i, key := range id.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendQuoted(dst, string(agentgw.NewPartition(agentgw.PartitionEffect, key)))
		}
		dst = append(dst, ']')
	}
	if id.entity != "" {
		dst = appendQuoted(append(dst, `,"entity":`...), id.entity)
	}
	if id.hasFields {
		dst = appendFields(append(dst, `,"fields":`...), id.fields)
	}
	if id.kind != "" {
		dst = appendQuoted(append(dst, `,"kind":`...), id.kind)
	}
	if id.operation != "" {
		dst = appendQuoted(append(dst, `,"operation":`...), id.operation)
	}
	if id.hasScope {
		dst = appendQuoted(append(dst, `,"scope":`...), id.scope)
	}
	dst = appendQuoted(append(dst, `,"tenant":`...), id.tenant)
	return append(dst, '}')
}

// appendFields appends the fields that have a value as an object, sorted by name. An absent optional field leaves no trace, so that one
// added later changes no key of a call without it.
func appendFields(dst []byte, fields []agentgw.Field) []byte {
	var few [32]int
	order := few[:0]
	for i := range fields {
		if fields[i].Canon == "" {
			continue
		}
		order = append(order, i)
		for j := len(order) - 1; j > 0 && fields[order[j]].Name < fields[order[j-1]].Name; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	dst = append(dst, '{')
	for n, i := range order {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, fields[i].Name), ':')
		dst = append(dst, fields[i].Canon...)
	}
	return append(dst, '}')
}

// digests are the two halves of the SHA-256 of a text: the key, and the digest that stands in the record and guards against a key that
// another text has too.
func digests(text []byte) (key, digest agentgw.Digest) {
	sum := sha256.Sum256(text)
	copy(key[:], sum[:16])
	copy(digest[:], sum[16:])
	return key, digest
}

func (r *reading) digests(id identity) (key, digest agentgw.Digest) {
	id.tenant = r.call.Tenant
	r.text = id.append(r.text[:0])
	return digests(r.text)
}

func (r *reading) partition(kind byte, id identity) agentgw.Partition {
	key, _ := r.digests(id)
	return agentgw.NewPartition(kind, key)
}

// name gives an operation its identity: key, digest, partitions, and the words for people.
func (r *reading) name(op *agentgw.Operation, p parts) {
	s := r.spec
	if s.Entity != "" {
		op.Entity, op.EntityOf = r.entity(p.entity), s.Entity+" "+inWords(p.entity, false)
	}
	if words := inWords(p.lock, true); words != "" {
		op.Lock = r.partition(agentgw.PartitionLock, identity{fields: p.lock, hasFields: true, kind: "lock"})
		op.LockOf = words
	}
	if len(p.newer) == 1 && p.newer[0].Canon != "" {
		op.Newer = sortable(p.newer[0].Canon)
	}
	if r.rule.Limit != nil {
		by := pick(op.Fields, s.LimitBy)
		op.Limit = r.partition(agentgw.PartitionLimit, identity{kind: "limit", operation: r.rule.Name, fields: by, hasFields: len(by) > 0})
	}
	key := p.key
	if len(key) == 0 && r.rule.Pattern == agentgw.Overwrite {
		key = p.lock // one at a time for each resource, and nothing else: its record is that of the resource
	}
	if id := r.effect(key); len(key) > 0 || id.callerKey != nil {
		op.ID.Key, op.Digest = r.digests(id)
		op.ID.Partition = r.home(op, p)
	}
	op.Fields = withoutRepeats(op.Fields, len(p.key)+len(p.match))
}

// pick finds fields by name.
func pick(fields []agentgw.Field, names []string) []agentgw.Field {
	var out []agentgw.Field
	for _, name := range names {
		if i := slices.IndexFunc(fields, func(f agentgw.Field) bool { return f.Name == name }); i >= 0 {
			out = append(out, fields[i])
		}
	}
	return out
}

// effect is the identity of one effect.
func (r *reading) effect(key []agentgw.Field) identity {
	id := identity{fields: key, hasFields: true, operation: r.rule.Name, scope: r.scope, hasScope: true}
	if r.rule.IdempotencyKey == agentgw.KeyUse {
		id.callerKey = &r.call.IdempotencyKey
	}
	return id
}

// home is the partition an effect lives in: what must change together with it.
func (r *reading) home(op *agentgw.Operation, p parts) agentgw.Partition {
	switch {
	case op.Entity != "":
		return op.Entity
	case r.rule.Pattern == agentgw.Overwrite && (r.spec.Newer != nil || len(r.spec.Lock) > 0):
		return agentgw.NewPartition(agentgw.PartitionNewer, op.ID.Key)
	case hasMeaning(p.key):
		exact := make([]agentgw.Field, 0, len(p.key))
		for _, f := range p.key {
			if f.Role != agentgw.RoleMeaning {
				exact = append(exact, f)
			}
		}
		return r.partition(agentgw.PartitionMeaning, r.effect(exact))
	}
	return agentgw.NewPartition(agentgw.PartitionEffect, op.ID.Key)
}

func hasMeaning(fields []agentgw.Field) bool {
	return slices.ContainsFunc(fields, func(f agentgw.Field) bool { return f.Role == agentgw.RoleMeaning })
}

// entity is the partition of a business object. Several operations share it, and their tools may name the argument differently: an
// object known by one value is known by that value alone, one known by several by their names too.
func (r *reading) entity(fields []agentgw.Field) agentgw.Partition {
	if len(fields) == 1 {
		only := fields[0]
		only.Name = ""
		fields = []agentgw.Field{only}
	}
	return r.partition(agentgw.PartitionEntity, identity{entity: r.spec.Entity, fields: fields, hasFields: true, kind: "entity"})
}

// callerKey names the record of the caller's key, where one came and is checked beside the derived key. An overwrite has no effect that
// a key could be bound to.
func (r *reading) callerKey(op *agentgw.Operation) {
	key := r.call.IdempotencyKey
	if key == "" || r.rule.IdempotencyKey == agentgw.KeyIgnore || r.rule.Pattern == agentgw.Overwrite || op.ID.IsZero() {
		return
	}
	op.CallerID = key
	op.CallerKey = r.partition(agentgw.PartitionCallerKey,
		identity{callerKey: &key, kind: "caller_key", operation: r.rule.Name, scope: r.scope, hasScope: true})
}

// withoutRepeats drops, behind the first n, fields that only say again what a field of their name says.
func withoutRepeats(fields []agentgw.Field, n int) []agentgw.Field {
	out := fields[:n]
	for _, f := range fields[n:] {
		if !hasField(out, f.Name) {
			out = append(out, f)
		}
	}
	return out
}

// sortable turns the canonical text of a number, date or instant into one whose byte order is the order of values.
func sortable(canon string) string {
	if canon[0] != '"' {
		return sortableNumber(canon)
	}
	s := canon[1 : len(canon)-1]
	// 10:00:00Z is before 10:00:00.5Z: without the Z it is its beginning.
	if n := len(s); s[n-1] == 'Z' {
		return s[:n-1]
	}
	return s
}

// sortableNumber writes sign, magnitude and digits of a canonical decimal: "0" negative, "1" zero, "2" positive; then the place of the
// first digit; then the digits. Of a negative number each is complemented.
func sortableNumber(canon string) string {
	negative := canon[0] == '-'
	if canon == "0" {
		return "1"
	}
	var digits []byte
	place, point, exponent := 0, false, 0
	for i, c := range []byte(canon) {
		switch {
		case c == 'e':
			exponent, _ = strconv.Atoi(canon[i+1:])
		case c == '.':
			point = true
		case c >= '0' && c <= '9' && (c != '0' || len(digits) > 0):
			digits = append(digits, c)
			if !point {
				place++
			}
		case c == '0' && point:
			place--
		}
		if c == 'e' {
			break
		}
	}
	const middle = 500000 // above any exponent that Parse lets through
	out := append(strconv.AppendInt(nil, int64(middle+place+exponent), 10), bytes.TrimRight(digits, "0")...)
	if !negative {
		return "2" + string(out)
	}
	for i, c := range out {
		out[i] = '9' - c + '0'
	}
	return "0" + string(out) + "~" // a longer negative number is smaller
}
