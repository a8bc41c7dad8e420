package policy

import (
	"fmt"
	"slices"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
)

// YAML writes the draft as a policy file, with a comment for every operation and field that says why it is there.
func (d *Draft) YAML() []byte {
	var b strings.Builder
	b.WriteString("# A draft: read it, change it, and sign it by taking this line away.\n")
	if d.scoped(agentgw.ScopeTask) || !d.scoped(agentgw.ScopePrincipal) {
		b.WriteString("# Scope is the task of the agent's call: in another task the same call is another effect. Arguments that are not named here do not count.\n")
	}
	if d.scoped(agentgw.ScopePrincipal) {
		b.WriteString(noTaskHead)
	}
	b.WriteString("version: 1\noperations:\n")
	for _, op := range d.Operations {
		op.write(&b)
	}
	return []byte(b.String())
}

const noTaskHead = `# Scope is the principal for the tools of MCP servers, for an ordinary client names no task: the same call of one principal is one effect while
# ttl lasts. Write a longer ttl where the key names a thing that must be done once, an invoice of a month. Where all clients send Agentgw-Task,
# scope: task with ttl: 24h is better.
`

// scoped reports whether an operation has the scope.
func (d *Draft) scoped(scope string) bool {
	return slices.ContainsFunc(d.Operations, func(op DraftOperation) bool { return op.Scope == scope })
}

func (op *DraftOperation) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n  %s:", quoteKey(op.Name))
	comment(b, op.About)
	fmt.Fprintf(b, "    tools: [%s]\n", quote(op.Tools[0]))
	if op.Route != "" {
		method, path, _ := strings.Cut(op.Route, " ")
		fmt.Fprintf(b, "    # at the proxy door: http: [%s], UPSTREAM being its name in the configuration\n", quote(oneLine(method+" /UPSTREAM"+path)))
	}
	if op.When != "" {
		fmt.Fprintf(b, "    when: %s\n", quote(op.When))
	}
	fmt.Fprintf(b, "    pattern: %s", op.Pattern)
	comment(b, op.Why)
	if op.Pattern == agentgw.Read {
		return
	}
	if len(op.SideEffects) > 0 {
		fmt.Fprintf(b, "    side_effects: [%s]\n", strings.Join(op.SideEffects, ", "))
	}
	fmt.Fprintf(b, "    scope: %s\n    ttl: %s\n    key:\n", op.Scope, op.TTL)
	for _, f := range op.Key {
		f.write(b)
	}
	switch {
	case op.Pattern != agentgw.Once:
	case op.MatchAll:
		b.WriteString("    must_match: all  # arguments that no schema names: other ones are a conflict, not a duplicate\n")
	case len(op.Match) > 0:
		b.WriteString("    must_match:\n")
		for _, f := range op.Match {
			f.write(b)
		}
	}
	for _, f := range op.Left {
		fmt.Fprintf(b, "    # %s is not in the key: %s. To tell two of them in one task apart, add it to key as auto(meaning)?.\n", oneLine(f.Name), oneLine(f.reason()))
	}
}

func (f *DraftField) write(b *strings.Builder) {
	name := quoteKey(f.Name)
	switch {
	case f.Arg == nil && f.Default == nil:
		fmt.Fprintf(b, "      %s: %s", name, f.Type)
	default:
		fmt.Fprintf(b, "      %s: {type: %s", name, quote(f.Type))
		if f.Arg != nil {
			fmt.Fprintf(b, ", arg: %s", quote(f.Arg[0]))
		}
		if f.Default != nil {
			fmt.Fprintf(b, ", default: %s", flow(*f.Default))
		}
		b.WriteString("}")
	}
	comment(b, f.reason())
}

// reason is why a field is where it is, and who said so.
func (f *DraftField) reason() string {
	if f.ByModel {
		return cut(oneLine(f.Why), 130) + " (the model decided)"
	}
	return f.Why
}

func comment(b *strings.Builder, s string) {
	if s = oneLine(s); s != "" {
		b.WriteString("  # " + s)
	}
	b.WriteString("\n")
}

// oneLine keeps foreign text inside its comment: every space and control character is a space.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return ' '
		}
		return r
	}, s)
	return cut(strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?"), 160)
}

// flow writes a default as YAML flow, which JSON is.
func flow(v canonicalize.Value) string { return string(v.AppendJSON(nil)) }

// quote writes a text as a double-quoted YAML scalar, which a JSON string is.
func quote(s string) string {
	return string(canonicalize.Value{Kind: canonicalize.String, Text: s}.AppendJSON(nil))
}

// quoteKey leaves plain names as they are.
func quoteKey(s string) string {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '.') {
			return quote(s)
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", ".", ".nan", ".inf":
		return quote(s)
	}
	return s
}
