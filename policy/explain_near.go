package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"agentgw"
)

// NearMiss is the earlier call or effect that came nearest to a call without being the same one, and what kept the two apart. Its JSON
// is the `near` of the effects API.
type NearMiss struct {
	Call   string                         `json:"call,omitempty"`   // the id of an earlier call of a file
	Effect string                         `json:"effect,omitempty"` // or the effect in the ledger
	Scope  *[2]string                     `json:"scope,omitempty"`  // its scope and this one, where they differ
	Fields map[string]*[2]json.RawMessage `json:"fields"`           // its canonical value and this one; nil where they are not both known
}

// Lines say for people what kept the two apart, one difference a line.
func (n *NearMiss) Lines() (lines []string) {
	if n.Scope != nil {
		lines = append(lines, fmt.Sprintf("scope: %s there, %s here", orNothing(n.Scope[0]), orNothing(n.Scope[1])))
	}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		if pair := n.Fields[name]; pair != nil {
			lines = append(lines, fmt.Sprintf("%s: %s there, %s here", name, orNothing(string(pair[0])), orNothing(string(pair[1]))))
		} else {
			lines = append(lines, name+" differed; the values are not kept any more")
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "nothing but the scope differs: another task or principal")
	}
	return lines
}

func orNothing(canon string) string {
	if canon == "" || canon == "null" {
		return "nothing"
	}
	return canon
}

// Apart compares the fields of a call with those that the ledger keeps of an earlier effect, by name, in canonical form. It returns what
// differs, and how many fields are equal. What the ledger does not keep is not compared: fields that are no identity, and the must_match
// values of freed effects.
func Apart(there map[string]string, here []Explained) (differ map[string]*[2]json.RawMessage, equal int) {
	differ = map[string]*[2]json.RawMessage{}
	for _, f := range here {
		its, kept := there[f.Name]
		mine := agentgw.Field{Canon: f.Canon}.Kept()
		switch {
		case !kept:
		case its == mine:
			equal++
		default:
			differ[f.Name] = &[2]json.RawMessage{canonJSON(its), canonJSON(mine)}
		}
	}
	return differ, equal
}

// canonJSON is a canonical value as JSON; nil where there is none. The digest of a long one is a text.
func canonJSON(canon string) json.RawMessage {
	if canon == "" || json.Valid([]byte(canon)) {
		return json.RawMessage(canon)
	}
	text, _ := json.Marshal(canon) // a string can always be encoded
	return text
}

// maxNearCalls is with how many earlier calls of its operation each call of a file is compared: the latest ones that differ.
const maxNearCalls = 1000

// NearMisses finds near misses among explained calls, in the order in which they are given. The zero value is ready.
type NearMisses struct {
	earlier map[string][]ExplainedCall // by operation
}

// Next is the near miss of a call among those before it: the one with the fewest differences of those that share a field with it, the
// latest of equals. It is nil where there is none, and for a duplicate, which missed nothing.
func (m *NearMisses) Next(e ExplainedCall) *NearMiss {
	if e.Key == "" {
		return nil
	}
	var best *NearMiss
	least := 0
	for _, earlier := range slices.Backward(m.earlier[e.Operation]) {
		miss, equal := between(&earlier, &e)
		n := len(miss.Fields)
		if miss.Scope != nil {
			n++
		}
		if n == 0 {
			return nil
		}
		if (equal > 0 || len(miss.Fields) == 0) && (best == nil || n < least) {
			best, least = miss, n
		}
	}
	if m.earlier == nil {
		m.earlier = map[string][]ExplainedCall{}
	}
	kept := append(m.earlier[e.Operation], e)
	m.earlier[e.Operation] = kept[max(0, len(kept)-maxNearCalls):]
	return best
}

// between compares two calls of one operation.
func between(earlier, e *ExplainedCall) (miss *NearMiss, equal int) {
	miss = &NearMiss{Call: earlier.ID, Fields: map[string]*[2]json.RawMessage{}}
	if earlier.scope != e.scope {
		miss.Scope = &[2]string{earlier.scope, e.scope}
	}
	for name, value := range e.Fields {
		if its := earlier.Fields[name]; bytes.Equal(its, value) {
			equal++
		} else {
			miss.Fields[name] = &[2]json.RawMessage{its, value}
		}
	}
	for name, its := range earlier.Fields {
		if _, ok := e.Fields[name]; !ok {
			miss.Fields[name] = &[2]json.RawMessage{its, nil}
		}
	}
	return miss, equal
}
