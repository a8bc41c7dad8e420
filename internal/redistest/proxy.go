package redistest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy stands between clients and a server and loses replies on demand.
type Proxy struct {
	URL string // redis://…

	listener net.Listener
	to       string
	lose     atomic.Int64
	lost     atomic.Int64
	wait     sync.WaitGroup
}

// StartProxy runs a proxy in front of a server for one test.
func (s *Server) StartProxy(t TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{URL: "redis://" + l.Addr().String(), listener: l, to: s.Socket}
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.wait.Wait()
	})
	return p
}

// LoseReplies makes the next n replies of the server close their connection instead of reaching the client.
func (p *Proxy) LoseReplies(n int) { p.lose.Store(int64(n)) }

// Lost counts the replies that did not reach a client.
func (p *Proxy) Lost() int { return int(p.lost.Load()) }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.to)
		if err != nil {
			client.Close()
			continue
		}
		p.wait.Go(func() {
			io.Copy(server, client)
			server.Close()
			client.Close()
		})
		p.wait.Go(func() {
			p.replies(client, server)
			server.Close()
			client.Close()
		})
	}
}

func (p *Proxy) replies(client, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.lose.Add(-1) >= 0 {
			p.lost.Add(1)
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
