package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// What no listener has taken waits for one: at most so many messages, of at most maxMessage bytes together.
const maxKept = 256

// message is what a pipe reads of a message to or from a server.
type message struct{ id, method string }

func peek(b []byte) (m message) {
	all, err := membersOf(b)
	if err != nil {
		return m
	}
	for _, it := range all {
		switch value := b[it.start:it.end]; it.name {
		case "id":
			m.id = string(value)
		case "method":
			json.Unmarshal(value, &m.method)
		}
	}
	return m
}

// pipe is one session with a server that is a child process. The process is started again when it has ended, and greeted as the client
// greeted the first one.
type pipe struct {
	wire   *childWire
	who    string
	shared bool // by requests without session: their ids are the callers' own and may clash
	used   time.Time

	mu          sync.Mutex
	child       *child
	ended       bool
	hello       []byte // the client's initialize
	initialized []byte // and what it sent afterwards
	waiting     map[string]*stream
	latest      *stream // of a request
	listener    *stream
	kept        [][]byte // for the next listener
	keptSize    int      // bytes
	started     time.Time
	pause       time.Duration
}

// send delivers a message; the answer to a request is a stream.
func (p *pipe) send(ctx context.Context, msg message, body []byte) (*http.Response, error) {
	c, err := p.running(ctx, msg, body)
	if err != nil {
		return nil, &SendError{Err: err}
	}
	if msg.id == "" || msg.method == "" {
		if _, err := c.write(body); err != nil {
			return nil, &SendError{Sent: true, Err: err}
		}
		return response(http.StatusAccepted, "", nil), nil
	}
	s, res := newStream(ctx)
	s.id = msg.id
	s.token = string(memberOf(memberOf(memberOf(body, "params"), "_meta"), "progressToken"))
	id := msg.id
	if p.shared {
		id = newID()
		body = setMember(body, "id", []byte(id))
	}
	p.mu.Lock()
	if p.waiting[id] != nil {
		p.mu.Unlock()
		res.Body.Close()
		s.close(nil)
		return response(http.StatusBadRequest, "application/json", errorRPC(msg.id, &rpcError{code: codeInvalidRequest, message: "A request with this id is under way."})), nil
	}
	p.waiting[id], p.latest = s, s
	p.mu.Unlock()
	if sent, err := c.write(body); err != nil {
		p.drop(id, s, err)
		return nil, &SendError{Sent: sent, Err: err}
	}
	return res, nil
}

func (p *pipe) drop(id string, s *stream, err error) {
	p.mu.Lock()
	if p.waiting[id] == s {
		delete(p.waiting, id)
	}
	if p.latest == s {
		p.latest = nil
		for _, other := range p.waiting {
			p.latest = other
		}
	}
	p.mu.Unlock()
	s.close(err)
}

// listen is a stream of what belongs to no request.
func (p *pipe) listen(ctx context.Context) *http.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.listener != nil {
		return response(http.StatusConflict, "", nil)
	}
	s, res := newStream(ctx)
	p.listener = s
	for _, m := range p.kept {
		s.put(m, false)
	}
	p.kept, p.keptSize = nil, 0
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		if p.listener == s {
			p.listener = nil
		}
		p.mu.Unlock()
		s.close(nil)
	})
	return res
}

// got takes a message of the server.
func (p *pipe) got(b []byte) {
	msg := peek(b)
	if msg.method == "" {
		p.mu.Lock()
		s := p.waiting[msg.id]
		p.mu.Unlock()
		if s == nil {
			return // nobody waits for it: the greeting of a process that was started again
		}
		if p.shared {
			b = setMember(b, "id", []byte(s.id))
		}
		s.put(b, true)
		p.drop(msg.id, s, nil)
		return
	}
	if s := p.streamFor(b); s != nil {
		s.put(b, false)
	}
}

// streamFor chooses where a message that is no answer goes: progress to the request that asked for it, else to a request under way,
// which it most likely is about, else to the listener.
func (p *pipe) streamFor(b []byte) *stream {
	token := string(memberOf(memberOf(b, "params"), "progressToken"))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.waiting {
		if token != "" && s.token == token {
			return s
		}
	}
	switch {
	case p.latest != nil:
		return p.latest
	case p.listener != nil:
		return p.listener
	}
	if len(p.kept) < maxKept && p.keptSize+len(b) <= maxMessage {
		p.kept, p.keptSize = append(p.kept, bytes.Clone(b)), p.keptSize+len(b)
	}
	return nil
}

func (p *pipe) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) == 0 && p.listener == nil
}

// running is the child, started where there is none.
func (p *pipe) running(ctx context.Context, msg message, body []byte) (*child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return nil, errors.New("the session has ended")
	case p.child != nil:
		if msg.method == "notifications/initialized" {
			p.initialized = body
		}
		return p.child, nil
	}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	switch {
	case msg.method == "initialize":
		p.hello = body
	case p.hello != nil:
		again := setMember(p.hello, "id", []byte(newID()))
		for _, m := range [][]byte{again, p.initialized} {
			if m == nil {
				continue
			}
			if _, err := p.child.write(m); err != nil {
				return nil, err
			}
		}
	}
	return p.child, nil
}

// start runs the command, not at once where the last process ended soon after its start. p.mu is held.
func (p *pipe) start(ctx context.Context) error {
	if time.Since(p.started) < lastPause && !p.started.IsZero() {
		p.pause = min(max(2*p.pause, firstPause), lastPause)
		if err := wait(ctx, p.pause); err != nil {
			return fmt.Errorf("the server ended soon after its start: %w", err)
		}
	} else {
		p.pause = 0
	}
	p.started = time.Now()
	var c *child
	c, err := startChild(p.wire.server, p.wire.log, p.got, func(err error) { p.died(&c, err) })
	if err != nil {
		return err
	}
	p.child = c
	return nil
}

// died gives up what waits for a process that has ended: whether it did its work, nobody knows.
func (p *pipe) died(c **child, err error) {
	p.mu.Lock()
	if p.child == *c {
		p.child = nil
	}
	waiting := p.waiting
	p.waiting, p.latest = map[string]*stream{}, nil
	p.mu.Unlock()
	for _, s := range waiting {
		s.close(err)
	}
}

// end ends the session.
func (p *pipe) end() {
	p.mu.Lock()
	p.ended = true
	c, listener := p.child, p.listener
	p.listener = nil
	p.mu.Unlock()
	if listener != nil {
		listener.close(nil)
	}
	if c != nil {
		c.stop()
	}
}
