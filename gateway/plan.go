package gateway

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/policy"
)

// plan is a call that was read: what it asks for, and by which rules it is judged.
type plan struct {
	call *agentgw.Call
	args canonicalize.Value
	def  *policy.Operation  // nil: no operation matches, and it may pass
	op   *agentgw.Operation // nil: nothing to claim
	tool *Tool              // nil where a proxied request belongs to none
	link *mcpLink           // nil at all doors but MCP's
}

// plan reads a call. The decision is a refusal: rejected or denied.
func (g *Gateway) plan(call *agentgw.Call, link *mcpLink) (*plan, *agentgw.Decision) {
	p := &plan{call: call, link: link}
	tool := link.toolOf(call)
	if tool == nil {
		tool = g.tool(call.Tool)
	}
	// What the caller does itself (begin and complete) need not be a tool of ours; that a policy knows it is enough.
	if call.Tool != "" && tool == nil && !(call.Nonce != "" && g.Policy.Guards(call.Tool)) {
		return nil, g.noTool(call)
	}
	if p.tool = tool; tool != nil {
		call.Tool = tool.Name
	}
	var err error
	if p.args, call.Arguments, err = g.read(call); err != nil {
		return nil, rejected("The arguments cannot be read: %v.", err)
	}
	if p.def, err = g.Policy.Match(call, p.args); err != nil {
		return nil, rejected("%v.", err)
	}
	if why := g.strays(call, tool, p.args); why != nil {
		return nil, why
	}
	args := p.args
	if p.def == nil {
		switch {
		case tool == nil && call.Request == nil:
			return nil, &agentgw.Decision{Verdict: agentgw.Denied, Detail: noGuard}
		case g.Unmatched == "pass" || g.Unmatched != "deny" && reads(call, tool):
			return p, nil
		case g.Unmatched != "auto":
			return nil, &agentgw.Decision{Verdict: agentgw.Denied, Detail: noGuard}
		}
		p.def = g.autos.guard(call, tool, g.Defaults)
		if tool == nil {
			args = withRoute(args, call.Request)
		}
	}
	if g.Allowed != nil && !g.Allowed(call.Principal, p.def.Name) {
		return nil, &agentgw.Decision{Verdict: agentgw.Denied, Operation: p.def.Name}
	}
	if tool != nil && call.Request == nil {
		if err := tool.Fits(p.args); err != nil {
			return nil, rejected("%v.", err)
		}
	}
	if p.def.Reads() {
		return p, nil
	}
	if no := g.MCP.vague(tool); no != nil {
		return nil, no
	}
	op, err := p.def.Spec.Operation(&p.def.Rule, call, args)
	switch {
	case err != nil && errors.Is(err, canonicalize.ErrMissing) && p.def.Missing == agentgw.MissingPass:
		return p, nil
	case err != nil:
		d := rejected("%v.", err)
		d.Operation = p.def.Name
		return nil, d
	case p.def.Pattern == agentgw.Overwrite && p.def.Spec.Newer == nil && op.Lock == "":
		return p, nil
	}
	p.op = op
	return p, nil
}

// noTool refuses a call of what is no tool, and says what to do instead.
func (g *Gateway) noTool(call *agentgw.Call) *agentgw.Decision {
	own := g.Policy.Guards(call.Tool) && (g.MCP == nil || len(g.MCP.servers) == 0) // else it may be a tool that a server has no more
	if own && call.Nonce == "" {
		return rejected("%q is an action that its caller does itself, and cannot be sent: begin it with POST /v1/effects.", call.Tool)
	}
	var known []string
	for _, t := range slices.Concat(slices.Collect(maps.Values(g.Tools)), g.MCP.tools()) {
		guards := guardsOf(g.Policy, t.Name)
		if g.Allowed == nil || len(guards) == 0 || slices.ContainsFunc(guards, func(o *policy.Operation) bool { return g.Allowed(call.Principal, o.Name) }) {
			known = append(known, t.Name)
		}
	}
	slices.Sort(known)
	text := noTool(strconv.Quote(call.Tool), known, g.MCP)
	if call.Nonce == "" {
		return rejected("%s GET /v1/tools lists them.", text)
	}
	return rejected("%s An action that you do yourself has to be declared: ask an operator for `%s: {upstream: none}` under tools, and an operation for it.", text, call.Tool)
}

// strays refuses a tool's call whose arguments lead it to a route that an operation guards which does not guard the tool: POST
// /orders/{order} with the order "17:cancel" is POST /orders/{id}:cancel.
func (g *Gateway) strays(call *agentgw.Call, tool *Tool, args canonicalize.Value) *agentgw.Decision {
	if tool == nil || call.Request != nil || !strings.Contains(tool.Path, "{") {
		return nil
	}
	made, err := tool.request(args)
	if err != nil {
		return nil // it is judged, and refused, for that
	}
	routed, _, err := g.Policy.MatchRoute(tool.method(), tool.Upstream, made.path)
	if err != nil {
		return rejected("%v.", err)
	}
	own, _ := g.Policy.Candidates(call) // by its name: there is no request that could be in error
	for _, o := range routed {
		if !slices.Contains(own, o) {
			return rejected("With these arguments %s would be what %s guards (%s). Send it as that.", call.Tool, o.Name, made.path)
		}
	}
	return nil
}

// read parses the arguments. A proxied request without any has none.
func (g *Gateway) read(call *agentgw.Call) (canonicalize.Value, []byte, error) {
	if call.Request != nil && len(call.Arguments) == 0 {
		return canonicalize.Value{Kind: canonicalize.Object}, nil, nil
	}
	repair, decode := g.Policy.Reading(call)
	return canonicalize.ParseArguments(call.Arguments, repair, decode)
}

const noGuard = "No policy guards this call, and it may have side effects. Nothing was sent; ask an operator to add an operation for it."

// reads reports whether an unmatched call is known to have no side effect.
func reads(call *agentgw.Call, tool *Tool) bool {
	if tool != nil {
		return tool.ReadOnly
	}
	return safeMethod(call.Request.Method)
}

func safeMethod(m string) bool { return m == "GET" || m == "HEAD" || m == "OPTIONS" }

// tool finds a tool by name: the configuration's own, or one of an MCP server. nil where there is none.
func (g *Gateway) tool(name string) *Tool {
	if t := g.Tools[name]; t != nil || name == "" {
		return t
	}
	return g.MCP.find(name)
}
