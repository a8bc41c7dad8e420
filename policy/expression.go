package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"go.yaml.in/yaml/v4"
)

// Bounds of an expression: a policy is trusted, its author's afternoon is not.
const (
	maxExpression = 4096   // characters
	maxCost       = 100000 // CEL's units; a loop over a thousand elements takes about ten thousand
)

// expression is one compiled CEL expression of a policy.
type expression struct {
	member  string // "when"
	place   string // "billing.yaml:12:11"
	text    string
	program cel.Program
	ast     *cel.Ast
}

// members of the variables that have fixed ones; CEL itself would notice a slip in them only when a call comes.
var celMembers = map[string][]string{
	"context": {"agent", "run", "task", "call_id"},
	"request": {"method", "path", "headers"},
	"result":  {"status", "headers", "body"},
}

var celEnv = sync.OnceValues(func() (*cel.Env, error) {
	object := cel.MapType(cel.StringType, cel.DynType)
	return cel.NewEnv(
		cel.Variable("args", object),
		cel.Variable("fields", object),
		cel.Variable("context", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("principal", cel.StringType),
		cel.Variable("request", object),
		cel.Variable("result", object),
		cel.Variable("item", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.ExtendedValidations(),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.RegexProgramSizeLimit(1000),
	)
})

// sight is what an expression may refer to.
type sight struct {
	result bool
	fields []string // names of the operation's fields; nil: not to be checked
}

// expression compiles the CEL text of a scalar; want is nil where any type will do. What is wrong with it becomes faults at their places
// in the file.
func (r *reader) expression(n *yaml.Node, member string, want *cel.Type, sees sight) *expression {
	if n.Style&yaml.TaggedStyle != 0 {
		return nil // it has been refused
	}
	if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!bool" || n.ShortTag() == "!!int" || n.ShortTag() == "!!float") && want == nil {
		// arguments: {page: 1} is a CEL literal as it stands
	} else if n.Kind != yaml.ScalarNode || strings.TrimSpace(n.Value) == "" || n.ShortTag() == "!!null" {
		r.fault(n, `write it as "args.draft != true"`, "%s must be a CEL expression, not %s", member, kindOf(n))
		return nil
	}
	env, err := celEnv()
	if err != nil {
		r.fault(n, "", "%s: %v", member, err)
		return nil
	}
	compiled, issues := env.Compile(n.Value)
	if issues != nil && issues.Err() != nil {
		for i, e := range issues.Errors() {
			if i > 0 && strings.HasPrefix(e.Message, "Syntax error") {
				break // what follows a syntax error comes from it
			}
			line, col := r.locate(n, e.Location.Line(), e.Location.Column())
			r.faultAt(line, col, celRemedy(e.Message), "%s: %s", member, e.Message)
		}
		return nil
	}
	if out := compiled.OutputType(); want != nil && !out.IsExactType(want) && !out.IsExactType(cel.DynType) {
		r.fault(n, "compare it with something", "%s gives %s, it must give %s", member, out, want)
		return nil
	}
	loops, ok := r.inspect(n, member, compiled, sees)
	if !ok {
		return nil
	}
	program, err := newProgram(env, compiled, loops)
	if err != nil {
		r.fault(n, "", "%s: %v", member, err)
		return nil
	}
	return &expression{member, r.mark(n).String(), n.Value, program, compiled}
}

// newProgram bounds what loops may cost; without one, an expression costs what its text costs, and counting would triple that.
func newProgram(env *cel.Env, compiled *cel.Ast, loops bool) (cel.Program, error) {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if loops {
		options = append(options, cel.CostLimit(maxCost))
	}
	return env.Program(compiled, options...)
}

func celRemedy(message string) string {
	if strings.Contains(message, "recognition error at: '= '") {
		return "equality is written =="
	}
	if strings.Contains(message, "recognition error") && strings.ContainsFunc(message, func(c rune) bool { return c > unicode.MaxASCII }) {
		return "a name that is not ASCII is written args['支払い']"
	}
	if strings.HasPrefix(message, "undeclared reference") && !strings.Contains(message, "did you mean") {
		return "expressions see args, fields, context, principal and request, and result where an answer is judged"
	}
	return ""
}

// inspect refuses members that a variable never has, and variables that have no value here. It also says whether the expression loops.
func (r *reader) inspect(n *yaml.Node, member string, compiled *cel.Ast, sees sight) (loops, ok bool) {
	native, ok := compiled.NativeRep(), true
	places := native.SourceInfo()
	say := func(e ast.Expr, remedy, format string, args ...any) {
		at := places.GetStartLocation(e.ID())
		line, col := r.locate(n, at.Line(), at.Column())
		r.faultAt(line, col, remedy, member+": "+format, args...)
		ok = false
	}
	ast.PreOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			loops = true
		case ast.IdentKind:
			switch name := e.AsIdent(); {
			case name == "result" && !sees.result:
				say(e, "use it in outcomes", "result is not known yet")
			case name == "item":
				say(e, "it stands for an element of each, in the arg of key and must_match", "item has no value here")
			}
		case ast.SelectKind, ast.CallKind:
			variable, name := selected(e)
			known := celMembers[variable]
			if variable == "fields" {
				known = sees.fields
			}
			if known != nil && !slices.Contains(known, name) {
				say(e, DidYouMean(name, known), "%s has no member %q", variable, name)
			}
		}
	}))
	return loops, ok
}

// selected names the variable and member of `context.task`, has(context.task) and context['task']; both "" for anything else.
func selected(e ast.Expr) (variable, member string) {
	if e.Kind() == ast.SelectKind {
		if s := e.AsSelect(); s.Operand().Kind() == ast.IdentKind {
			return s.Operand().AsIdent(), s.FieldName()
		}
		return "", ""
	}
	call := e.AsCall()
	if call.FunctionName() != "_[_]" || call.Args()[0].Kind() != ast.IdentKind || call.Args()[1].Kind() != ast.LiteralKind {
		return "", ""
	}
	name, ok := call.Args()[1].AsLiteral().(types.String)
	if !ok {
		return "", ""
	}
	return call.Args()[0].AsIdent(), string(name)
}

// value is what the expression gives for what it sees.
func (x *expression) value(sees *evaluation) (ref.Val, error) {
	out, _, err := x.program.Eval(sees)
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", x.member, x.place, err)
	}
	return out, nil
}

// holds is the truth of a condition.
func (x *expression) holds(sees *evaluation) (bool, error) {
	out, err := x.value(sees)
	if err != nil {
		return false, err
	}
	truth, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s (%s) gives %s, not true or false", x.member, x.place, out.Type().TypeName())
	}
	return bool(truth), nil
}

// partial is the value of the expression where only some of what it sees is known.
func (x *expression) partial(sees cel.PartialActivation) (ref.Val, error) {
	env, err := celEnv()
	if err != nil {
		return nil, err
	}
	program, err := env.Program(x.ast, cel.EvalOptions(cel.OptPartialEval))
	if err != nil {
		return nil, err
	}
	out, _, err := program.Eval(sees)
	return out, err
}

// asJSON writes a value of CEL as JSON. Numbers keep every digit they have.
func asJSON(v ref.Val) ([]byte, error) {
	switch v := v.(type) {
	case types.Null:
		return []byte("null"), nil
	case types.Bool, types.Int, types.Uint, types.Double, types.String:
		return json.Marshal(v.Value())
	case traits.Lister:
		var items []json.RawMessage
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := asJSON(it.Next())
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return json.Marshal(items)
	case traits.Mapper:
		members := map[string]json.RawMessage{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			name, ok := key.(types.String)
			if !ok {
				return nil, fmt.Errorf("a member named by a %s cannot be JSON", key.Type().TypeName())
			}
			member, err := asJSON(v.Get(key))
			if err != nil {
				return nil, err
			}
			members[string(name)] = member
		}
		return json.Marshal(members)
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("a %s cannot be JSON", v.Type().TypeName())
}
