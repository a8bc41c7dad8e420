package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"time"

	"agentgw"
	"agentgw/canonicalize"
)

// Tool is a business tool that can be called through every door by its name.
type Tool struct {
	Name        string
	Upstream    string
	Method      string // "POST" where empty
	Path        string // with {arg} from the arguments
	Body        string // "json" (default), "form", "xml"
	Description string
	Input       json.RawMessage // JSON Schema, given to agents as it is
	ReadOnly    bool            // a safe method, or declared so

	remote string // its name at an MCP server; "" where it is no such tool
}

// Upstream is a server that offers tools.
type Upstream struct {
	Name              string
	URL               *url.URL
	Timeout           time.Duration // 0: ten minutes
	Headers           []agentgw.Header
	IdempotencyHeader string     // "" where the upstream does not dedup by our key
	MCP               *MCPServer // where it is an MCP server, and has no URL of its own
}

// Outgoing is one attempt, ready to be sent.
type Outgoing struct {
	Call     *agentgw.Call
	Args     canonicalize.Value // the arguments, read once
	Key      string             // for the upstream's idempotency header; "" where it has none
	MaxBytes int64              // of the answer that is kept; what follows comes as Rest

	tool *Tool    // that the call is for, where the flow has found it
	link *mcpLink // the MCP door's message behind the call; nil at other doors
}

// Incoming is what came back.
type Incoming struct {
	Answer  *agentgw.Answer
	IsError bool // MCP: the tool says of itself that it failed
	Asks    bool // MCP: the tool wants more input, and the attempt goes on when it comes
	// Rest is what follows Answer.Body where the answer was larger than MaxBytes; the door copies and closes it. nil otherwise.
	Rest io.ReadCloser
	// Live are headers for the caller of this attempt alone (Date, Set-Cookie): they are never kept.
	Live []agentgw.Header
}

// SendError says that no (whole) answer came, and whether the tool may have got the request.
type SendError struct {
	Sent bool // false: known never to have left
	Err  error
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// Sender carries attempts to tools. Its only error is a *SendError. ctx is the attempt's own: it outlives the caller.
type Sender interface {
	Send(ctx context.Context, out *Outgoing) (*Incoming, error)
}
