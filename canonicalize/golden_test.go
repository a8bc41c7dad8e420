package canonicalize

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agentgw"
)

var update = flag.Bool("update", false, "write the pinned keys and messages in testdata anew")

// TestGolden reads testdata/*.txtar. The files of an archive are
//
//	spec             the policy's fields, a line each; see readSpec
//	agree NAME       calls, a line each, that are all one operation, and none of another part
//	differ           calls, a line each, that are all different operations
//	conflict NAME    calls that are one operation and differ in what must match; the first is the one done before
//	refuse           calls, a line each, that are rejected, each followed by its message
//	canon            calls of differ and agree with the canonical fields they came to
//	pinned           the key of each part: a change here is a breaking change, and bumps Version
//
// A call is its arguments, after words such as tenant=red task=t1 key=k1 principal=p.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { goldenFile(t, file) })
	}
}

func goldenFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(strings.Fields(string(archive.Comment))) < 5 {
		t.Error("the archive does not say in its comment what it shows")
	}
	g := golden{t: t, seen: map[agentgw.EffectID]string{}}
	for i, f := range archive.Files {
		kind, _, _ := strings.Cut(f.Name, " ")
		lines := slices.DeleteFunc(strings.Split(string(f.Data), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
		got := ""
		switch kind {
		case "spec":
			g.spec, g.rule = readSpec(t, lines)
			continue
		case "agree":
			g.agree(f.Name, lines)
			continue
		case "differ":
			for _, line := range lines {
				g.agree(line, []string{line})
			}
			continue
		case "conflict":
			g.conflict(f.Name, lines)
			continue
		case "refuse":
			got = g.refuse(lines)
		case "canon":
			got = g.canon.String()
		case "pinned":
			got = g.pinned.String()
		default:
			t.Fatalf("unknown part %q", f.Name)
		}
		if *update {
			archive.Files[i].Data = []byte(got)
		} else if got != string(f.Data) {
			t.Errorf("%s: %s is now\n%swant\n%s(a changed key is a breaking change; -update writes it)", file, f.Name, got, f.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// golden is the state of one archive's test.
type golden struct {
	t             *testing.T
	spec          Spec
	rule          *agentgw.Rule
	seen          map[agentgw.EffectID]string // which part came to an identity
	pinned, canon strings.Builder
}

func (g *golden) operation(line string) (*agentgw.Operation, error) {
	head, args := line, ""
	if i := strings.IndexAny(line, `{"[`); i >= 0 {
		head, args = line[:i], line[i:]
	}
	call := agentgw.Call{Tenant: "acme"}
	for _, word := range strings.Fields(head) {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "tenant":
			call.Tenant = value
		case "task":
			call.Context.Task = value
		case "key":
			call.IdempotencyKey = value
		case "principal":
			call.Principal = value
		default:
			args = line
		}
	}
	v, forwarded, err := ParseArguments([]byte(args), nil, nil)
	if err != nil {
		return nil, err
	}
	call.Arguments = forwarded
	return g.spec.Operation(g.rule, &call, v)
}

func (g *golden) agree(name string, lines []string) {
	var first *agentgw.Operation
	for _, line := range lines {
		op, err := g.operation(line)
		if err != nil {
			g.t.Errorf("%s: %v", line, err)
			continue
		}
		if first == nil {
			first = op
			if other, ok := g.seen[op.ID]; ok {
				g.t.Errorf("%s has the identity of %s", name, other)
			}
			g.seen[op.ID] = name
			fmt.Fprintf(&g.pinned, "%s %s\n", op.ID, name)
			fmt.Fprintf(&g.canon, "%s\n", fieldsOf(op))
		}
		if op.ID != first.ID || op.Digest != first.Digest {
			g.t.Errorf("%s: differs from the first of %s:\n%s\n%s", line, name, fieldsOf(op), fieldsOf(first))
		}
		if diff := differing(first, op); diff != "" {
			g.t.Errorf("%s: conflicts with the first of %s in %s", line, name, diff)
		}
	}
}

func (g *golden) conflict(name string, lines []string) {
	g.agree(name+", first", lines[:1])
	first, err := g.operation(lines[0])
	if err != nil {
		g.t.Fatal(err)
	}
	for _, line := range lines[1:] {
		op, err := g.operation(line)
		if err != nil {
			g.t.Errorf("%s: %v", line, err)
		} else if op.ID != first.ID || differing(first, op) == "" {
			g.t.Errorf("%s: no conflict", line)
		}
	}
}

// differing names the must_match fields in which two operations differ.
func differing(a, b *agentgw.Operation) string {
	values := map[string][2]string{}
	for i, op := range []*agentgw.Operation{a, b} {
		for _, f := range op.Fields {
			if f.Role == agentgw.RoleMatch {
				v := values[f.Name]
				v[i] = f.Canon
				values[f.Name] = v
			}
		}
	}
	var names []string
	for name, v := range values {
		if v[0] != v[1] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (g *golden) refuse(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		op, err := g.operation(line)
		if err == nil {
			g.t.Errorf("%s: not refused, came to %s", line, fieldsOf(op))
			continue
		}
		if _, ok := err.(*Error); !ok {
			g.t.Errorf("%s: %T is no *Error", line, err)
		}
		fmt.Fprintf(&out, "%s\n\t%v\n", line, err)
	}
	return out.String()
}

func fieldsOf(op *agentgw.Operation) string {
	var parts []string
	for _, f := range op.Fields {
		if f.Canon != "" {
			parts = append(parts, f.Name+" "+f.Canon)
		}
	}
	for i := range op.Elements {
		parts = append(parts, "["+fieldsOf(&op.Elements[i])+"]")
	}
	return strings.Join(parts, ", ")
}

// readSpec reads the lines of a spec: `operation NAME`, `key NAME: TYPE`, `match NAME: TYPE`, `match all`, `entity TYPE NAME: TYPE`,
// `lock NAME: TYPE`, `newer NAME: TYPE`, `each PATH`, `scope WORD`, `idempotency WORD`, `pattern WORD`, and before a field it belongs to
// `arg PATH, PATH`, `default JSON`, `alias WORD = VALUE`.
func readSpec(t *testing.T, lines []string) (Spec, *agentgw.Rule) {
	var spec Spec
	rule := &agentgw.Rule{Name: "op", Pattern: agentgw.Once}
	var next FieldSpec
	field := func(text string) *Field {
		name, expr, _ := strings.Cut(text, ": ")
		next.Name, next.Type = name, expr
		f, err := Compile(next, Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		next = FieldSpec{}
		return f
	}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "operation":
			rule.Name = rest
		case "scope":
			rule.Scope = rest
		case "idempotency":
			rule.IdempotencyKey = rest
		case "pattern":
			rule.Pattern = agentgw.Pattern(rest)
		case "arg":
			next.Arg = strings.Split(rest, ", ")
		case "default":
			v, err := Parse([]byte(rest))
			if err != nil {
				t.Fatal(err)
			}
			next.Default = &v
		case "alias":
			from, to, _ := strings.Cut(rest, " = ")
			if next.Aliases == nil {
				next.Aliases = map[string]string{}
			}
			next.Aliases[from] = to
		case "key":
			spec.Key = append(spec.Key, field(rest))
		case "match":
			if spec.MatchAll = rest == "all"; !spec.MatchAll {
				spec.Match = append(spec.Match, field(rest))
			}
		case "entity":
			kind, f, _ := strings.Cut(rest, " ")
			spec.Entity = kind
			spec.EntityBy = append(spec.EntityBy, field(f))
		case "lock":
			spec.Lock = append(spec.Lock, field(rest))
		case "newer":
			spec.Newer = field(rest)
		case "each":
			p, err := ParsePath(rest)
			if err != nil {
				t.Fatal(err)
			}
			spec.Each = &p
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return spec, rule
}
