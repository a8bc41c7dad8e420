package gateway

import (
	"encoding/json"

	"agentgw"
)

// nearView says why an effect was no duplicate of the earlier one that came nearest to it.
type nearView struct {
	Effect string               `json:"effect"`
	Fields map[string]*nearPair `json:"fields"` // null where the values are not both kept any more; {}: nothing but the scope differs
}

// nearPair is a field's canonical value in the nearer effect, and in this one; null where the field was absent.
type nearPair [2]json.RawMessage

// newNearView shows what kept e from being a duplicate. nearer reads the nearer effect; where that fails, the fields are named only, as
// they are where nearer is nil. An effect of another tenant is never shown.
func newNearView(e *agentgw.Effect, nearer func(agentgw.EffectID) (*agentgw.Effect, error)) *nearView {
	if e.NearTo == nil {
		return nil
	}
	v := &nearView{Effect: e.NearTo.ID.String(), Fields: make(map[string]*nearPair, len(e.NearTo.Fields))}
	var other *agentgw.Effect
	if nearer != nil {
		if found, err := nearer(e.NearTo.ID); err == nil && found.Tenant == e.Tenant && found.Operation == e.Operation {
			other = found
		}
	}
	for _, name := range e.NearTo.Fields {
		v.Fields[name] = pairOf(name, other, e)
	}
	return v
}

// pairOf is a field of two effects. Two equal values did not keep them apart: the nearer one has changed since, and says nothing.
func pairOf(name string, other, e *agentgw.Effect) *nearPair {
	if other == nil {
		return nil
	}
	its, ok := keptValue(other, name)
	mine, okMine := keptValue(e, name)
	if !ok || !okMine || string(its) == string(mine) {
		return nil
	}
	return &nearPair{its, mine}
}

// keptValue is a field's canonical value; ok is false where the record does not hold the field.
func keptValue(e *agentgw.Effect, name string) (value json.RawMessage, ok bool) {
	for _, f := range e.Fields {
		if f.Name == name {
			return canonJSON(f.Canon), true
		}
	}
	return nil, false
}

// canonJSON is a canonical value as JSON: nil where there is none. Of a long one the ledger keeps its digest, which is a text.
func canonJSON(canon string) json.RawMessage {
	switch {
	case canon == "":
		return nil
	case json.Valid([]byte(canon)):
		return json.RawMessage(canon)
	}
	return quoted(canon)
}
