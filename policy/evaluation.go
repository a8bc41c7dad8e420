package policy

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"agentgw"
	"agentgw/canonicalize"
)

// evaluation is what expressions see of one call: the variables of the contract, each made when it is first asked for. It serves one
// goroutine.
type evaluation struct {
	operation *Operation
	call      *agentgw.Call
	args      canonicalize.Value
	result    *ResultView // nil where there is no answer yet

	made map[string]any
}

// of makes the evaluation one of another operation: the call stays, its fields do not.
func (e *evaluation) of(o *Operation) *evaluation {
	e.operation = o
	delete(e.made, "fields")
	return e
}

// Parent is part of cel.Activation.
func (e *evaluation) Parent() cel.Activation { return nil }

// ResolveName is part of cel.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if v, ok := e.made[name]; ok {
		return v, true
	}
	var v any
	switch name {
	case "args":
		v = argumentsOf(e.args)
	case "fields":
		v = e.canonical()
	case "context":
		v = contextOf(e.call)
	case "principal":
		v = principalOf(e.call)
	case "request":
		v = requestOf(e.call)
	case "result":
		if e.result == nil {
			return nil, false
		}
		v = resultOf(e.result)
	default:
		return nil, false
	}
	if e.made == nil {
		e.made = make(map[string]any, 2)
	}
	e.made[name] = v
	return v, true
}

// canonical is the fields' canonical JSON as values. One that is absent is no member; one that cannot be read is an error as soon as an
// expression looks at it. The elements of `each` are not here: there are many.
func (e *evaluation) canonical() map[string]any {
	seen := map[string]any{}
	for f := range e.operation.fields() {
		if e.operation.Spec.Each != nil && ofItem(f) {
			continue
		}
		field, err := f.Read(e.args)
		if err == nil && field.Canon == "" || errors.Is(err, canonicalize.ErrMissing) {
			continue
		}
		v, err2 := canonicalize.Parse([]byte(field.Canon))
		if err := cmp.Or(err, err2); err != nil {
			seen[f.Name] = types.NewErr("%v", err)
			continue
		}
		seen[f.Name] = toCEL(v)
	}
	return seen
}

func contextOf(call *agentgw.Call) map[string]string {
	m := make(map[string]string, 4)
	if call == nil {
		return m
	}
	c := call.Context
	for name, v := range map[string]string{"agent": c.Agent, "run": c.Run, "task": c.Task, "call_id": c.CallID} {
		if v != "" {
			m[name] = v
		}
	}
	return m
}

func principalOf(call *agentgw.Call) string {
	if call == nil {
		return ""
	}
	return call.Principal
}

// requestOf is empty for a call by the tool's name.
func requestOf(call *agentgw.Call) map[string]any {
	if call == nil || call.Request == nil {
		return map[string]any{}
	}
	r := call.Request
	return map[string]any{"method": r.Method, "path": r.Path, "headers": headersOf(r.Header)}
}

func resultOf(r *ResultView) map[string]any {
	return map[string]any{"status": int64(r.Status), "headers": headersOf(r.Headers), "body": bodyOf(r.Body)}
}

// bodyOf is the parsed JSON of a body, or its text where it is no JSON that our strict reading accepts.
func bodyOf(body []byte) any {
	if len(body) == 0 {
		return ""
	}
	if v, err := canonicalize.Parse(body); err == nil {
		return toCEL(v)
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

// toCEL turns a JSON value into what CEL works on. Integers that fit 64 bits are int (or uint), other numbers double, but only where the
// double is that very number in decimal: 0.1 is, 9007199254740993.5 is not. What no number of CEL can hold is an error as soon as an
// expression looks at it. Amounts are safe to compare with whole numbers, not to calculate with.
func toCEL(v canonicalize.Value) any {
	switch v.Kind {
	case canonicalize.Bool:
		return v.Text == "true"
	case canonicalize.Number:
		return numberOf(v.Text)
	case canonicalize.String:
		return v.Text
	case canonicalize.List:
		items := make([]any, len(v.Items))
		for i := range v.Items {
			items[i] = toCEL(v.Items[i])
		}
		return items
	case canonicalize.Object:
		members := make(map[string]any, len(v.Members))
		for i := range v.Members {
			members[v.Members[i].Name] = toCEL(v.Members[i].Value)
		}
		return members
	}
	return types.NullValue
}

func numberOf(literal string) any {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(literal, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err == nil && !math.IsInf(f, 0) && sameDecimal(literal, f) {
		return f
	}
	return types.NewErr("the number %.40s has more digits than an expression can hold", literal)
}

// sameDecimal reports whether the shortest decimal of f is the number that literal states. ParseFloat has bounded the exponent of what
// is not zero, so the fractions stay small.
func sameDecimal(literal string, f float64) bool {
	if f == 0 {
		return strings.Trim(mantissa(literal), "-0.") == ""
	}
	if len(literal) > 400 {
		return false
	}
	want, ok := new(big.Rat).SetString(literal)
	got, ok2 := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && ok2 && want.Cmp(got) == 0
}

func mantissa(literal string) string {
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		return literal[:i]
	}
	return literal
}

// headers are header lines by name, whose case does not matter; lines of one name are joined by ", " (RFC 9110, 5.3).
type headers struct{ traits.Mapper }

func headersOf(lines []agentgw.Header) headers {
	byName := make(map[string]any, len(lines))
	for _, h := range lines {
		name := strings.ToLower(h.Name)
		if before, ok := byName[name].(string); ok {
			byName[name] = before + ", " + h.Value
		} else {
			byName[name] = h.Value
		}
	}
	return headers{types.NewStringInterfaceMap(types.DefaultTypeAdapter, byName)}
}

// Find is part of traits.Mapper.
func (h headers) Find(key ref.Val) (ref.Val, bool) { return h.Mapper.Find(lower(key)) }

// Get is part of traits.Mapper.
func (h headers) Get(key ref.Val) ref.Val { return h.Mapper.Get(lower(key)) }

// Contains is part of traits.Mapper.
func (h headers) Contains(key ref.Val) ref.Val { return h.Mapper.Contains(lower(key)) }

func lower(key ref.Val) ref.Val {
	if s, ok := key.(types.String); ok {
		return types.String(strings.ToLower(string(s)))
	}
	return key
}
