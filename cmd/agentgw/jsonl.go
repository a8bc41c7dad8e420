package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"agentgw/canonicalize"
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
	err := eachNumbered(file, func(n int, line []byte) error {
		c, err := readCall(line)
		if err != nil {
			return usagef("%s:%d: %v", file, n, err)
		}
		c.ID = cmp.Or(c.ID, strconv.Itoa(n))
		calls = append(calls, c)
		return nil
	})
	return calls, err
}

// misspelt finds a member whose name is almost that of one that the line lacks. Of those that it need not have, only a slip counts: lines may
// have members of their own.
func misspelt(members map[string]json.RawMessage, noTool, noArgs bool) (name, meant string) {
	var needed []string
	if noTool {
		needed = append(needed, "tool")
	}
	if noArgs {
		needed = append(needed, "args", "arguments")
	}
	for _, name := range names(members) {
		if slices.Contains([]string{"id", "tool", "args", "arguments", "task", "run"}, name) {
			continue
		}
		if meant := canonicalize.Nearest(name, needed); meant != "" {
			return name, meant
		}
		for _, meant := range []string{"task", "run"} {
			if _, there := members[meant]; !there && canonicalize.Edits(name, meant) == 1 {
				return name, meant
			}
		}
	}
	return "", ""
}

// readCall reads one observed call. A member that is missing is not overlooked where another one looks like it.
func readCall(line []byte) (policy.ObservedCall, error) {
	var c struct {
		ID, Tool, Task, Run, Decision string
		Args, Arguments               json.RawMessage
	}
	var members map[string]json.RawMessage
	if err := cmp.Or(json.Unmarshal(line, &members), json.Unmarshal(line, &c)); err != nil {
		return policy.ObservedCall{}, plainJSON(err)
	}
	if c.Args == nil {
		c.Args = c.Arguments
	}
	if c.Decision == "" {
		if name, meant := misspelt(members, c.Tool == "", c.Args == nil); name != "" {
			return policy.ObservedCall{}, fmt.Errorf("%q is no member of a call; did you mean %q?", name, meant)
		}
	}
	const write = `write {"id": "1", "tool": "create_invoice", "args": {…}}`
	switch {
	case c.Tool == "":
		return policy.ObservedCall{}, fmt.Errorf("the call names no tool: %s", write)
	case c.Args == nil && c.Decision == "": // a decision log leaves out arguments that are no JSON
		return policy.ObservedCall{}, fmt.Errorf("the call has no args: %s, {} where there are none", write)
	}
	return policy.ObservedCall{ID: c.ID, Tool: c.Tool, Args: c.Args, Task: c.Task, Run: c.Run}, nil
}

// plainJSON says what is wrong with JSON in the words of its author, who does not know our types.
func plainJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("this is %s; write an object, {…}", jsonKinds[wrong.Value])
	}
	parts := strings.Split(wrong.Field, ".") // of our fields, which are members with a capital
	for i, part := range parts {
		parts[i] = strings.ToLower(part[:min(1, len(part))]) + part[min(1, len(part)):]
	}
	return fmt.Errorf("%q cannot be %s", strings.Join(parts, "."), cmp.Or(jsonKinds[wrong.Value], wrong.Value))
}

var jsonKinds = map[string]string{"string": "text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object"}

// readTools reads tools as tool lists write them: one a line, or a whole list, as APIs take it and GET /v1/tools gives it.
func readTools(file string) ([]policy.ToolFacts, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usage(err)
	}
	if json.Valid(text) {
		tools, err := toolsOf(text)
		if err != nil {
			return nil, usagef("%s: %v", file, err)
		}
		return tools, nil
	}
	var tools []policy.ToolFacts
	err = eachLine(file, func(line []byte) error {
		some, err := toolsOf(line)
		tools = append(tools, some...)
		return err
	})
	return tools, err
}

// toolsOf are the tools of a list, of {"tools": […]}, as MCP answers, or the one tool that the text is.
func toolsOf(text []byte) ([]policy.ToolFacts, error) {
	var answer struct{ Tools []json.RawMessage }
	list := answer.Tools
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, plainJSON(err)
		}
	} else if err := json.Unmarshal(text, &answer); err != nil {
		return nil, plainJSON(err)
	} else if list = answer.Tools; list == nil {
		t, err := readTool(text)
		return []policy.ToolFacts{t}, err
	}
	var tools []policy.ToolFacts
	for i, one := range list {
		t, err := readTool(one)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w", i+1, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
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
		return policy.ToolFacts{}, plainJSON(err)
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
