package gateway

import (
	"sync"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/policy"
)

// autos are the guards of calls that no operation matches, made when they are first needed.
type autos struct {
	made sync.Map // autoKey -> *policy.Operation
}

type autoKey struct{ tool, scope string }

const autoName = "auto" // the operation of proxied requests that belong to no tool

// guard is the operation that guards an unmatched call: all arguments, per task, or per principal where the caller names no task.
func (a *autos) guard(call *agentgw.Call, tool *Tool, d canonicalize.Defaults) *policy.Operation {
	key := autoKey{autoName, agentgw.ScopePrincipal}
	if call.Context.Task != "" {
		key.scope = agentgw.ScopeTask
	}
	if tool != nil {
		key.tool = tool.Name
	}
	if o, ok := a.made.Load(key); ok {
		return o.(*policy.Operation)
	}
	var schema []byte
	if tool != nil {
		schema = tool.Input
	}
	o, _ := a.made.LoadOrStore(key, policy.Auto(key.tool, schema, d, key.scope))
	return o.(*policy.Operation)
}

// withRoute are the arguments of a proxied request that belongs to no tool, with what it does to what: method, upstream and path are
// part of its identity.
func withRoute(args canonicalize.Value, r *agentgw.Request) canonicalize.Value {
	text := func(s string) canonicalize.Value { return canonicalize.Value{Kind: canonicalize.String, Text: s} }
	route := canonicalize.Value{Kind: canonicalize.List, Items: []canonicalize.Value{text(r.Method), text(r.Upstream), text(r.Path)}}
	members := append([]canonicalize.Member{{Name: "@route", Value: route}}, args.Members...)
	return canonicalize.Value{Kind: canonicalize.Object, Members: members}
}
