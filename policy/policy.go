// Package policy answers "May it happen (again)?": it reads policies, matches calls to operations, and judges a call against what the
// ledger remembers.
package policy

import (
	"fmt"
	"iter"

	"agentgw"
	"agentgw/canonicalize"
)

// Policy is a set of operations, compiled. It is read only and safe for concurrent use.
type Policy struct {
	Entities   map[string]*EntityType
	Operations []*Operation // in the order of their files and places

	index index
}

// EntityType is a kind of business object whose states transitions follow.
type EntityType struct {
	Name    string
	States  []string
	Initial string

	at mark
}

// Operation is one guarded operation: the rule that judges, the spec that reads, and the expressions that decide.
type Operation struct {
	agentgw.Rule
	Spec        canonicalize.Spec
	Place       string // "billing.yaml:12:3", where the policy names it
	Tools       []string
	Routes      []Route
	SideEffects []string
	Repair      []string   // what may be repaired in the text of the arguments
	Decode      []string   // what may be decoded in the texts of the arguments
	StateTool   *StateRead // transition: where the state is read; nil: from the ledger
	Probe       *Probe     // how a doubt is settled by asking; nil: not at all

	when     *expression
	outcomes []outcomeRule
	marks    map[string]mark // where each member stands, for Lint
}

// mark is a place in a file.
type mark struct {
	file      string
	line, col int
}

func (m mark) String() string { return fmt.Sprintf("%s:%d:%d", m.file, m.line, m.col) }

// Operation finds an operation by name; nil where there is none.
func (p *Policy) Operation(name string) *Operation {
	for _, o := range p.Operations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Says reports whether the policy states a member of the operation itself, instead of leaving its default.
func (o *Operation) Says(member string) bool {
	_, ok := o.marks[member]
	return ok
}

// Reads reports whether calls of the operation go past the ledger: nothing is claimed for them, and nothing is remembered.
func (o *Operation) Reads() bool {
	return o.Pattern == agentgw.Read || o.Pattern == agentgw.Unguarded
}

// fields yields every typed field of the operation: key, must_match, entity, lock, newer.
func (o *Operation) fields() iter.Seq[*canonicalize.Field] {
	return func(yield func(*canonicalize.Field) bool) {
		for _, fields := range [][]*canonicalize.Field{o.Spec.Key, o.Spec.Match, o.Spec.EntityBy, o.Spec.Lock, {o.Spec.Newer}} {
			for _, f := range fields {
				if f != nil && !yield(f) {
					return
				}
			}
		}
	}
}

// StateRead reads an entity's state from a tool.
type StateRead struct {
	Tool string

	arguments []argument
	value     *expression
}

type argument struct {
	name string
	expr *expression
}

// ResultView is what `outcomes`, `probe` and `state` see of an answer.
type ResultView struct {
	Call *agentgw.Call      // the call that was sent
	Args canonicalize.Value // its arguments

	Status  int
	Headers []agentgw.Header
	Body    []byte
	IsError bool // MCP: the tool says of itself that it failed
}
