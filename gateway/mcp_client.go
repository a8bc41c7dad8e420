package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Revisions of MCP.
const (
	revisionStateless = "2026-07-28" // no initialize, no sessions
	revisionSessions  = "2025-11-25" // the last one with them
)

// olderRevisions are those with initialize that the gateway speaks, the latest first.
var olderRevisions = []string{revisionSessions, "2025-06-18", "2025-03-26", "2024-11-05"}

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaKey          = "io.modelcontextprotocol/idempotency-key"

	clientInfo = `{"name":"agentgw","version":"1"}`
)

var requests atomic.Uint64

// newID is the id of a request of the gateway's own.
func newID() string { return `"agentgw-` + strconv.FormatUint(requests.Add(1), 10) + `"` }

// protocolMeta is what of a _meta belongs to the protocol itself; nil where nothing does.
func protocolMeta(meta []byte) []byte {
	var out []byte
	for _, name := range []string{metaVersion, metaCapabilities, metaClient} {
		if v := memberOf(meta, name); v != nil {
			if out == nil {
				out = []byte("{}")
			}
			out = setMember(out, name, v)
		}
	}
	return out
}

// mcpClient is the gateway's own connection to a server, for calls that did not come as messages to that server alone. It speaks the
// server's revision, whatever the caller speaks.
type mcpClient struct {
	server *mcpServer
	mu     sync.Mutex
	opened *mcpSession
}

// mcpSession is what was agreed with a server.
type mcpSession struct {
	stateless bool
	version   string
	id        string // Mcp-Session-Id; "" for none
}

// session opens the connection where it is not open. failed is one that is of no use any more.
func (c *mcpClient) session(ctx context.Context, failed *mcpSession) (*mcpSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened != nil && c.opened != failed {
		return c.opened, nil
	}
	c.opened = nil
	s, err := c.initialize(ctx)
	if err != nil {
		return nil, err
	}
	c.opened = s
	return s, nil
}

// initialize tries the revisions with sessions first: nearly all servers know them.
func (c *mcpClient) initialize(ctx context.Context) (*mcpSession, error) {
	s := &mcpSession{version: revisionSessions}
	reply, err := c.exchange(ctx, s, "initialize", []byte(`{"jsonrpc":"2.0","id":`+newID()+
		`,"method":"initialize","params":{"protocolVersion":"`+revisionSessions+`","capabilities":{},"clientInfo":`+clientInfo+`}}`), nil)
	if err != nil {
		return nil, notSent(err)
	}
	if reply.result == nil {
		return c.discover(ctx, reply)
	}
	var agreed struct {
		Version string `json:"protocolVersion"`
	}
	json.Unmarshal(reply.result, &agreed)
	if !slices.Contains(olderRevisions, agreed.Version) {
		return c.discover(ctx, reply)
	}
	s.version, s.id = agreed.Version, reply.header.Get("Mcp-Session-Id")
	res, err := c.server.wire.do(ctx, ownName, http.MethodPost, s.header(""), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err != nil {
		return nil, notSent(err)
	}
	res.Body.Close()
	return s, nil
}

// discover tries the revision without sessions.
func (c *mcpClient) discover(ctx context.Context, refused *mcpReply) (*mcpSession, error) {
	s := &mcpSession{stateless: true, version: revisionStateless}
	reply, err := c.exchange(ctx, s, "server/discover", []byte(`{"jsonrpc":"2.0","id":`+newID()+`,"method":"server/discover","params":{}}`), nil)
	if err != nil {
		return nil, notSent(err)
	}
	if !strings.Contains(string(memberOf(reply.result, "supportedVersions")), `"`+revisionStateless+`"`) {
		why := fmt.Errorf("%s speaks no revision of MCP that is known here: initialize: %s (status %d)", c.server.name, c.server.said(refused.body), refused.status)
		if refused.status == http.StatusMethodNotAllowed {
			why = fmt.Errorf("%w; a server that speaks HTTP+SSE only has to be reached through a bridge, or over its pipes", why)
		}
		return nil, &SendError{Err: why}
	}
	return s, nil
}

// notSent says of a failed handshake that the call behind it did not leave.
func notSent(err error) error { return &SendError{Err: err} }

// ownName is the principal of the gateway's own connection.
const ownName = "\x00gateway"

func (s *mcpSession) header(method string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if method != "initialize" {
		h.Set("Mcp-Protocol-Version", s.version)
	}
	if s.id != "" {
		h.Set("Mcp-Session-Id", s.id)
	}
	if s.stateless {
		h.Set("Mcp-Method", method)
	}
	return h
}

// exchange sends a message in the session's revision.
func (c *mcpClient) exchange(ctx context.Context, s *mcpSession, method string, message []byte, more func(*turn)) (*mcpReply, error) {
	t := turn{who: ownName, header: s.header(method), body: message}
	if s.stateless {
		params := memberOf(message, "params")
		meta := memberOf(params, "_meta")
		if meta == nil {
			meta = []byte("{}")
		}
		meta = setMember(meta, metaVersion, []byte(`"`+s.version+`"`))
		meta = setMember(meta, metaCapabilities, []byte("{}"))
		meta = setMember(meta, metaClient, []byte(clientInfo))
		t.body = setMember(message, "params", setMember(params, "_meta", meta))
	}
	if more != nil {
		more(&t)
	}
	return c.server.exchange(ctx, t)
}

// ask carries a request that has no side effect.
func (c *mcpClient) ask(ctx context.Context, message []byte) (*mcpReply, error) {
	var method string
	json.Unmarshal(memberOf(message, "method"), &method)
	return c.request(ctx, method, message, nil)
}

// request carries one request. A server that does not know the session has not looked at the message: it is sent again in a new one.
func (c *mcpClient) request(ctx context.Context, method string, message []byte, more func(*turn)) (*mcpReply, error) {
	var failed *mcpSession
	for {
		s, err := c.session(ctx, failed)
		if err != nil {
			return nil, err
		}
		reply, err := c.exchange(ctx, s, method, message, more)
		if err == nil && reply.status == http.StatusNotFound && s.id != "" && failed == nil {
			failed = s
			continue
		}
		if err == nil && reply.result == nil && reply.failure == nil && reply.status < 300 {
			return nil, &SendError{Sent: true, Err: errors.New("the server's answer is no JSON-RPC response")}
		}
		return reply, err
	}
}

// call invokes a tool by its name at the server. The arguments go out as they are.
func (c *mcpClient) call(ctx context.Context, name string, out *Outgoing) (*Incoming, error) {
	params := []byte(`{"name":` + string(quoted(name)) + `}`)
	params = setMember(params, "arguments", out.Call.Arguments)
	if out.link != nil && out.link.meta != nil {
		params = setMember(params, "_meta", out.link.meta)
	}
	asked := false
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		reply, err := c.send(ctx, name, params, out)
		if err != nil && asked {
			err = &SendError{Sent: true, Err: err} // the message before has reached it
		}
		if err != nil {
			return nil, err
		}
		in := reply.incoming(out.MaxBytes)
		if out.link != nil && reply.result == nil {
			out.link.direct = reply
		}
		if !in.Asks {
			return in, nil
		}
		// The gateway's own connection has declared no way to be asked: only "come again" can be meant.
		state := memberOf(reply.result, "requestState")
		requests, _ := membersOf(memberOf(reply.result, "inputRequests"))
		if state == nil || len(requests) > 0 || wait(ctx, pause) != nil {
			return nil, &SendError{Sent: true, Err: fmt.Errorf("%s asks for more input, which can be given at /mcp/%s only", name, c.server.name)}
		}
		params, asked = setMember(params, "requestState", state), true
	}
}

func (c *mcpClient) send(ctx context.Context, name string, params []byte, out *Outgoing) (*mcpReply, error) {
	message := setMember([]byte(`{"jsonrpc":"2.0","id":`+newID()+`,"method":"tools/call"}`), "params", params)
	return c.request(ctx, "tools/call", message, func(t *turn) {
		if out.link != nil {
			t.emit = out.link.turn.emit
		}
		if t.header.Get("Mcp-Method") != "" {
			t.header.Set("Mcp-Name", headerText(name))
		}
		if key := c.server.upstream.IdempotencyHeader; key != "" && out.Key != "" {
			t.header.Set(key, out.Key)
		}
	})
}
