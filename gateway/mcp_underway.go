package gateway

import (
	"context"
	"net/http"
	"sync"
)

// underway knows which requests of clients are being answered. A client may stop what is not a guarded call; and a session in which a
// tool is being called ends when that has been answered, whenever its client ends it.
type underway struct {
	mu       sync.Mutex
	requests map[requestKey]int // that may be stopped
	calls    map[sessionKey]int
	ending   map[sessionKey]func()
}

// sessionKey is one client's session with a server; id is "" where it has none.
type sessionKey struct{ server, who, id string }

type requestKey struct {
	session sessionKey
	id      string // JSON text
}

func sessionOf(s *mcpServer, who *Principal, h http.Header) sessionKey {
	return sessionKey{s.name, label(who), h.Get("Mcp-Session-Id")}
}

// stoppable says that a request may be stopped, until done is called.
func (u *underway) stoppable(k requestKey) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.requests == nil {
		u.requests = map[requestKey]int{}
	}
	u.requests[k]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.requests[k]--; u.requests[k] == 0 {
			delete(u.requests, k)
		}
	}
}

// mayStop reports whether a message that cancels a request may go to the server.
func (u *underway) mayStop(k requestKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests[k] > 0
}

// call says that a tool is being called, until done is called.
func (u *underway) call(k sessionKey) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls, u.ending = map[sessionKey]int{}, map[sessionKey]func(){}
	}
	u.calls[k]++
	return func() {
		u.mu.Lock()
		var end func()
		if u.calls[k]--; u.calls[k] == 0 {
			end = u.ending[k]
			delete(u.calls, k)
			delete(u.ending, k)
		}
		u.mu.Unlock()
		if end != nil {
			end()
		}
	}
}

// endLater keeps the end of a session until its calls are answered; false where there are none.
func (u *underway) endLater(k sessionKey, end func()) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if k.id == "" || u.calls[k] == 0 {
		return false
	}
	u.ending[k] = end
	return true
}

// endsLater answers a client that ends its session while a tool is being called in it; false where none is.
func (d *doors) endsLater(w http.ResponseWriter, r *http.Request, s *mcpServer, who *Principal) bool {
	header := d.header(r)
	end := func() {
		res, err := s.wire.do(context.WithoutCancel(r.Context()), label(who), http.MethodDelete, header, nil)
		if err != nil {
			s.log.Warn("a session is not ended", "error", err)
			return
		}
		res.Body.Close()
	}
	if !d.underway.endLater(sessionOf(s, who, r.Header), end) {
		return false
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
