// Package policy answers "May it happen (again)?": it reads policies, matches calls to operations, and judges a call against what the
// ledger remembers.
package policy

import (
	"time"

	"agentgw"
	"agentgw/canonicalize"
)

// Policy is a set of operations, compiled.
type Policy struct {
	Entities   map[string]*EntityType
	Operations []*Operation
}

// EntityType is a kind of business object whose states transitions follow.
type EntityType struct {
	Name    string
	States  []string
	Initial string
}

// Operation is one guarded operation: the rule that judges, the spec that reads, and the expressions that decide.
type Operation struct {
	agentgw.Rule
	Spec        canonicalize.Spec
	Tools       []string
	Routes      []Route
	SideEffects []string
	Repair      []string
	Decode      []string
	StateTool   *StateRead // transition: where the state is read; nil: from the ledger

	// compiled expressions follow, unexported
}

// Route is an HTTP route that an operation guards: method, upstream, path pattern.
type Route struct {
	Method, Upstream, Path string
}

// StateRead reads an entity's state from a tool.
type StateRead struct {
	Tool string
}

// ResultView is what `outcomes`, `probe` and `state` see of an answer.
type ResultView struct {
	Status  int
	Headers []agentgw.Header
	Body    []byte
	IsError bool
}

var _ = time.Second
