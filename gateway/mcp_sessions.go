package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	maxSessions = 256       // of one server that is a child process: each has a process of its own
	idleSession = time.Hour // after that a session without streams is ended
)

// childWire reaches servers that are child processes: each session of a client has one of its own, and all requests of one principal
// that belong to no session (2026-07-28) share one.
type childWire struct {
	server *MCPServer
	log    *slog.Logger

	mu       sync.Mutex
	sessions map[string]*pipe
	closed   bool
}

func newChildWire(server *MCPServer, log *slog.Logger) *childWire {
	return &childWire{server: server, log: log, sessions: map[string]*pipe{}}
}

func (w *childWire) close() {
	w.mu.Lock()
	w.closed = true
	all := w.sessions
	w.sessions = nil
	w.mu.Unlock()
	var stopping sync.WaitGroup
	for _, p := range all {
		stopping.Go(p.end)
	}
	stopping.Wait()
}

// do implements wire.
func (w *childWire) do(ctx context.Context, who, method string, header http.Header, body []byte) (*http.Response, error) {
	msg := peek(body)
	p, id, res, err := w.session(who, header.Get("Mcp-Session-Id"), msg)
	if res != nil || err != nil {
		return res, err
	}
	switch {
	case method == http.MethodDelete:
		w.forget(id)
		return response(http.StatusNoContent, "", nil), nil
	case method == http.MethodGet && header.Get("Mcp-Session-Id") == "":
		return response(http.StatusMethodNotAllowed, "", nil), nil
	case method == http.MethodGet:
		res = p.listen(ctx)
	default:
		if res, err = p.send(ctx, msg, body); err != nil {
			return nil, err
		}
	}
	if msg.method == "initialize" {
		res.Header.Set("Mcp-Session-Id", id)
	}
	return res, nil
}

// session finds the process of a request. res refuses.
func (w *childWire) session(who, id string, msg message) (p *pipe, key string, res *http.Response, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, "", nil, &SendError{Err: errors.New("the gateway is stopping")}
	}
	w.sweep()
	key = id
	switch {
	case msg.method == "initialize":
		key = rand.Text()
	case id == "":
		key = "\x00" + who // without a session
	case w.sessions[id] == nil || w.sessions[id].who != who:
		return nil, "", response(http.StatusNotFound, "application/json", errorRPC(msg.id, &rpcError{code: codeInvalidRequest, message: "There is no such session; initialize a new one."})), nil
	}
	if p = w.sessions[key]; p == nil {
		if len(w.sessions) >= maxSessions {
			return nil, "", response(http.StatusServiceUnavailable, "", nil), nil
		}
		p = &pipe{wire: w, who: who, shared: msg.method != "initialize", waiting: map[string]*stream{}}
		w.sessions[key] = p
	}
	p.used = time.Now()
	return p, key, nil, nil
}

// sweep ends sessions that nobody uses any more. w.mu is held.
func (w *childWire) sweep() {
	for id, p := range w.sessions {
		if time.Since(p.used) > idleSession && p.idle() {
			delete(w.sessions, id)
			go p.end()
		}
	}
}

func (w *childWire) forget(id string) {
	w.mu.Lock()
	p := w.sessions[id]
	delete(w.sessions, id)
	w.mu.Unlock()
	if p != nil {
		p.end()
	}
}
