package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentgw/ledger"
)

// cutPoint is where the ledger is cut off: at the next write, before or after it is carried out.
type cutPoint struct {
	after bool
	then  func() // what happens there, while nothing passes; nil: nothing
}

// outage is how long a ledger stays away after it was cut off.
const outage = 700 * time.Millisecond

// cutter decides when a ledger is cut off.
type cutter interface {
	// write is told of a write, and says whether it is the point: before it is carried out, or after.
	write() (before, after bool)
	// fall cuts the ledger off.
	fall()
	isDown() bool
}

// cut is the battery's cutter; drivers and wires ask it.
type cut struct {
	back chan struct{} // a token when the ledger is back

	mu    sync.Mutex
	point *cutPoint
	down  bool
	lower func() // cuts the ledger off; nil: it asks isDown
	raise func() // brings it back
}

func newCut() *cut { return &cut{back: make(chan struct{}, 1)} }

// arm sets the point.
func (c *cut) arm(p cutPoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.point = &p
}

// write implements cutter.
func (c *cut) write() (before, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.point != nil && !c.point.after, c.point != nil && c.point.after
}

// fall cuts the ledger off, does what belongs there, and brings it back in a while.
func (c *cut) fall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.point == nil {
		return
	}
	then := c.point.then
	c.point, c.down = nil, true
	if c.lower != nil {
		c.lower()
	}
	go func() {
		if then != nil {
			then()
		}
		time.Sleep(outage)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.down = false
		if c.raise != nil {
			c.raise()
		}
		c.back <- struct{}{}
	}()
}

func (c *cut) isDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// cutStore is a store whose driver is cut off.
type cutStore struct {
	ledger.Store
	cutter
}

var errCut = errors.New("the battery cut the ledger off")

// Swap implements ledger.Store.
func (s cutStore) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	if s.isDown() {
		return nil, fmt.Errorf("%w: %w", errCut, ledger.ErrNotApplied)
	}
	before, after := false, false
	for _, sw := range swaps {
		if sw.Stamp != 0 {
			before, after = s.write()
			break
		}
	}
	if before {
		s.fall()
		return nil, errCut
	}
	replies, err := s.Store.Swap(ctx, swaps...)
	if after {
		s.fall()
		return nil, errCut
	}
	return replies, err
}

// Health implements ledger.Store.
func (s cutStore) Health(ctx context.Context) error {
	if s.isDown() {
		return errCut
	}
	return s.Store.Health(ctx)
}

// wire stands between a gateway and a Redis on the network.
type wire struct {
	*cut
	url      string // for the gateway
	network  string
	addr     string
	listener net.Listener

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// wirable reports whether a wire can stand in front of a ledger: not where its servers tell clients their own addresses, or it is encrypted.
func wirable(ledgerURL string) bool {
	scheme, _, _ := strings.Cut(ledgerURL, ":")
	return scheme == "redis" || scheme == "redis+unix"
}

// newWire stands in front of the Redis of a URL.
func newWire(ledgerURL string) (*wire, error) {
	u, err := url.Parse(ledgerURL)
	if err != nil {
		return nil, errors.New("the URL of the ledger cannot be read")
	}
	w := &wire{cut: newCut(), network: "tcp", addr: u.Host, conns: map[net.Conn]bool{}}
	if u.Scheme != "redis" {
		w.network, w.addr = "unix", u.Path
		u.Scheme, u.Path = "redis", ""
	} else if u.Port() == "" {
		w.addr = net.JoinHostPort(u.Hostname(), "6379")
	}
	if err := w.listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	at := w.listener.Addr().String()
	u.Host = at
	w.url = u.String()
	w.lower = func() { w.listener.Close() } // who connects is refused
	w.raise = func() { w.listen(at) }       // where that fails, the ledger stays away, and the fault says so
	return w, nil
}

// listen takes connections from now on.
func (w *wire) listen(at string) (err error) {
	if w.listener, err = net.Listen("tcp", at); err == nil {
		go w.accept(w.listener)
	}
	return err
}

func (w *wire) close() error {
	w.cut.mu.Lock()
	defer w.cut.mu.Unlock()
	err := w.listener.Close()
	w.drop()
	return err
}

func (w *wire) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.DialTimeout(w.network, w.addr, 5*time.Second)
		if err != nil {
			client.Close()
			continue
		}
		w.mu.Lock()
		w.conns[client], w.conns[server] = true, true
		w.mu.Unlock()
		lost := &atomic.Bool{} // the next reply is the point of the cut
		go w.pump(server, client, w.request(lost))
		go w.pump(client, server, w.reply(lost))
	}
}

// writes finds a run of the script that writes a record, in the protocol of Redis: an argument of w, o or d, eight bytes and a number (see
// swap.lua). One that only looks has none.
var writes = regexp.MustCompile(`(?s)\r\n\$1[0-9]\r\n[wod].{2,8}[0-9]+\r\n`)

// request lets the commands of a client pass, up to the point.
func (w *wire) request(lost *atomic.Bool) func([]byte) bool {
	return func(b []byte) bool {
		if w.isDown() {
			return false
		}
		if !writes.Match(b) {
			return true
		}
		before, after := w.write()
		if after {
			lost.Store(true)
		}
		return !before
	}
}

func (w *wire) reply(lost *atomic.Bool) func([]byte) bool {
	return func([]byte) bool { return !lost.Load() && !w.isDown() }
}

// pump copies until something may not pass: then the ledger is cut off.
func (w *wire) pump(to io.WriteCloser, from net.Conn, pass func([]byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !pass(buf[:n]) {
			w.fall()
			w.drop()
			break
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	from.Close()
	to.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, from)
}

// drop ends all connections.
func (w *wire) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		conn.Close()
	}
}
