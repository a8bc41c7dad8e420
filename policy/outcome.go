package policy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"go.yaml.in/yaml/v4"

	"agentgw"
	"agentgw/canonicalize"
)

// outcomeRule says what an answer means if its status is between low and high and its condition holds.
type outcomeRule struct {
	low, high int // 0 and 999 where the policy names no status
	when      *expression
	is        agentgw.Outcome
	status    string // as it was written
}

// Outcome says what an answer means, and why in a few words: the policy's `outcomes` in their order, then the defaults. An expression
// that cannot be evaluated makes it indeterminate, and no answer of 5xx counts as succeeded, whatever an expression says.
func (o *Operation) Outcome(r *ResultView) (agentgw.Outcome, string) {
	sees := evaluation{operation: o, call: r.Call, args: r.Args, result: r}
	for _, rule := range o.outcomes {
		if r.Status < rule.low || r.Status > rule.high || rule.is == agentgw.Succeeded && r.Status >= 500 {
			continue
		}
		if rule.when == nil {
			return rule.is, fmt.Sprintf("status %d, and the policy counts %s as %s", r.Status, rule.status, rule.is)
		}
		holds, err := rule.when.holds(&sees)
		if err != nil {
			return agentgw.Indeterminate, fmt.Sprintf("status %d, and the policy's outcomes cannot be decided: %v", r.Status, err)
		}
		if holds {
			return rule.is, fmt.Sprintf("status %d, and the policy counts it as %s: %s", r.Status, rule.is, rule.when.text)
		}
	}
	return DefaultOutcome(r)
}

// DefaultOutcome is what an answer means where the policy says nothing.
func DefaultOutcome(r *ResultView) (agentgw.Outcome, string) {
	why := "status " + strconv.Itoa(r.Status)
	switch s := r.Status; {
	case r.IsError:
		return agentgw.Failed, "the tool says that it failed"
	case s >= 200 && s <= 299:
		return agentgw.Succeeded, why
	case s == 408:
		return agentgw.Indeterminate, why + ": the tool gave up waiting, and may have begun"
	case s >= 400 && s <= 499, s == 501:
		return agentgw.Failed, why
	case s == 503 && hasHeader(r.Headers, "Retry-After"):
		return agentgw.Failed, why + " with Retry-After: not taken on"
	case s >= 300 && s <= 399:
		return agentgw.Indeterminate, why + ": redirects are not followed"
	}
	return agentgw.Indeterminate, why + ": it may have happened"
}

func hasHeader(headers []agentgw.Header, name string) bool {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

// readOutcomes reads the list form and the short form.
func (o *operationReader) readOutcomes(n *yaml.Node) {
	const example = `{"503": failed}, or [{status: "503", when: "…", is: failed}]`
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		for _, p := range o.pairs(n, "outcomes", example) {
			o.outcome(p.key, nil, p.value)
		}
		return
	}
	for _, item := range n.Content {
		m := o.members(item, "an outcome", `{status: "503", is: failed}`, "status", "when", "is")
		switch {
		case m["is"] == nil:
			o.fault(item, `write it as {status: "503", is: failed}`, "an outcome needs is")
		case m["status"] == nil && m["when"] == nil:
			o.fault(item, `write it as {status: "503", is: failed}`, "an outcome needs status or when")
		default:
			o.outcome(m["status"], m["when"], m["is"])
		}
	}
}

// outcome reads one rule; status or when may be nil.
func (o *operationReader) outcome(status, when, is *yaml.Node) {
	rule := outcomeRule{low: 0, high: 999}
	rule.is = agentgw.Outcome(o.word(is, "an outcome", "", "succeeded", "failed", "indeterminate"))
	if status != nil {
		var ok bool
		if rule.low, rule.high, ok = parseStatus(status.Value); !ok || status.Kind != yaml.ScalarNode {
			o.fault(status, `write it as "503", 4xx or 200-299`, "the status cannot be %s", kindOf(status))
			return
		}
		rule.status = status.Value
	}
	if when != nil {
		if rule.when = o.expression(when, "outcomes.when", cel.BoolType, sight{result: true, fields: o.fieldNames()}); rule.when == nil {
			return
		}
	}
	if rule.is == agentgw.Succeeded {
		if s := rule.countsError(); s > 0 && status == nil {
			o.fault(when, `add status: 2xx`, "an answer of %d must not count as succeeded", s)
		} else if s > 0 {
			o.fault(status, "count it as failed or indeterminate", "an answer of %d must not count as succeeded", s)
		}
	}
	o.op.outcomes = append(o.op.outcomes, rule)
}

// parseStatus reads "503", "4xx" or "200-299".
func parseStatus(s string) (low, high int, ok bool) {
	if class, isClass := strings.CutSuffix(strings.ToLower(s), "xx"); isClass {
		low, ok = digits(class, 1)
		return low * 100, low*100 + 99, ok && low >= 1 && low <= 5
	}
	from, to, isRange := strings.Cut(s, "-")
	low, ok = digits(strings.TrimSpace(from), 3)
	high = low
	if isRange {
		var ok2 bool
		high, ok2 = digits(strings.TrimSpace(to), 3)
		ok = ok && ok2
	}
	return low, high, ok && low >= 100 && low <= high && high <= 599
}

func digits(s string, n int) (int, bool) {
	v, err := strconv.Atoi(s)
	return v, err == nil && len(s) == n && v >= 0
}

// countsError is a status of 5xx that the rule surely counts, whatever else the answer holds; 0 where there is none. Conditions are tried
// with the status alone.
func (rule outcomeRule) countsError() int {
	for s := max(rule.low, 500); s <= min(rule.high, 599); s++ {
		if rule.when == nil {
			return s
		}
		vars, err := cel.PartialVars(map[string]any{"result": map[string]any{"status": int64(s)}},
			cel.AttributePattern("result").QualString("headers"), cel.AttributePattern("result").QualString("body"),
			cel.AttributePattern("args"), cel.AttributePattern("fields"), cel.AttributePattern("context"),
			cel.AttributePattern("principal"), cel.AttributePattern("request"))
		if err != nil {
			return 0
		}
		if out, err := rule.when.partial(vars); err == nil && out == types.True {
			return s
		}
	}
	return 0
}

// StateArguments are the arguments with which the state of the call's object is read, as a JSON object. The error is a
// *canonicalize.Error: the call is rejected.
func (o *Operation) StateArguments(call *agentgw.Call, args canonicalize.Value) ([]byte, error) {
	return objectOf(o.StateTool.arguments, &evaluation{operation: o, call: call, args: args})
}

// objectOf evaluates arguments into a JSON object.
func objectOf(arguments []argument, sees *evaluation) ([]byte, error) {
	object := make(map[string]json.RawMessage, len(arguments))
	for _, a := range arguments {
		v, err := a.expr.value(sees)
		if err == nil {
			object[a.name], err = asJSON(v)
		}
		if err != nil {
			return nil, &canonicalize.Error{Reason: "the tool cannot be asked: " + err.Error(), Remedy: "send what the argument is made of"}
		}
	}
	return json.Marshal(object)
}

// StateValue is the state in the answer of the state's tool. Only an answer that counts as succeeded says anything.
func (o *Operation) StateValue(r *ResultView) (string, error) {
	if outcome, why := DefaultOutcome(r); outcome != agentgw.Succeeded {
		return "", fmt.Errorf("tool %s does not tell the state: %s", o.StateTool.Tool, why)
	}
	sees := evaluation{operation: o, call: r.Call, args: r.Args, result: r}
	v, err := o.StateTool.value.value(&sees)
	if err != nil {
		return "", err
	}
	s, ok := v.(types.String)
	if !ok || s == "" {
		return "", fmt.Errorf("%s (%s) gives no state but %v", o.StateTool.value.member, o.StateTool.value.place, v.Value())
	}
	return string(s), nil
}
