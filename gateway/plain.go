package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// plain (nil: net/http does all) carries requests over HTTP/1.1 without TLS, each by the goroutine that sends it: net/http's client takes two more for each
// connection, which costs as much again as the system calls. It also knows better what has left: it is asked for one request, and writes
// it once. What is large, and every other protocol, goes through net/http.
type plain struct {
	dialer net.Dialer

	mu      sync.Mutex
	idle    map[string][]*plainConn // by address; who came last goes first
	sweeper *time.Timer             // nil: nothing is idle
}

const (
	maxPlain     = 32 << 10 // bytes of a body that is written before the answer is looked for: less than any connection buffers
	maxIdle      = 1024     // connections to one address
	maxHead      = 1 << 20  // bytes of the head of an answer, those of informational ones included
	maxConnField = 4 << 10  // bytes of each buffer of a connection
)

// carries reports whether a request is one for plain.
func (p *plain) carries(to *target) bool {
	return p != nil && canBeQuiet && to.url.Scheme == "http" && len(to.body) <= maxPlain && ascii([]byte(to.url.Host))
}

// roundTrip sends a request and reads the head of its answer. The error is a *SendError, or a *staleError over one. The connection is
// free when the answer's body is closed.
func (p *plain) roundTrip(ctx context.Context, to *target) (*http.Response, error) {
	addr := to.url.Host
	if to.url.Port() == "" {
		addr = net.JoinHostPort(to.url.Hostname(), "80")
	}
	c, reused, err := p.conn(ctx, addr)
	if err != nil {
		return nil, failed(to, false, false, err)
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	before := c.wrote
	res, err := c.exchange(to)
	if err != nil {
		stop()
		c.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, failed(to, c.wrote > before, reused, err)
	}
	res.Body = &plainBody{body: res.Body, conn: c, keep: !res.Close, done: func(again bool) {
		if stop() && again {
			p.put(addr, c)
		} else {
			c.Close()
		}
	}}
	return res, nil
}

// conn is an idle connection on which nothing has happened, or a new one.
func (p *plain) conn(ctx context.Context, addr string) (c *plainConn, reused bool, err error) {
	for c := p.take(addr); c != nil; c = p.take(addr) {
		if time.Since(c.since) < idleTimeout && c.quiet() {
			return c, true, nil
		}
		c.Close()
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	conn, err := p.dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, false, err
	}
	c = &plainConn{Conn: conn}
	if c.raw, err = conn.(syscall.Conn).SyscallConn(); err != nil {
		conn.Close()
		return nil, false, err
	}
	c.r, c.w = bufio.NewReaderSize(c, maxConnField), bufio.NewWriterSize(c, maxConnField)
	return c, false, nil
}

func (p *plain) take(addr string) *plainConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[addr]
	if len(idle) == 0 {
		return nil
	}
	c := idle[len(idle)-1]
	idle[len(idle)-1] = nil
	p.idle[addr] = idle[:len(idle)-1]
	return c
}

func (p *plain) put(addr string, c *plainConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[addr]) >= maxIdle {
		c.Close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*plainConn{}
	}
	c.since = time.Now()
	p.idle[addr] = append(p.idle[addr], c)
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(idleTimeout, func() { p.drop(idleTimeout) })
	}
}

// drop closes connections that have been idle for a time.
func (p *plain) drop(after time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for addr, idle := range p.idle {
		for len(idle) > 0 && time.Since(idle[0].since) >= after {
			idle[0].Close()
			idle = idle[1:]
		}
		if p.idle[addr] = idle; len(idle) == 0 {
			delete(p.idle, addr)
		}
	}
	switch {
	case p.sweeper == nil:
	case len(p.idle) == 0:
		p.sweeper.Stop()
		p.sweeper = nil
	default:
		p.sweeper.Reset(idleTimeout)
	}
}

// plainConn is a connection, used by one request at a time.
type plainConn struct {
	net.Conn
	raw   syscall.RawConn
	r     *bufio.Reader
	w     *bufio.Writer
	wrote int64 // bytes
	room  int64 // how many bytes more may be read
	since time.Time
}

var errLongHead = errors.New("the head of the answer is longer than 1 MiB")

func (c *plainConn) Read(b []byte) (int, error) {
	if c.room <= 0 {
		return 0, errLongHead
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.room)])
	c.room -= int64(n)
	return n, err
}

func (c *plainConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote += int64(n)
	return n, err
}

// exchange writes a request and reads the head of its answer, past informational ones.
func (c *plainConn) exchange(to *target) (*http.Response, error) {
	req := &http.Request{Method: to.method, URL: to.url, Host: to.url.Host, Header: to.header, ContentLength: int64(len(to.body))}
	if len(to.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(to.body))
	}
	if err := req.Write(c.w); err != nil {
		return nil, err
	}
	if err := c.w.Flush(); err != nil {
		return nil, err
	}
	for c.room = maxHead; ; {
		res, err := http.ReadResponse(c.r, req)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errors.New("the connection was closed before an answer came")
		}
		if err != nil || res.StatusCode < 100 || res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			c.room = math.MaxInt64
			return res, err
		}
	}
}

// plainBody is the body of an answer; when it is closed its connection is free, or closed where something of the answer is left.
type plainBody struct {
	body  io.Reader
	conn  *plainConn
	keep  bool // the server means to go on
	whole bool // it was read to its end
	done  func(again bool)
}

func (b *plainBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.whole = b.whole || err == io.EOF
	return n, err
}

func (b *plainBody) Close() error {
	if done := b.done; done != nil {
		b.done = nil
		done(b.keep && b.whole && b.conn.r.Buffered() == 0)
	}
	return nil
}
