package policy

import (
	"encoding/json"
	"time"

	"agentgw"
	"agentgw/canonicalize"
)

// autoTTL is how long a call that no policy knows answers its own repeats: long enough for retries and re-plans, short enough that the
// same wish an hour later is a new one.
const autoTTL = 10 * time.Minute

// Auto is the guard of a tool that no operation knows: all its arguments, read by its JSON Schema, are the identity, within the scope
// (ScopeTask or ScopePrincipal), for ten minutes. A nil schema, or one that cannot be used, reads the arguments as they are.
func Auto(name string, schema json.RawMessage, d canonicalize.Defaults, scope string) *Operation {
	if len(schema) == 0 {
		schema = json.RawMessage(`{}`)
	}
	o := &Operation{Rule: agentgw.Rule{
		Name: name, Pattern: agentgw.Once, TTL: autoTTL, Lease: time.Minute, Repeat: agentgw.RepeatToken, IdempotencyKey: agentgw.KeyCheck,
		Missing: agentgw.MissingReject, OnIndeterminate: agentgw.DoubtBlock, Scope: scope, Keep: agentgw.KeepAnswer,
	}}
	s, err := canonicalize.ParseSchema(schema)
	if err == nil {
		var spec *canonicalize.Spec
		if spec, err = s.Spec(d); err == nil {
			o.Spec = *spec
			return o
		}
	}
	s, _ = canonicalize.ParseSchema([]byte(`{}`))
	if spec, err := s.Spec(d); err == nil {
		o.Spec = *spec
	}
	return o
}
