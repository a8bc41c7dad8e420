package policy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agentgw"
	"agentgw/canonicalize"
)

// ToolFacts is what a tool says of itself, as MCP and OpenAI tool lists do.
type ToolFacts struct {
	Name        string
	Description string
	Schema      []byte   // JSON Schema of the arguments; nil where there is none
	ReadOnly    bool     // MCP's readOnlyHint: believed, since a tool that lies here is no tool to be guarded by a hint
	Idempotent  bool     // MCP's idempotentHint
	Destructive bool     // MCP's destructiveHint, where the tool gives it: a late repeat destroys what has come since
	Route       string   // method and path, for what OpenAPI describes; a Name that equals it is no name
	Partial     bool     // there are arguments that the schema does not name
	NoTask      bool     // its callers name no task, as ordinary MCP clients: the draft's scope is the principal
	Tasks       []string // tasks in which the name means this tool, where it means several; nil: all others
}

// Draft is a policy that has been proposed and that nobody has signed yet.
type Draft struct {
	Operations []DraftOperation
}

// DraftOperation is one proposed operation with its reasons.
type DraftOperation struct {
	Name        string
	Tools       []string
	When        string // CEL
	About       string // what the tool says it does, for the reader
	Why         string // why this pattern
	Pattern     agentgw.Pattern
	SideEffects []string
	Scope       string
	TTL         string
	Route       string // of an HTTP API, below its upstream
	Key         []DraftField
	Match       []DraftField
	MatchAll    bool         // every argument that is not in the key must be equal
	Left        []DraftField // arguments that are no identity, with the reason
}

// DraftField is one argument with the reason for its role and type.
type DraftField struct {
	canonicalize.FieldSpec
	Why     string
	ByModel bool // a model said so, and nobody else
}

// Adviser answers what a schema alone does not say. It is given a tool and the draft of its operation, and returns a role for some of the
// arguments by name. cmd connects it to a language model; its answers are checked and marked.
type Adviser func(ToolFacts, DraftOperation) (map[string]Advice, error)

// Advice is what an adviser thinks of one argument.
type Advice struct {
	Role string // key, must_match, meaning or ignore
	Why  string
}

// Suggest drafts a policy for tools. calls, where there are any, show which arguments vary between calls that are otherwise one; advise
// may be nil. The result is sorted by name. A tool whose schema cannot be used is drafted so that calls with other arguments are a conflict,
// never a duplicate.
func Suggest(tools []ToolFacts, calls []ObservedCall, advise Adviser) (*Draft, error) {
	d := &Draft{}
	byName := map[string][]ToolFacts{}
	for _, t := range tools {
		byName[t.Name] = append(byName[t.Name], t)
	}
	seen := observe(calls)
	taken := map[string]bool{}
	for _, name := range sortedKeys(byName) {
		for _, variant := range variants(byName[name]) {
			op, err := suggestOne(variant, seen.of(variant), advise)
			if err != nil {
				return nil, err
			}
			op.Name = freeName(operationName(name), taken)
			if variant.Tasks != nil {
				op.When = whenTask(variant.Tasks)
			}
			d.Operations = append(d.Operations, op)
		}
	}
	return d, nil
}

// variants are the tools of one name that differ in their schemas. Those with the same one are joined; a single one needs no tasks.
func variants(tools []ToolFacts) []ToolFacts {
	var out []ToolFacts
	for _, t := range tools {
		at := slices.IndexFunc(out, func(o ToolFacts) bool { return string(o.Schema) == string(t.Schema) })
		switch {
		case at < 0:
			out = append(out, t)
		case out[at].Tasks != nil && t.Tasks != nil:
			out[at].Tasks = append(slices.Clip(out[at].Tasks), t.Tasks...)
		default:
			out[at].Tasks = nil
		}
		if at >= 0 {
			out[at].NoTask = out[at].NoTask || t.NoTask
		}
	}
	if len(out) == 1 {
		out[0].Tasks = nil
	}
	return out
}

func whenTask(tasks []string) string {
	quoted := make([]string, len(tasks))
	for i, t := range tasks {
		quoted[i] = celString(t)
	}
	slices.Sort(quoted)
	return "context.task in [" + strings.Join(slices.Compact(quoted), ", ") + "]"
}

// celString writes a CEL string.
func celString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s) + "'"
}

// suggestOne drafts the operation of one tool.
func suggestOne(t ToolFacts, seen []seenCall, advise Adviser) (DraftOperation, error) {
	op := DraftOperation{Tools: []string{t.Name}, About: firstSentence(t.Description), Route: t.Route}
	schema, err := canonicalize.ParseSchema(t.Schema)
	if err != nil || len(t.Schema) == 0 {
		schema = &canonicalize.Schema{Open: true}
	}
	kind := kindOfTool(t, schema)
	op.Pattern, op.Why = kind.pattern(t)
	if op.Pattern == agentgw.Read {
		return op, nil
	}
	op.Scope, op.TTL = agentgw.ScopeTask, "24h"
	op.SideEffects = kind.sideEffects()
	s := suggester{tool: t, kind: kind, schema: schema, seen: seen}
	s.fields(&op)
	if advise != nil {
		if err := s.advised(&op, advise); err != nil {
			return op, err
		}
	}
	op.MatchAll = t.Partial
	if len(op.Key) == 0 {
		why := "the tool takes no arguments that tell its calls apart: once " + t.within()
		if err != nil || len(t.Schema) == 0 || t.Partial {
			why = "no schema names the arguments: name here those that tell its calls apart"
		}
		op.Key, op.MatchAll = []DraftField{{FieldSpec: canonicalize.FieldSpec{Name: "arguments", Type: "auto?"}, Why: why}}, true
	}
	if len(op.Left) > 0 {
		op.TTL = "1h" // with the words left out, only a near repeat is sure to be the same
	}
	if t.NoTask {
		op.Scope, op.TTL = agentgw.ScopePrincipal, formatDuration(autoTTL) // as `unmatched: auto` has it for those who name no task
	}
	return op, nil
}

// within says where a call is done once.
func (t *ToolFacts) within() string {
	if t.NoTask {
		return "for a principal"
	}
	return "in a task"
}

// operationName makes a tool's name an operation's.
func operationName(tool string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, tool)
	if name == "" {
		return "tool"
	}
	return name
}

func freeName(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = name + "." + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if at := strings.Index(s, "Tool description: "); at >= 0 {
		s = s[at+len("Tool description: "):]
	}
	if at := strings.IndexAny(s, ".。"); at > 0 && at < len(s)-1 {
		s = s[:at]
	}
	return cut(s, 100)
}

// cut shortens a text to n runes.
func cut(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}
