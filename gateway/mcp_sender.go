package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"agentgw"
	"agentgw/policy"
)

// MCPOptions make an MCP. Upstreams and Next are needed.
type MCPOptions struct {
	Upstreams map[string]*Upstream // those that are MCP servers are used
	Tools     map[string]*Tool     // the configuration's own: their names are taken
	Policy    *policy.Policy       // decides under which name a tool is guarded
	Next      Sender               // for all other tools
	Log       *slog.Logger         // children's stderr, tools that are new or changed; nil: nowhere
	Approvals *Approvals           // nil: what is seen first is approved, in this process only
}

// MCP knows the MCP servers and their tools. It is the Sender for them.
type MCP struct {
	MCPOptions
	servers map[string]*mcpServer
	names   toolNames
}

// NewMCP makes the sender for MCP servers. No server is started or asked before it is needed.
func NewMCP(o MCPOptions) *MCP {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Approvals == nil {
		o.Approvals = &Approvals{}
	}
	m := &MCP{MCPOptions: o, servers: map[string]*mcpServer{}}
	for name, u := range o.Upstreams {
		if u.MCP == nil {
			continue
		}
		s := &mcpServer{name: name, upstream: u, log: o.Log.With("server", name), tools: map[string]*remoteTool{}}
		if len(u.MCP.Command) > 0 {
			s.wire = newChildWire(u.MCP, s.log)
		} else {
			s.wire = &httpWire{NewHTTP(nil, nil), u}
		}
		s.client.server = s
		m.servers[name] = s
	}
	return m
}

// Close ends child processes and drops idle connections.
func (m *MCP) Close() {
	for _, s := range m.servers {
		s.wire.close()
	}
}

// Send implements Sender.
func (m *MCP) Send(ctx context.Context, out *Outgoing) (*Incoming, error) {
	if l := out.link; l != nil && l.server != nil {
		return l.send(ctx, out)
	}
	t := out.tool
	if t == nil && out.Call.Request == nil && m.Tools[out.Call.Tool] == nil {
		t = m.find(out.Call.Tool)
	}
	if t == nil || t.remote == "" {
		return m.Next.Send(ctx, out)
	}
	return m.servers[t.Upstream].client.call(ctx, t.remote, out)
}

// mcpLink is what the MCP door knows of a call beside the call itself.
type mcpLink struct {
	server     *mcpServer // the server that the message is for as it came; nil at the door of all servers
	tool       *Tool      // that the message is for
	turn       turn
	id         string // of the caller's request
	arguments  []byte // as they stand in the message
	meta       []byte // params._meta as it came
	state      string // requestState of a continuation
	continues  bool   // the call brings requestState or inputResponses
	knowsAgain bool   // the caller's revision has an answer that says "come again"
	round      int    // how often the call came again; 0: it did not

	passes func() (done func()) // is told that nothing is claimed for the call; nil: nobody is

	streamed bool      // the server answered with a stream of events
	direct   *mcpReply // what the server answered where that is no result, to be shown as it came

	comeAgain string // the requestState with which the call may come again; "" where it may not
}

// toolOf is the tool that a message is for; nil where the call does not stand in one.
func (l *mcpLink) toolOf(call *agentgw.Call) *Tool {
	if l == nil || l.tool == nil || l.tool.Name != call.Tool {
		return nil
	}
	return l.tool
}

// send carries the caller's message to its server. The message stays as it is, but for arguments that the policy repaired.
func (l *mcpLink) send(ctx context.Context, out *Outgoing) (*Incoming, error) {
	t := l.turn
	if !bytes.Equal(out.Call.Arguments, l.arguments) {
		params := setMember(memberOf(t.body, "params"), "arguments", out.Call.Arguments)
		t.body = setMember(t.body, "params", params)
	}
	if name := l.server.upstream.IdempotencyHeader; name != "" && out.Key != "" {
		t.header = t.header.Clone()
		t.header.Set(name, out.Key)
	}
	reply, err := l.server.exchange(ctx, t)
	if err != nil {
		return nil, err
	}
	l.streamed = reply.streamed()
	if reply.result == nil {
		l.direct = reply
	}
	return reply.incoming(out.MaxBytes), nil
}

// incoming is a reply as the answer of a tool: a result has status 200 and is its body; a JSON-RPC error has the status of its kind;
// what is neither stays as it came.
func (r *mcpReply) incoming(maxBytes int64) *Incoming {
	in := &Incoming{Answer: &agentgw.Answer{Status: r.status, Body: r.body,
		Header: []agentgw.Header{{Name: "Content-Type", Value: "application/json"}}}}
	switch {
	case r.result != nil:
		in.Answer.Status, in.Answer.Body = http.StatusOK, r.result
		in.IsError = string(memberOf(r.result, "isError")) == "true"
		in.Asks = string(memberOf(r.result, "resultType")) == `"input_required"`
	case r.failure != nil:
		in.Answer.Status, in.Answer.Body = statusOfFailure(r.failure), r.failure
	default:
		in.Answer.Header, _ = endToEnd(r.header)
	}
	if maxBytes > 0 && int64(len(in.Answer.Body)) > maxBytes {
		body := in.Answer.Body
		in.Answer.Body, in.Rest = body[:maxBytes:maxBytes], io.NopCloser(bytes.NewReader(body[maxBytes:]))
	}
	return in
}

// statusOfFailure is the HTTP status that says the same as a JSON-RPC error: 400 where the request was refused before anything was
// done, 500 where nobody knows.
func statusOfFailure(failure []byte) int {
	var e struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(failure, &e) != nil {
		return http.StatusInternalServerError
	}
	switch e.Code {
	case codeParse, codeInvalidRequest, codeNoMethod, codeInvalidParams, codeHeaderMismatch, codeNoCapability, codeVersion, codeURLElicitation:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// textResult is a tool result that holds texts.
func textResult(text string, isError bool, more ...string) []byte {
	b := append([]byte(`{"content":[{"type":"text","text":`), quoted(text)...)
	for _, text := range more {
		b = append(append(b, `},{"type":"text","text":`...), quoted(text)...)
	}
	return fmt.Appendf(b, `}],"isError":%t}`, isError)
}
