package gateway

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/policy"

	"github.com/labstack/echo/v4"
)

// callTool is the tool with which a model says more than a plain call can.
const callTool = "agentgw_call"

// emptyInput is the schema of a tool that declares none.
const emptyInput = `{"type":"object","properties":{}}`

var callToolInput = json.RawMessage(`{
  "type": "object",
  "properties": {
    "tool": {"type": "string", "description": "The name of the tool to call."},
    "arguments": {"type": "object", "description": "Its arguments."},
    "mode": {"type": "string", "enum": ["execute", "check", "redeliver"], "description": "check: say what would be decided, do nothing; it also gives the repeat_token of what was done before. redeliver: do only what is missing."},
    "repeat_token": {"type": "string", "description": "From an earlier answer: do it once more on purpose, or: it is another one."},
    "same_as": {"type": "string", "description": "An effect id from the candidates of an earlier answer: it is that one."}
  },
  "required": ["tool", "arguments"]
}`)

const callToolDescription = "Calls a tool on purpose once more (with the repeat_token of an earlier answer), says which earlier operation is " +
	"meant (same_as), or asks what a call would do (mode check). For everything else call the tool itself."

// formats write one tool in the form in which an API takes a list of them.
var formats = map[string]func(t *Tool, schema json.RawMessage) any{
	"openai-chat": func(t *Tool, schema json.RawMessage) any {
		return openAIChatTool{"function", openAIFunction{t.Name, t.Description, schema}}
	},
	"openai-responses": func(t *Tool, schema json.RawMessage) any {
		return openAIResponsesTool{"function", t.Name, t.Description, schema, false}
	},
	"anthropic": func(t *Tool, schema json.RawMessage) any { return anthropicTool{t.Name, t.Description, schema} },
	"mcp": func(t *Tool, schema json.RawMessage) any {
		return mcpTool{t.Name, t.Description, schema, mcpHints{t.ReadOnly}}
	},
}

type openAIChatTool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openAIResponsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type mcpTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations mcpHints        `json:"annotations"`
}

type mcpHints struct {
	ReadOnly bool `json:"readOnlyHint"`
}

// listTools is GET /v1/tools?format=: what stands there is what the API's `tools` takes, for MCP the result of tools/list.
func (d *doors) listTools(c echo.Context, who *Principal) error {
	format := cmp.Or(c.QueryParam("format"), "openai-chat")
	write, ok := formats[format]
	if !ok {
		return refuse(c, rejected("format: %q is not known; use openai-chat, openai-responses, anthropic or mcp.", format))
	}
	list := []any{}
	d.mcp.find("") // asks the servers that were not asked for a while
	if away := d.mcp.away(); away != "" {
		c.Response().Header().Set("Agentgw-Detail", headerText(away))
	}
	for _, t := range d.offered(who) {
		list = append(list, write(t, schemaOf(t)))
	}
	if format == "mcp" {
		return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, map[string]any{"tools": list})
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, list)
}

// schemaOf is a tool's schema.
func schemaOf(t *Tool) json.RawMessage {
	if len(t.Input) == 0 {
		return json.RawMessage(emptyInput)
	}
	return t.Input
}

// offered are the tools that a principal may use, and callTool where one of them can be repeated or be similar: the configuration's own
// by name, then those of the MCP servers as far as they are known.
func (d *doors) offered(who *Principal) []*Tool {
	var tools []*Tool
	for _, name := range slices.Sorted(maps.Keys(d.tools)) {
		tools = append(tools, d.tools[name])
	}
	tools = append(tools, d.mcp.tools()...)
	tools = slices.DeleteFunc(tools, func(t *Tool) bool { return !d.mayUse(who, t) })
	if slices.ContainsFunc(tools, d.repeats) && d.tools[callTool] == nil {
		tools = append(tools, &Tool{Name: callTool, Description: callToolDescription, Input: callToolInput})
	}
	return tools
}

// mayUse reports whether a principal may do some operation with a tool.
func (d *doors) mayUse(who *Principal, t *Tool) bool {
	guards := guardsOf(d.policy, t.Name)
	return len(guards) == 0 || slices.ContainsFunc(guards, func(o *policy.Operation) bool { return who.allows(o.Name) })
}

// repeats reports whether a tool can be repeated or be similar: by its operations, or as one that is guarded without any.
func (d *doors) repeats(t *Tool) bool {
	guards := guardsOf(d.policy, t.Name)
	return slices.ContainsFunc(guards, asksBack) || len(guards) == 0 && d.unmatched == "auto" && !t.ReadOnly
}

// guardsOf are the operations that guard a tool, by its name or by its own route.
func guardsOf(p *policy.Policy, tool string) []*policy.Operation {
	guards, _ := p.Candidates(&agentgw.Call{Tool: tool}) // only a request's path can be unreadable
	return guards
}

// asksBack reports whether an operation can be repeated by token, or be like an earlier one: then a model needs callTool.
func asksBack(o *policy.Operation) bool {
	if o.Pattern != agentgw.Once && o.Pattern != agentgw.Transition {
		return false
	}
	return o.Repeat == agentgw.RepeatToken || o.Repeat == agentgw.RepeatOffer ||
		slices.ContainsFunc(o.Spec.Key, func(f *canonicalize.Field) bool { return f.Meaning })
}
