package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agentgw"
	"agentgw/canonicalize"
)

// Lint says what is allowed and probably not meant. Policies with such findings load.
func Lint(p *Policy) []Finding {
	l := linter{policy: p}
	for _, o := range p.Operations {
		if !o.Reads() {
			l.amounts(o)
			l.identity(o)
			l.lifetimes(o)
		}
		l.condition(o)
	}
	l.entities()
	return sorted(l.found)
}

type linter struct {
	policy *Policy
	found  []Finding
}

func (l *linter) warn(at mark, remedy, format string, args ...any) {
	l.found = append(l.found, Finding{at.file, at.line, at.col, fmt.Sprintf(format, args...), remedy})
}

// at is where a member stands, or the operation where it has none.
func (o *Operation) at(member string) mark {
	if m, ok := o.marks[member]; ok {
		return m
	}
	return o.marks[""]
}

// Words in the names of fields and side effects, in lower case.
var (
	moneyWords = []string{"amount", "price", "total", "sum", "fee", "fare", "salary", "wage", "金額", "価格", "合計"}
	proseWords = []string{"memo", "note", "comment", "reason", "message", "body", "description", "subject", "title", "summary", "備考", "メモ", "件名", "本文"}
	payWords   = []string{"payment", "invoice", "order", "refund", "transfer", "charge", "payout"}
)

func named(name string, words []string) bool {
	parts := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' })
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(words, part) })
}

// base is the name of a field's type, or of the elements' where it is a list.
func base(f *canonicalize.Field) string {
	t := strings.TrimSuffix(strings.TrimSpace(f.Type), "?")
	name, rest, _ := strings.Cut(t, "(")
	if name == "list" || name == "set" {
		name, _, _ = strings.Cut(strings.TrimSuffix(rest, ")"), "(")
	}
	return strings.TrimSpace(name)
}

func isBase(names ...string) func(*canonicalize.Field) bool {
	return func(f *canonicalize.Field) bool { return slices.Contains(names, base(f)) }
}

// amounts: an amount belongs to what is compared, and in a type that knows 50 and 50.00 for one.
func (l *linter) amounts(o *Operation) {
	for f := range o.fields() {
		if named(f.Name, moneyWords) && isBase("id", "exact", "text", "code")(f) {
			l.warn(o.at("key"), "choose money(currency) or decimal", "%s: field %s looks like an amount, and type %s tells 50 and 50.00 apart", o.Name, f.Name, base(f))
		}
	}
	pays := slices.ContainsFunc(o.SideEffects, func(s string) bool { return slices.Contains(payWords, strings.ToLower(s)) })
	compared := append(slices.Clone(o.Spec.Key), o.Spec.Match...)
	if pays && o.Pattern == agentgw.Once && !o.Spec.MatchAll && !slices.ContainsFunc(compared, isBase("money", "decimal", "int")) {
		l.warn(o.at("side_effects"), "add must_match: {amount: money(currency)}, or must_match: all",
			"%s: no amount is compared: a call with another one is answered as done", o.Name)
	}
}

// identity: a key must survive rewording, and tell two honest wishes apart.
func (l *linter) identity(o *Operation) {
	for _, f := range o.Spec.Key {
		if named(f.Name, proseWords) && isBase("text", "exact")(f) {
			l.warn(o.at("key"), "leave it out, move it to must_match, or choose meaning",
				"%s: key field %s looks like prose, which models word anew each time", o.Name, f.Name)
		}
	}
	told := o.Scope == agentgw.ScopeTask || o.IdempotencyKey == agentgw.KeyUse || o.Pattern != agentgw.Once
	reference := isBase("id", "code", "exact", "email", "phone", "url", "json", "name", "instant")
	if !told && len(o.Spec.Key) > 0 && !slices.ContainsFunc(o.Spec.Key, reference) {
		l.warn(o.at("key"), "add a reference to the key, or scope: task",
			"%s: no key field looks like a reference: two equal wishes within %s are one", o.Name, formatDuration(o.TTL))
	}
}

// lifetimes: the default of a day is short for money, and a long lease keeps a crash hidden.
func (l *linter) lifetimes(o *Operation) {
	_, hasTTL := o.marks["ttl"]
	_, hasTomb := o.marks["tombstone"]
	pays := slices.ContainsFunc(o.SideEffects, func(s string) bool { return slices.Contains(payWords, strings.ToLower(s)) })
	if pays && !hasTTL && !hasTomb && o.Pattern == agentgw.Once {
		l.warn(o.at("side_effects"), "say ttl: 7d, or add a tombstone",
			"%s: after the default of 24h the same call pays or orders again", o.Name)
	}
	if o.Lease > 10*time.Minute {
		l.warn(o.at("lease"), "a lease is renewed while the attempt runs: a minute is enough",
			"%s: when a gateway dies, the effect looks under way for %s", o.Name, formatDuration(o.Lease))
	}
}

// condition: what `when` leaves out should be guarded by something.
func (l *linter) condition(o *Operation) {
	if o.when == nil {
		return
	}
	for _, tool := range o.Tools {
		if len(l.policy.index.tools[tool]) == 1 {
			l.warn(o.at("when"), "add an operation for the other calls, if only pattern: read or unguarded",
				"%s: calls of %s for which when is false are guarded by no operation", o.Name, tool)
		}
	}
}

// entities: those without transitions, and states that a transition waits for in vain.
func (l *linter) entities() {
	for _, e := range l.policy.Entities {
		reached := map[string]bool{e.Initial: true}
		var moves []*Operation
		read := false
		for _, o := range l.policy.Operations {
			if o.Spec.Entity == e.Name {
				moves = append(moves, o)
				reached[o.To] = true
				read = read || o.StateTool != nil
			}
		}
		if len(moves) == 0 {
			l.warn(e.at, "remove it, or add a transition", "entity %s has no transitions", e.Name)
		}
		for _, o := range moves {
			for _, from := range o.From {
				if !reached[from] && !read {
					l.warn(o.at("from"), "add the transition to it, or read the state from a tool", "%s: no transition leads to state %s", o.Name, from)
				}
			}
		}
	}
}
