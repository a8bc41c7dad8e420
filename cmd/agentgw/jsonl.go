package main

import (
	"encoding/json"
	"fmt"

	"agentgw/policy"
)

// eachLine reads a file of JSON lines; blank ones are passed over. An error names the line.
func eachLine(file string, read func(line []byte) error) error {
	return eachNumbered(file, func(n int, line []byte) error {
		if err := read(line); err != nil {
			return usagef("%s:%d: %v", file, n, err)
		}
		return nil
	})
}

// readCalls reads observed calls: {"id", "tool", "args", "task", "run"} a line. Other members are passed over: decision logs have them.
func readCalls(file string) ([]policy.ObservedCall, error) {
	var calls []policy.ObservedCall
	err := eachLine(file, func(line []byte) error {
		var c struct {
			ID, Tool, Task, Run string
			Args, Arguments     json.RawMessage
		}
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		if c.Args == nil {
			c.Args = c.Arguments
		}
		if c.Tool == "" {
			return fmt.Errorf(`the call names no tool: write {"id": "1", "tool": "create_invoice", "args": {…}}`)
		}
		calls = append(calls, policy.ObservedCall{ID: c.ID, Tool: c.Tool, Args: c.Args, Task: c.Task, Run: c.Run})
		return nil
	})
	return calls, err
}

// readTools reads tools as tool lists write them, one a line.
func readTools(file string) ([]policy.ToolFacts, error) {
	var tools []policy.ToolFacts
	err := eachLine(file, func(line []byte) error {
		t, err := readTool(line)
		tools = append(tools, t)
		return err
	})
	return tools, err
}

// readTool reads a tool as tool lists write it: {"name", "description", "parameters"} as OpenAI has it, also inside "function";
// "input_schema" as Anthropic; "inputSchema" and "annotations" as MCP. "tasks" says in which tasks the name means this tool.
func readTool(text []byte) (policy.ToolFacts, error) {
	var t struct {
		Name, Description       string
		Parameters, InputSchema json.RawMessage
		AnthropicSchema         json.RawMessage `json:"input_schema"`
		Annotations             struct{ ReadOnlyHint, IdempotentHint, DestructiveHint bool }
		Tasks                   []string
		Function                *struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return policy.ToolFacts{}, err
	}
	if f := t.Function; f != nil {
		t.Name, t.Description, t.Parameters = f.Name, f.Description, f.Parameters
	}
	if t.Name == "" {
		return policy.ToolFacts{}, fmt.Errorf(`the tool has no name: write {"name": "create_invoice", "description": "…", "parameters": {…}}`)
	}
	schema := t.Parameters
	for _, other := range []json.RawMessage{t.InputSchema, t.AnthropicSchema} {
		if schema == nil {
			schema = other
		}
	}
	return policy.ToolFacts{Name: t.Name, Description: t.Description, Schema: schema, ReadOnly: t.Annotations.ReadOnlyHint,
		Idempotent: t.Annotations.IdempotentHint, Destructive: t.Annotations.DestructiveHint, Tasks: t.Tasks}, nil
}
