package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"

	"agentgw"
	"agentgw/gateway"
	"agentgw/policy"
)

type policySuggestCmd struct {
	Tools   []string `help:"Tools as tool lists write them: one JSON object a line, or a list, as GET /v1/tools gives it in any format." sep:"none" placeholder:"TOOLS.jsonl"`
	OpenAPI []string `name:"openapi" help:"An OpenAPI 3.0 or 3.1 document, JSON or YAML: each operation is a tool." sep:"none" placeholder:"FILE"`
	MCP     []string `name:"mcp" help:"An MCP server, over Streamable HTTP: its tools are listed, none is called." sep:"none" placeholder:"URL"`
	MCPKey  string   `name:"mcp-key" help:"Sent to the MCP servers as Authorization: Bearer; env:NAME reads it from the environment." placeholder:"KEY"`
	Calls   string   `help:"Observed calls, {\"id\", \"tool\", \"args\", \"task\", \"run\"} a line: they show what varies." placeholder:"CALLS.jsonl"`

	Model     string `help:"An OpenAI-compatible model service that is asked what free text is for: http://127.0.0.1:11434/v1." placeholder:"URL"`
	ModelName string `help:"The model's name; with --config, another one than its judge." placeholder:"NAME"`
	APIKey    string `name:"api-key" help:"The service's key; env:NAME reads it from the environment." placeholder:"KEY"`
	Config    string `short:"c" help:"Ask the model of this configuration." placeholder:"FILE"`
}

// Help is shown by `agentgw policy suggest --help`.
func (policySuggestCmd) Help() string {
	return `The draft goes to standard output. Every field has a comment that says why; read it, change it, and keep it under version control.

    agentgw policy suggest --openapi billing.yaml
    agentgw policy suggest --mcp https://desk.example/mcp --mcp-key env:DESK_TOKEN
    agentgw policy suggest --tools tools.jsonl --calls calls.jsonl --model https://api.openai.com/v1 --model-name gpt-4o-mini --api-key env:OPENAI_API_KEY

The tools of a running gateway: curl -s http://127.0.0.1:8080/v1/tools?format=mcp > tools.json, and --tools tools.json

An ordinary MCP client names no task, so the scope of what --mcp drafts is the principal.

A model is sent names and descriptions of tools and arguments, never a call. It decides on free text only, and the draft marks where it did.
Where it does not answer as asked, the draft is the one without it, and standard error says so.`
}

// Run drafts a policy.
func (c *policySuggestCmd) Run(a *app) error {
	if len(c.Tools)+len(c.OpenAPI)+len(c.MCP) == 0 {
		return usagef("say of which tools: --tools TOOLS.jsonl, --openapi FILE or --mcp URL")
	}
	advise, err := c.adviser(a)
	if err != nil {
		return err
	}
	tools, err := c.tools(a)
	if err != nil {
		return err
	}
	var calls []policy.ObservedCall
	if c.Calls != "" {
		if calls, err = readCalls(c.Calls); err != nil {
			return err
		}
	}
	draft, err := policy.Suggest(tools, calls, advise)
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON(map[string]string{"policy": string(draft.YAML())})
	}
	_, err = fmt.Fprintf(a.stdout, "%s", draft.YAML())
	return err
}

// tools are those of all sources.
func (c *policySuggestCmd) tools(a *app) (all []policy.ToolFacts, err error) {
	for _, file := range c.Tools {
		tools, err := readTools(file)
		if err != nil {
			return nil, err
		}
		all = append(all, tools...)
	}
	for _, file := range c.OpenAPI {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usage(err)
		}
		tools, err := policy.OpenAPITools(policy.Source{Name: file, Text: text})
		if err != nil {
			return nil, usage(err)
		}
		all = append(all, tools...)
	}
	for _, at := range c.MCP {
		tools, err := c.ask(a, at)
		if err != nil {
			return nil, err
		}
		all = append(all, tools...)
	}
	return slices.DeleteFunc(all, func(t policy.ToolFacts) bool { return t.Name == gatewaysOwnTool }), nil
}

// gatewaysOwnTool is what a gateway adds to the tools that it lists. It makes the calls of the others, and they are guarded.
const gatewaysOwnTool = "agentgw_call"

// ask asks an MCP server for its tools.
func (c *policySuggestCmd) ask(a *app, at string) ([]policy.ToolFacts, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("--mcp: %q is not the URL of an MCP server; write it as https://desk.example/mcp", at)
	}
	key, err := a.fromEnv(c.MCPKey)
	if err != nil {
		return nil, err
	}
	server := &gateway.Upstream{Name: u.Redacted(), MCP: &gateway.MCPServer{URL: u}}
	if key != "" {
		server.Headers = []agentgw.Header{{Name: "Authorization", Value: "Bearer " + key}}
	}
	definitions, err := gateway.MCPTools(a.ctx, server)
	if err != nil {
		return nil, fmt.Errorf("the tools of %s cannot be listed: %w", server.Name, err)
	}
	tools := make([]policy.ToolFacts, len(definitions))
	for i, definition := range definitions {
		if tools[i], err = readTool(definition); err != nil {
			return nil, fmt.Errorf("tool %d of %s: %w", i+1, server.Name, err)
		}
		tools[i].NoTask = true
	}
	return tools, nil
}
