package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// MCPServer says how an MCP server is reached: over Streamable HTTP at URL, or as a child process over its pipes.
type MCPServer struct {
	URL     *url.URL
	Command []string
	Env     []string // of the command, NAME=value; nil: this process's
}

// wire carries one HTTP exchange of MCP's Streamable HTTP to a server. who names the principal: what is not its own it must not see.
// The only error is a *SendError.
type wire interface {
	do(ctx context.Context, who, method string, header http.Header, body []byte) (*http.Response, error)
	close()
}

// mcpServer is one MCP server and what is known of it.
type mcpServer struct {
	name     string
	upstream *Upstream
	wire     wire
	log      *slog.Logger
	client   mcpClient

	mu     sync.Mutex
	tools  map[string]*remoteTool // by their names at the server
	size   int                    // bytes of their definitions
	full   bool                   // it offers more than that
	listed time.Time              // when the gateway itself last asked for all of them
	// unlisted is why that failed; nil where it did not.
	unlisted error
}

// turn is one request to a server: the message, and where what comes before its answer goes.
type turn struct {
	who    string
	header http.Header
	body   []byte
	emit   func(event) // nil: it is dropped
}

// mcpReply is what a server answered: a JSON-RPC response, or an HTTP answer that is none.
type mcpReply struct {
	status  int
	header  http.Header
	body    []byte // the response; where neither result nor failure is set, the body of an HTTP answer as it came
	result  []byte // within body
	failure []byte // within body: the JSON-RPC error
	eventID string
}

// exchange sends a request once and reads on until its response, handing over what comes before it. A stream that the server ends early
// is resumed where the server allows that (Streamable HTTP, Resumability), which sends nothing again. The only error is a *SendError.
func (s *mcpServer) exchange(ctx context.Context, t turn) (*mcpReply, error) {
	res, err := s.wire.do(ctx, t.who, http.MethodPost, t.header, t.body)
	if err != nil {
		return nil, err
	}
	if !isStream(res.Header) {
		return wholeReply(res)
	}
	last, pause := "", time.Second
	for tries := 0; ; {
		reply, err := s.follow(res, t, &last, &pause)
		if reply != nil {
			return reply, nil
		}
		lost := &SendError{Sent: true, Err: fmt.Errorf("the stream of %s ended before the answer: %w", s.name, err)}
		if last == "" {
			return nil, lost
		}
		for res = nil; res == nil; tries++ {
			if tries == maxResumes || wait(ctx, pause) != nil {
				return nil, lost
			}
			res = s.resume(ctx, t, last)
		}
	}
}

const maxResumes = 8

// follow reads a stream until the response. reply is nil where the stream ended without one.
func (s *mcpServer) follow(res *http.Response, t turn, last *string, pause *time.Duration) (*mcpReply, error) {
	defer res.Body.Close()
	for in := newEvents(res.Body); ; {
		e, err := in.next()
		if err != nil {
			return nil, err
		}
		if e.id != "" {
			*last = e.id
		}
		if e.retry > 0 {
			*pause = min(e.retry, 30*time.Second)
		}
		if reply := responseOf(e.data); reply != nil {
			reply.status, reply.header, reply.eventID = http.StatusOK, res.Header, e.id
			return reply, nil
		}
		if t.emit != nil {
			t.emit(e)
		}
	}
}

// resume asks for what follows the last event; nil where there is no such stream now.
func (s *mcpServer) resume(ctx context.Context, t turn, last string) *http.Response {
	h := t.header.Clone()
	for _, name := range []string{"Content-Type", "Mcp-Method", "Mcp-Name"} {
		h.Del(name)
	}
	h.Set("Accept", "text/event-stream")
	h.Set("Last-Event-ID", last)
	res, err := s.wire.do(ctx, t.who, http.MethodGet, h, nil)
	if err != nil {
		return nil
	}
	if res.StatusCode != http.StatusOK || !isStream(res.Header) {
		res.Body.Close()
		return nil
	}
	return res
}

// wholeReply reads an answer that is not a stream.
func wholeReply(res *http.Response) (*mcpReply, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage+1))
	if err == nil && len(body) > maxMessage {
		err = errLargeMessage
	}
	if err != nil {
		return nil, &SendError{Sent: true, Err: fmt.Errorf("the answer (status %d) broke off after %d bytes: %w", res.StatusCode, len(body), err)}
	}
	reply := responseOf(body)
	if reply == nil {
		reply = &mcpReply{body: body}
	}
	reply.status, reply.header = res.StatusCode, res.Header
	return reply, nil
}

// responseOf reads a message; nil where it is no response.
func responseOf(b []byte) *mcpReply {
	all, err := membersOf(b)
	if err != nil {
		return nil
	}
	reply := &mcpReply{body: b}
	for _, m := range all {
		value := b[m.start:m.end:m.end]
		switch m.name {
		case "method":
			return nil
		case "result":
			reply.result = value
		case "error":
			reply.failure = value
		}
	}
	if reply.result == nil && reply.failure == nil {
		return nil
	}
	return reply
}

func isStream(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}

// streamed reports whether the answer came as an event: then it goes on as one.
func (r *mcpReply) streamed() bool { return isStream(r.header) }

func wait(ctx context.Context, d time.Duration) error { return realClock{}.Sleep(ctx, d) }

// httpWire reaches a server over HTTP, each message at most once.
type httpWire struct {
	http     *HTTP // for its connections
	upstream *Upstream
}

func (w *httpWire) close() { w.http.Close() }

func (w *httpWire) do(ctx context.Context, _, method string, header http.Header, body []byte) (*http.Response, error) {
	to := &target{method: method, url: w.upstream.MCP.URL, header: header.Clone(), body: body}
	for _, fixed := range w.upstream.Headers {
		to.header.Set(fixed.Name, fixed.Value)
	}
	if user := to.url.User; user != nil && to.header.Get("Authorization") == "" {
		password, _ := user.Password()
		(&http.Request{Header: to.header}).SetBasicAuth(user.Username(), password)
	}
	if _, ok := to.header["User-Agent"]; !ok {
		to.header["User-Agent"] = []string{""}
	}
	lowerKeys(to.header)
	for try := 1; ; try++ {
		var used usage
		res, err := w.http.transport.RoundTrip(to.request(used.watch(ctx)))
		if err == nil {
			if err := unfit(res); err != nil {
				return nil, err
			}
			return res, nil
		}
		sent := used.left()
		if !sent && used.reused && try < maxTries && ctx.Err() == nil {
			continue
		}
		return nil, &SendError{Sent: sent, Err: fmt.Errorf("%s %s: %w", method, to.url.Host, err)}
	}
}

// response makes an HTTP answer of a message.
func response(status int, contentType string, body []byte) *http.Response {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
}
