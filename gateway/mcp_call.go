package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"agentgw"
	"agentgw/canonicalize"
)

// callServer is tools/call at the door of one server.
func (d *doors) callServer(m *mcpRequest, s *mcpServer) {
	call, link, err := d.readToolCall(m)
	if err != nil {
		m.out.fail(m.id, http.StatusBadRequest, err)
		return
	}
	link.turn = turn{who: label(m.who), header: d.header(m.http), body: m.raw, emit: m.out.emit}
	link.server = s
	session := sessionOf(s, m.who, m.http.Header)
	defer d.underway.call(session)()
	link.passes = func() func() { return d.underway.stoppable(requestKey{session, m.id}) }
	if call.Tool == callTool && d.offersCall(s, m.who) {
		d.callNatively(m, s, call, link)
		return
	}
	link.tool = d.mcp.toolAt(m.http.Context(), s, call.Tool, link.turn)
	call.Tool = link.tool.Name
	d.finishCall(m, link, call.Mode, d.carry(m.http.Context(), call, link))
}

// callNatively is the tool with which a model says more than a plain call can. The message for the server is made of what it says.
func (d *doors) callNatively(m *mcpRequest, s *mcpServer, outer *agentgw.Call, link *mcpLink) {
	call, err := nativeCall(outer.Arguments)
	if err != nil {
		d.finishCall(m, link, agentgw.Execute, Response{Decision: rejected("%v.", err)})
		return
	}
	call.Tenant, call.Principal = outer.Tenant, outer.Principal
	if call.Context == (agentgw.Context{}) {
		call.Context = outer.Context
	}
	link.arguments = call.Arguments
	if s != nil {
		link.tool = d.mcp.toolAt(m.http.Context(), s, call.Tool, link.turn)
		params := setMember(memberOf(m.raw, "params"), "name", quoted(link.tool.remote))
		link.turn.body = setMember(m.raw, "params", setMember(params, "arguments", call.Arguments))
		if link.turn.header.Get("Mcp-Name") != "" {
			link.turn.header.Set("Mcp-Name", headerText(link.tool.remote))
		}
	} else if link.tool = d.toolNamed(call.Tool); link.tool == nil {
		link = nil // Do says that there is none
	}
	if link != nil {
		call.Tool = link.tool.Name
	}
	d.finishCall(m, link, call.Mode, d.carry(m.http.Context(), call, link))
}

// readToolCall makes a call of a message. Tool is the name as it stands there.
func (d *doors) readToolCall(m *mcpRequest) (*agentgw.Call, *mcpLink, *rpcError) {
	name, _ := m.params.Member("name")
	if name.Kind != canonicalize.String || name.Text == "" {
		return nil, nil, &rpcError{code: codeInvalidParams, message: "params.name must be the name of a tool."}
	}
	call := &agentgw.Call{Tenant: m.who.Tenant, Principal: m.who.Name, Tool: name.Text, Arguments: []byte("{}")}
	if err := readCallHeaders(m.http.Header, call); err != nil {
		return nil, nil, &rpcError{code: codeInvalidParams, message: err.Error() + "."}
	}
	if args, ok := m.params.Member("arguments"); ok && args.Kind != canonicalize.Null {
		call.Arguments = []byte(args.Raw())
	}
	keys := []string{call.IdempotencyKey, m.meta(metaKey)}
	if v, ok := m.params.Member("idempotencyKey"); ok {
		if v.Kind != canonicalize.String {
			return nil, nil, &rpcError{code: codeInvalidParams, message: "params.idempotencyKey must be a text."}
		}
		keys = append(keys, v.Text)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "" })
	if keys = slices.Compact(keys); len(keys) > 1 {
		return nil, nil, &rpcError{code: codeInvalidParams, message: "The call carries two different idempotency keys; send one."}
	} else if len(keys) == 1 {
		call.IdempotencyKey = keys[0]
	}
	if call.Context.Task == "" {
		call.Context.Task = m.meta("agentgw/task")
	}
	if call.Context.CallID == "" {
		call.Context.CallID = strings.Trim(m.id, `"`)
	}
	link := &mcpLink{id: m.id, arguments: call.Arguments, knowsAgain: m.stateless()}
	if meta, ok := m.params.Member("_meta"); ok {
		link.meta = []byte(meta.Raw())
	}
	state, hasState := m.params.Member("requestState")
	_, hasInput := m.params.Member("inputResponses")
	if link.continues = hasState || hasInput; state.Kind == canonicalize.String {
		link.state = state.Text
	}
	return call, link, nil
}

// finishCall writes how a call went.
func (d *doors) finishCall(m *mcpRequest, link *mcpLink, mode agentgw.Mode, res Response) {
	mark(m.out.w.Header(), res.Decision, 0)
	m.out.stream = m.out.stream || link != nil && link.streamed
	if link != nil && link.direct != nil && res.Verdict.Sent() {
		if res.Rest != nil {
			res.Rest.Close()
		}
		m.out.show(m.id, link.direct)
		return
	}
	remote := link != nil && link.tool != nil && link.tool.remote != ""
	name, value := "result", []byte(nil)
	switch {
	case mode == agentgw.Check:
		value = textResult(modelText(res))
	case link != nil && link.comeAgain != "":
		value = comeAgainResult(link.comeAgain)
	default:
		name, value = toolResult(res, remote)
	}
	if name == "result" {
		effect := ""
		if res.Effect != nil {
			effect = res.Effect.ID.String()
		}
		if m.revision == revisionStateless && memberOf(value, "resultType") == nil {
			value = setMember(value, "resultType", []byte(`"complete"`))
		}
		why := ""
		if res.Verdict == agentgw.Replayed {
			why = res.Detail // the content is the first answer's
		}
		value = withMeta(value, "agentgw/decision", string(res.Verdict), "agentgw/effect", effect, "agentgw/repeat_token", res.Token, "agentgw/detail", why)
	}
	m.out.answer(http.StatusOK, "", respondRPC(m.id, name, value))
}

// toolResult is a response's "result", or its "error". remote: the answer comes from an MCP server.
func toolResult(res Response, remote bool) (name string, value []byte) {
	a := res.Answer
	if a == nil || !res.Verdict.Sent() && res.Verdict != agentgw.Replayed {
		return "result", refusalResult(res)
	}
	content := a.Body
	if res.Rest != nil {
		defer res.Rest.Close()
		more, err := io.ReadAll(io.LimitReader(res.Rest, maxMessage))
		if err != nil || len(more) == maxMessage {
			return "result", textResult("It was done, and its answer is too large to be shown here.", true)
		}
		content = slices.Concat(content, more)
	}
	isObject := json.Valid(content) && strings.HasPrefix(strings.TrimSpace(string(content)), "{")
	switch {
	case remote && a.Status < 300 && isObject:
		return "result", content
	case remote && isObject && memberOf(content, "code") != nil:
		return "error", content
	case !utf8.Valid(content):
		return "result", textResult("The answer is not text.", a.Status >= 400)
	}
	text := textResult(string(content), a.Status >= 400)
	if isObject && !remote {
		text = setMember(text, "structuredContent", content)
	}
	return "result", text
}

// refusalResult tells a model in words what was decided, and in JSON what it may have to send next.
func refusalResult(res Response) []byte {
	more := []string(nil)
	if len(res.Candidates) > 0 || res.Token != "" || len(res.Ignored) > 0 {
		more = append(more, string(compact(newView(res))))
	}
	return textResult(detail(res.Decision), status(res.Decision) >= http.StatusBadRequest, more...)
}
