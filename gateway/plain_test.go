package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgw"
)

// scripted is a server that answers each request with the text that its path names, and counts connections.
func scripted(t *testing.T, answers map[string]string) (url string, conns *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns = new(atomic.Int32)
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			t.Cleanup(func() { c.Close() })
			go func() {
				r := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					io.WriteString(c, answers[req.URL.Path])
				}
			}()
		}
	})
	return "http://" + l.Addr().String(), conns
}

// A connection carries the next request only where nothing of the last answer is left on it.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, c := range []struct {
		name, method, answer string
		again                bool
	}{
		{"length", "POST", ok, true},
		{"chunks", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n", true},
		{"no content", "POST", "HTTP/1.1 204 No Content\r\n\r\n", true},
		{"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", true},
		{"informational", "POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok, true},
		{"close", "POST", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false},
		{"old protocol", "POST", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false},
		{"a byte too many", "POST", ok + "x", false},
		{"two answers", "POST", ok + ok, false},
		{"not at its end", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nokok", false},
		{"larger than wanted", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nokokokok", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, conns := scripted(t, map[string]string{"/first": c.answer, "/second": ok})
			h := senderTo(t, url, "")
			for i, path := range []string{"/first", "/second"} {
				out := proxied(c.method, path, "x")
				if i == 0 {
					out.MaxBytes = 3
				} else {
					out.Call.Request.Method = "POST"
				}
				in, err := h.Send(t.Context(), out)
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				if in.Rest != nil {
					in.Rest.Close()
				} else if body := string(in.Answer.Body); body != "ok" && c.method == "POST" && in.Answer.Status == 200 {
					t.Errorf("%s: answered %q", path, body)
				}
			}
			if n := conns.Load(); (n == 1) != c.again {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// What is no answer is a doubt, as is an answer that is cut off while it is read. The body of what has a number that is no status is not
// taken for the answer.
func TestNoAnswer(t *testing.T) { bothWays(t, testNoAnswer) }

func testNoAnswer(t *testing.T, sender senderFunc) {
	const inner = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
	url, _ := scripted(t, map[string]string{
		"/099":     fmt.Sprintf("HTTP/1.1 099 Odd\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner),
		"/+20":     fmt.Sprintf("HTTP/1.1 +20 Odd\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner),
		"/junk":    "SSH-2.0-OpenSSH_9.6\r\n",
		"/long":    "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"/hints":   strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </"+strings.Repeat("x", 1000)+">\r\n\r\n", 1200),
		"/waiting": "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok",
	})
	h := sender(t, url, "")
	for _, path := range []string{"/099", "/+20", "/junk", "/long", "/hints", "/waiting"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := h.Send(ctx, proxied("POST", path, "x"))
		cancel()
		if lost := (*SendError)(nil); !errors.As(err, &lost) || !lost.Sent {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// An idle connection that the server has closed costs nothing: the next attempt goes over a new one, and is no doubt.
func TestClosedIdleConnection(t *testing.T) {
	s := newDropper(t, true)
	h := senderTo(t, "http://"+s.Addr().String(), "")
	for _, id := range []string{"1", "2"} {
		out := proxied("POST", "/", "x", agentgw.Header{Name: "X-Id", Value: id})
		if _, err := h.Send(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		if n := s.arrivals(id); n != 1 {
			t.Fatalf("%d arrivals", n)
		}
		for _, idle := range h.plain.idle[s.Addr().String()] {
			for idle.quiet() {
				runtime.Gosched()
			}
		}
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	url, _ := scripted(t, map[string]string{"/": "HTTP/1.1 204 No Content\r\n\r\n"})
	h := senderTo(t, url, "")
	if _, err := h.Send(t.Context(), proxied("POST", "/", "x")); err != nil {
		t.Fatal(err)
	}
	if len(h.plain.idle) != 1 || h.plain.sweeper == nil {
		t.Fatalf("%d idle", len(h.plain.idle))
	}
	h.Close()
	if len(h.plain.idle) != 0 || h.plain.sweeper != nil {
		t.Errorf("%d idle after Close", len(h.plain.idle))
	}
}
