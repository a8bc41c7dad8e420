package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentgw"
	"agentgw/canonicalize"

	"github.com/labstack/echo/v4"
)

// modelCall is one tool call as a model wrote it.
type modelCall struct {
	id, tool  string
	arguments []byte
}

// reply is what the model gets back for one call.
type reply func(id, content string, isError bool) any

func chatReply(id, content string, _ bool) any {
	return struct {
		Role       string `json:"role"`
		ToolCallID string `json:"tool_call_id"`
		Content    string `json:"content"`
	}{"tool", id, content}
}

func responsesReply(id, content string, _ bool) any {
	return struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}{"function_call_output", id, content}
}

func anthropicReply(id, content string, isError bool) any {
	return struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   string `json:"content"`
		IsError   bool   `json:"is_error,omitempty"`
	}{"tool_result", id, content, isError}
}

// openAI is POST /v1/openai/tool_calls: an assistant message of chat completions, or items of the Responses API.
func (d *doors) openAI(c echo.Context, who *Principal) error {
	return d.toolCalls(c, who, openAICalls)
}

// anthropic is POST /v1/anthropic/tool_uses: an assistant message, or its content blocks.
func (d *doors) anthropic(c echo.Context, who *Principal) error {
	return d.toolCalls(c, who, anthropicCalls)
}

// toolCalls runs the calls of a message one after the other, in its order, and answers with as many results.
func (d *doors) toolCalls(c echo.Context, who *Principal, read func(canonicalize.Value) ([]modelCall, reply, error)) error {
	b, refusal := body(c, d.maxBody)
	if refusal != nil {
		return refuse(c, refusal)
	}
	v, err := canonicalize.Parse(b)
	if err != nil {
		return refuse(c, rejected("%v.", err))
	}
	about, err := contextOf(v)
	if err != nil {
		return refuse(c, rejected("%v.", err))
	}
	calls, write, err := read(v)
	if err != nil {
		return refuse(c, rejected("%v.", err))
	}
	results := make([]any, 0, len(calls))
	for _, m := range calls {
		content, isError := d.run(c, who, m, about)
		results = append(results, write(m.id, content, isError))
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, results)
}

// run carries one call and says in text how it went.
func (d *doors) run(c echo.Context, who *Principal, m modelCall, about agentgw.Context) (content string, isError bool) {
	call := &agentgw.Call{Tool: m.tool, Arguments: m.arguments, Mode: agentgw.Execute}
	if m.tool == callTool && d.tools[callTool] == nil {
		var err error
		if call, err = nativeCall(m.arguments); err != nil {
			return modelText(Response{Decision: rejected("%v.", err)})
		}
	}
	call.Tenant, call.Principal = who.Tenant, who.Name
	if call.Context == (agentgw.Context{}) {
		call.Context = about
	}
	if call.Context.CallID == "" {
		call.Context.CallID = m.id
	}
	return modelText(d.Do(c.Request().Context(), call))
}

// nativeCall reads the arguments of callTool: the native body.
func nativeCall(arguments []byte) (*agentgw.Call, error) {
	v, _, err := canonicalize.ParseArguments(arguments, nil, nil)
	if err != nil {
		return nil, err
	}
	return callOf(v)
}

// modelText is the text of a result. An answer that has just come is shown as it is. Everything else, a replay too, is the decision
// as JSON, for a model must know that nothing was done now, and why.
func modelText(res Response) (content string, isError bool) {
	if text, ok := plainAnswer(&res); ok {
		return text, false
	}
	v := newView(res)
	v.Detail = detail(res.Decision)
	if v.Result != nil {
		v.Result.Headers = nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error(), true
	}
	return strings.TrimSuffix(b.String(), "\n"), status(res.Decision) >= http.StatusBadRequest
}

// plainAnswer is the text of a success.
func plainAnswer(res *Response) (string, bool) {
	if !res.Verdict.Sent() || res.Outcome != agentgw.Succeeded || res.Answer == nil || len(res.Answer.Body) == 0 || res.Rest != nil {
		return "", false
	}
	return string(res.Answer.Body), utf8.Valid(res.Answer.Body)
}

// openAICalls reads a chat message ({"tool_calls"}, or {"message", "context"}) or Responses items (a list, {"output", "context"}, one).
func openAICalls(v canonicalize.Value) ([]modelCall, reply, error) {
	if v.Kind == canonicalize.List {
		calls, err := responsesCalls(v, "")
		return calls, responsesReply, err
	}
	if items, ok := v.Member("output"); ok {
		calls, err := responsesCalls(items, "/output")
		return calls, responsesReply, err
	}
	if kind, _ := v.Member("type"); kind.Text == "function_call" {
		calls, err := responsesCalls(canonicalize.Value{Kind: canonicalize.List, Items: []canonicalize.Value{v}}, "")
		return calls, responsesReply, err
	}
	message, place, err := messageOf(v)
	if err != nil {
		return nil, nil, err
	}
	calls, err := chatCalls(message, place)
	return calls, chatReply, err
}

// messageOf finds the assistant message, with or without a context beside it.
func messageOf(v canonicalize.Value) (message canonicalize.Value, place string, err error) {
	message = v
	if m, ok := v.Member("message"); ok {
		if err := onlyMembers(v, "", "message", "context"); err != nil {
			return m, "", err
		}
		message, place = m, "/message"
	}
	if message.Kind != canonicalize.Object {
		return message, place, unreadable(place, "is "+message.Kind.String(), "send the assistant's message")
	}
	if role, ok := message.Member("role"); ok && role.Text != "assistant" {
		return message, place, unreadable(place+"/role", "is "+role.Raw(), "send the assistant's message, not another one")
	}
	return message, place, nil
}

func chatCalls(message canonicalize.Value, place string) ([]modelCall, error) {
	list, ok := message.Member("tool_calls")
	if !ok {
		if _, ok := message.Member("role"); !ok {
			return nil, unreadable(place, "has no tool_calls", "send an assistant message, or Responses items")
		}
	}
	return eachCall(list, place+"/tool_calls", func(item canonicalize.Value, place string) (*modelCall, error) {
		if kind, ok := item.Member("type"); ok && kind.Text != "function" {
			return nil, unreadable(place+"/type", "is "+kind.Raw(), "only function calls can be run here")
		}
		fn, _ := item.Member("function")
		m := modelCall{}
		if err := texts(item, place, map[string]*string{"id": &m.id}); err != nil {
			return nil, err
		}
		return &m, m.function(fn, place+"/function")
	})
}

func responsesCalls(items canonicalize.Value, place string) ([]modelCall, error) {
	return eachCall(items, place, func(item canonicalize.Value, place string) (*modelCall, error) {
		if kind, _ := item.Member("type"); kind.Text != "function_call" {
			return nil, nil // reasoning, text, and what else a response holds
		}
		m := modelCall{}
		if err := texts(item, place, map[string]*string{"call_id": &m.id}); err != nil {
			return nil, err
		}
		return &m, m.function(item, place)
	})
}

// function reads a name, and arguments that are JSON in a string.
func (m *modelCall) function(v canonicalize.Value, place string) error {
	text := ""
	err := texts(v, place, map[string]*string{"name": &m.tool, "arguments": &text})
	if err == nil && (m.id == "" || m.tool == "") {
		err = unreadable(place, "has no id or no name", "send the call as the model wrote it")
	}
	if m.arguments = []byte(text); strings.TrimSpace(text) == "" {
		m.arguments = []byte("{}") // tools without parameters
	}
	return err
}

func anthropicCalls(v canonicalize.Value) ([]modelCall, reply, error) {
	blocks, place := v, ""
	if v.Kind != canonicalize.List {
		message, at, err := messageOf(v)
		if err != nil {
			return nil, nil, err
		}
		content, ok := message.Member("content")
		if !ok {
			return nil, nil, unreadable(at, "has no content", "send the assistant's message, or its content blocks")
		}
		if blocks, place = content, at+"/content"; content.Kind == canonicalize.String {
			return nil, anthropicReply, nil // text alone
		}
	}
	calls, err := eachCall(blocks, place, func(block canonicalize.Value, place string) (*modelCall, error) {
		if kind, _ := block.Member("type"); kind.Text != "tool_use" {
			return nil, nil
		}
		m := modelCall{arguments: []byte("{}")}
		err := texts(block, place, map[string]*string{"id": &m.id, "name": &m.tool})
		if err == nil && (m.id == "" || m.tool == "") {
			err = unreadable(place, "has no id or no name", "send the block as the model wrote it")
		}
		if input, ok := block.Member("input"); ok {
			m.arguments = []byte(input.Raw())
		}
		return &m, err
	})
	return calls, anthropicReply, err
}

// eachCall reads a list; null is an empty one, and read gives nil for what is no call. One that cannot be read stops all: nothing runs.
func eachCall(list canonicalize.Value, place string, read func(item canonicalize.Value, place string) (*modelCall, error)) ([]modelCall, error) {
	if list.Kind != canonicalize.List && list.Kind != canonicalize.Null {
		return nil, unreadable(place, "is "+list.Kind.String(), "send a list")
	}
	var calls []modelCall
	for i, item := range list.Items {
		m, err := read(item, place+"/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if m != nil {
			calls = append(calls, *m)
		}
	}
	return calls, nil
}
