package policy

import (
	"encoding/json"

	"agentgw"
	"agentgw/canonicalize"
)

// ExplainedCall is one call as a policy sees it: a line of `policy explain --calls --json`.
type ExplainedCall struct {
	ID        string                     `json:"id"`
	Operation string                     `json:"operation,omitempty"`
	Key       string                     `json:"key,omitempty"` // scope included; "" where the call is rejected, reads, or is not guarded
	Fields    map[string]json.RawMessage `json:"fields,omitempty"`
	SimilarTo []string                   `json:"similar_to,omitempty"` // earlier calls that the caller would have been asked about
	Near      *NearMiss                  `json:"near,omitempty"`       // of NearMisses, for those who ask
	Error     string                     `json:"error,omitempty"`

	scope string
}

// Nearest tells which of some earlier wordings a text may mean again, by their indices. Each wording is the meaning fields of one call.
type Nearest func(query map[string]string, candidates []map[string]string) []int

// ExplainCalls reads calls by a policy, one by one, as if each had been executed before the next. It keeps nothing but the wordings of
// one identity, for near; near may be nil.
func ExplainCalls(p *Policy, calls []ObservedCall, near Nearest, each func(ExplainedCall) error) error {
	earlier := map[agentgw.Partition]*wordings{}
	for _, c := range calls {
		if err := each(explainCall(p, c, near, earlier)); err != nil {
			return err
		}
	}
	return nil
}

// wordings are the calls of one identity that differ in their words only.
type wordings struct {
	ids   [][]string // of the calls with this very wording
	texts []map[string]string
	keys  map[agentgw.Digest]int
}

func explainCall(p *Policy, c ObservedCall, near Nearest, earlier map[agentgw.Partition]*wordings) ExplainedCall {
	out := ExplainedCall{ID: c.ID}
	args, err := canonicalize.Parse(c.Args)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	call := &agentgw.Call{Tenant: "default", Tool: c.Tool, Arguments: c.Args, Context: agentgw.Context{Task: c.Task, Run: c.Run}}
	op, err := p.Match(call, args)
	if err != nil || op == nil {
		if err != nil {
			out.Error = err.Error()
		}
		return out
	}
	out.Operation = op.Name
	if op.Reads() {
		return out
	}
	read, err := op.Spec.Operation(&op.Rule, call, args)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Key, out.scope = read.ID.String(), read.Scope
	out.Fields = map[string]json.RawMessage{}
	texts, meant := map[string]string{}, false
	for _, f := range read.Fields {
		meant = meant || f.Role == agentgw.RoleMeaning
		if f.Canon == "" {
			continue
		}
		out.Fields[f.Name] = json.RawMessage(f.Canon)
		if f.Role == agentgw.RoleMeaning {
			texts[f.Name] = f.Text()
		}
	}
	if near != nil && meant {
		out.SimilarTo = similarTo(read, c.ID, texts, near, earlier)
	}
	return out
}

// similarTo compares a call's wording with the earlier ones of its identity. A wording that is known is no question.
func similarTo(op *agentgw.Operation, id string, texts map[string]string, near Nearest, earlier map[agentgw.Partition]*wordings) (out []string) {
	w := earlier[op.ID.Partition]
	if w == nil {
		w = &wordings{keys: map[agentgw.Digest]int{}}
		earlier[op.ID.Partition] = w
	}
	at, known := w.keys[op.ID.Key]
	if !known {
		at = len(w.ids)
		w.keys[op.ID.Key] = at
		w.ids = append(w.ids, nil)
	}
	for _, i := range near(texts, w.texts) {
		if i != at {
			out = append(out, w.ids[i]...)
		}
	}
	if !known {
		w.texts = append(w.texts, texts)
	}
	w.ids[at] = append(w.ids[at], id)
	return out
}
