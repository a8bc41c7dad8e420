package policy_test

import (
	"strings"
	"testing"

	"agentgw"
	"agentgw/canonicalize"
)

func parse(t testing.TB, text string) canonicalize.Value {
	t.Helper()
	v, err := canonicalize.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMatchWhen(t *testing.T) {
	p := mustLoad(t, `
hall.light: {tools: [light_hall], key: {hall: id}, when: "args.rehearsal != true"}
hall.rehearse: {tools: [light_hall], when: "args.rehearsal == true", pattern: unguarded}
pay.large: {tools: [pay], key: {to: id}, when: "args.amount > 100"}
pay.rest: {tools: [pay], key: {to: id}}
two.a: {tools: [two], key: {x: id}, when: args.x > 1}
two.b: {tools: [two], key: {x: id}, when: args.x > 2}
typed: {tools: [typed], key: {x: id, kind: {type: enum, default: std}, due: "date?"}, when: "fields.kind == 'std' && !has(fields.due)"}
told: {tools: [told], key: {x: id}, when: "has(context.task) && principal == 'bot' && context.agent.startsWith('a')"}
routed: {tools: [routed], http: ["ANY /u/r"], key: {x: id}, when: "request.method == 'PUT' && request.headers['x-kind'] == 'a, b' && request.headers['X-Kind'] == 'a, b'"}
loop: {tools: [loop], key: {x: id}, when: "args.items.all(i, i > 0)"}
whole: {tools: [whole], key: {x: id}, when: "args == {'x': 1} || args.exists(k, k == 'y') && size(args) == 2 && args['y'] in [2.0] && 'y' in args"}
dyn: {tools: [dyn], key: {x: id}, when: args.flag}
never: {tools: [never], key: {x: id}, when: "!has(args.draft) || args.draft != true"}
`)
	for _, c := range []struct{ tool, args, want, err string }{
		{tool: "light_hall", args: `{"hall":"h","rehearsal":true}`, want: "hall.rehearse"},
		{tool: "light_hall", args: `{"hall":"h","rehearsal":false}`, want: "hall.light"},
		{tool: "light_hall", args: `{"hall":"h"}`, err: "no such key: rehearsal"},
		{tool: "pay", args: `{"amount":150.5}`, want: "pay.large"},
		{tool: "pay", args: `{"amount":100}`, want: "pay.rest"},
		{tool: "pay", args: `{"amount":18446744073709551615}`, want: "pay.large"},
		{tool: "pay", args: `{"amount":"150"}`, err: "no such overload"},
		{tool: "pay", args: `{"amount":184467440737095516160001}`, err: "more digits than an expression can hold"},
		{tool: "pay", args: `{"amount":9007199254740993.5}`, err: "more digits"},
		{tool: "pay", args: `{"amount":1e400}`, err: "more digits"},
		{tool: "pay", args: `{"amount":100.00}`, want: "pay.rest"},
		{tool: "pay", args: `{"amount":-0.0}`, want: "pay.rest"},
		{tool: "two", args: `{"x":3}`, err: "two.a and two.b"},
		{tool: "two", args: `{"x":2}`, want: "two.a"},
		{tool: "two", args: `{"x":1}`},
		{tool: "typed", args: `{"x":1,"kind":"STD"}`, want: "typed"},
		{tool: "typed", args: `{"x":1,"kind":"other"}`},
		{tool: "typed", args: `{"x":1,"due":"2026-01-01"}`},
		{tool: "typed", args: `{"x":1,"kind":{}}`, err: "kind"},
		{tool: "told", args: `{"x":1}`, want: "told"},
		{tool: "routed", args: `{}`, want: "routed"},
		{tool: "loop", args: `{"items":[1,2]}`, want: "loop"},
		{tool: "loop", args: `{"items":"12"}`, err: "loop"},
		{tool: "whole", args: `{"x":1}`, want: "whole"},
		{tool: "whole", args: `{"y":2,"x":1}`, want: "whole"},
		{tool: "whole", args: `{"y":3,"x":1}`},
		{tool: "whole", args: `{"z":2,"x":1}`},
		{tool: "dyn", args: `{"flag":"yes"}`, err: "not true or false"},
		{tool: "dyn", args: `{"flag":true}`, want: "dyn"},
		{tool: "never", args: `{"draft":null}`, want: "never"},
		{tool: "never", args: `{"draft":true}`},
		{tool: "unknown", args: `{}`},
	} {
		call := &agentgw.Call{Tool: c.tool, Principal: "bot", Context: agentgw.Context{Task: "t", Agent: "a1"}}
		if c.tool == "routed" {
			call.Request = &agentgw.Request{Upstream: "u", Method: "PUT", Path: "/r", Header: []agentgw.Header{{Name: "X-Kind", Value: "a"}, {Name: "x-kind", Value: "b"}}}
		}
		o, err := p.Match(call, parse(t, c.args))
		switch {
		case c.err != "":
			e, ok := err.(*canonicalize.Error)
			if !ok || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s %s: got %v, want an error with %q", c.tool, c.args, err, c.err)
			} else if e.Remedy == "" {
				t.Errorf("%s %s: no remedy in %v", c.tool, c.args, err)
			}
		case err != nil:
			t.Errorf("%s %s: %v", c.tool, c.args, err)
		case (o == nil) != (c.want == "") || o != nil && o.Name != c.want:
			t.Errorf("%s %s: got %v, want %s", c.tool, c.args, o, c.want)
		}
	}
}

// An expression cannot hold up the gateway, however long the lists of a call are.
func TestMatchBounds(t *testing.T) {
	p := mustLoad(t, `slow: {tools: [slow], key: {x: id}, when: "args.l.all(a, args.l.all(b, args.l.all(c, a + b + c > 0)))"}`)
	args := `{"l":[` + strings.Repeat("1,", 300) + `1]}`
	if _, err := p.Match(&agentgw.Call{Tool: "slow"}, parse(t, args)); err == nil || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkMatch(b *testing.B) {
	p := mustLoad(b, "plain: {tools: [plain], key: {x: id}}\nwhen: {tools: [when], key: {x: id}, when: \"!has(args.draft) || args.draft != true\"}\nroute: {http: [\"POST /u/customers/{id}/invoices\"], key: {id: id}}")
	args := parse(b, `{"x":1,"a":"text","b":[1,2,3],"c":{"d":1.5},"e":"text","draft":false,"g":"2026-01-01","h":"12.50","i":true,"j":null}`)
	for name, c := range map[string]*agentgw.Call{
		"tool": {Tool: "plain"}, "when": {Tool: "when"}, "route": call("POST", "/customers/7/invoices"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if o, err := p.Match(c, args); o == nil || err != nil {
					b.Fatal(o, err)
				}
			}
		})
	}
}
