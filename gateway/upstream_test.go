package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"agentgw"
	"agentgw/canonicalize"
)

// dropper is a server that answers the first request of each connection and then misbehaves. It counts arrivals by their X-Id.
type dropper struct {
	net.Listener
	afterFirst bool // close right after the first answer; else after having read the second request

	mu   sync.Mutex
	seen map[string]int
}

func newDropper(t *testing.T, afterFirst bool) *dropper {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dropper{Listener: l, afterFirst: afterFirst, seen: map[string]int{}}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *dropper) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for n := 1; n <= 2; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		s.mu.Lock()
		s.seen[req.Header.Get("X-Id")]++
		s.mu.Unlock()
		if n == 2 {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		if s.afterFirst {
			return
		}
	}
}

func (s *dropper) arrivals(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[id]
}

func senderTo(t *testing.T, base string, idempotencyHeader string) *HTTP {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHTTP(nil, map[string]*Upstream{"u": {Name: "u", URL: u, IdempotencyHeader: idempotencyHeader}})
	t.Cleanup(h.Close)
	return h
}

type senderFunc func(t *testing.T, base, idempotencyHeader string) *HTTP

// bothWays runs a test over this package's own client and over net/http's.
func bothWays(t *testing.T, test func(*testing.T, senderFunc)) {
	t.Run("plain", func(t *testing.T) { test(t, senderTo) })
	t.Run("net/http", func(t *testing.T) {
		test(t, func(t *testing.T, base, idempotencyHeader string) *HTTP {
			h := senderTo(t, base, idempotencyHeader)
			h.plain = nil
			return h
		})
	})
}

func proxied(method, path string, body string, header ...agentgw.Header) *Outgoing {
	path, query, _ := strings.Cut(path, "?")
	return &Outgoing{Call: &agentgw.Call{Request: &agentgw.Request{Upstream: "u", Method: method, Path: path, Query: query,
		Body: []byte(body), Header: header}}}
}

// net/http sends a request again when a connection breaks, if it thinks that harmless. Nothing here is harmless.
func TestNothingIsSentTwice(t *testing.T) { bothWays(t, testNothingIsSentTwice) }

func testNothingIsSentTwice(t *testing.T, sender senderFunc) {
	for _, c := range []struct{ method, body, key string }{
		{"POST", `{"a":1}`, "Idempotency-Key"},
		{"POST", ``, "Idempotency-Key"},
		{"POST", ``, "X-Idempotency-Key"},
		{"POST", ``, ""},
		{"PUT", ``, "Idempotency-Key"},
		{"DELETE", ``, "Idempotency-Key"},
		{"PATCH", `x`, "Idempotency-Key"},
		{"GET", ``, ""},
		{"GET", ``, "Idempotency-Key"},
		{"HEAD", ``, "Idempotency-Key"},
		{"OPTIONS", ``, "Idempotency-Key"},
	} {
		t.Run(c.method+" "+c.body+" "+c.key, func(t *testing.T) {
			s := newDropper(t, false)
			h := sender(t, "http://"+s.Addr().String(), c.key)
			send := func(id string) error {
				out := proxied(c.method, "/", c.body, agentgw.Header{Name: "X-Id", Value: id})
				out.Key = "k-" + id
				_, err := h.Send(t.Context(), out)
				return err
			}
			if err := send("1"); err != nil {
				t.Fatal(err)
			}
			var lost *SendError
			if err := send("2"); !errors.As(err, &lost) || !lost.Sent {
				t.Errorf("the second request was lost after it had been read: %v", err)
			}
			if n := s.arrivals("2"); n != 1 {
				t.Errorf("the second request arrived %d times", n)
			}
		})
	}
}

// A server that closes idle connections makes attempts cross with that. They arrive once and are a doubt, or are sent over a new one.
func TestIdleConnectionClosed(t *testing.T) { bothWays(t, testIdleConnectionClosed) }

func testIdleConnectionClosed(t *testing.T, sender senderFunc) {
	s := newDropper(t, true)
	h := sender(t, "http://"+s.Addr().String(), "Idempotency-Key")
	done := 0
	for i := range 300 {
		id := fmt.Sprint(i)
		out := proxied("POST", "/", `{"a":1}`, agentgw.Header{Name: "X-Id", Value: id})
		out.Key = id
		_, err := h.Send(t.Context(), out)
		n := s.arrivals(id)
		var lost *SendError
		switch {
		case err == nil && n == 1:
			done++
		case err == nil || n > 1 || !errors.As(err, &lost):
			t.Fatalf("%d arrivals, %v", n, err)
		case !lost.Sent:
			t.Fatalf("never sent, and not tried over a new connection: %v", err)
		}
	}
	if done < 100 {
		t.Errorf("only %d of 300 were done", done)
	}
}

func TestNeverSent(t *testing.T) { bothWays(t, testNeverSent) }

func testNeverSent(t *testing.T, sender senderFunc) {
	closed := httptest.NewServer(nil)
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, url string
		ctx       context.Context
	}{
		{"refused", closed.URL, t.Context()},
		{"no such host", "http://no-such-host.invalid", t.Context()},
		{"no TLS there", strings.Replace(plain.URL, "http:", "https:", 1), t.Context()},
		{"over before it began", plain.URL, over},
	} {
		_, err := sender(t, c.url, "").Send(c.ctx, proxied("POST", "/", "x"))
		var lost *SendError
		if !errors.As(err, &lost) || lost.Sent {
			t.Errorf("%s: %v is not known as never sent", c.name, err)
		}
	}
}

func TestLostAnswers(t *testing.T) { bothWays(t, testLostAnswers) }

func testLostAnswers(t *testing.T, sender senderFunc) {
	arrived := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "0123456789")
		case "/chunks":
			io.WriteString(w, "0123456789")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/slow":
			arrived <- struct{}{}
			<-r.Context().Done()
		case "/switch":
			c, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			c.Close()
		}
	}))
	defer s.Close()
	h := sender(t, s.URL, "")
	for _, path := range []string{"/cut", "/chunks", "/reset", "/slow", "/switch"} {
		ctx, cancel := context.WithCancel(t.Context())
		if path == "/slow" {
			go func() { <-arrived; cancel() }()
		}
		in, err := h.Send(ctx, proxied("POST", path, "x"))
		cancel()
		var lost *SendError
		if !errors.As(err, &lost) || !lost.Sent {
			t.Errorf("%s: %+v, %v", path, in, err)
		}
	}
}

func TestAnswersAsTheyCame(t *testing.T) { bothWays(t, testAnswersAsTheyCame) }

func testAnswersAsTheyCame(t *testing.T, sender senderFunc) {
	large := strings.Repeat("0123456789", 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		switch r.URL.Path {
		case "/headers":
			h["X-Many"] = []string{"b", "a"}
			h.Set("Set-Cookie", "s=1")
			h.Set("Connection", "X-Private")
			h.Set("X-Private", "1")
			h.Set("Keep-Alive", "timeout=5")
			w.WriteHeader(http.StatusCreated)
		case "/gzip":
			h.Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8bnot really")
		case "/trailer":
			h.Set("Trailer", "X-Sum")
			io.WriteString(w, "body")
			h.Set("X-Sum", "42")
		case "/redirect":
			http.Redirect(w, r, "/headers", http.StatusTemporaryRedirect)
		case "/hints":
			h.Set("Link", "</x>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNoContent)
		case "/large":
			io.WriteString(w, large)
		case "/events":
			h.Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	h := sender(t, s.URL, "")
	send := func(method, path string) *Incoming {
		out := proxied(method, path, "")
		out.MaxBytes = 4000
		in, err := h.Send(t.Context(), out)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return in
	}
	in := send("POST", "/headers")
	if got := fmt.Sprint(in.Answer.Header); in.Answer.Status != 201 || got != "[{Content-Length 0} {X-Many b} {X-Many a}]" {
		t.Errorf("%d %s", in.Answer.Status, got)
	}
	if got := fmt.Sprint(in.Live); !strings.Contains(got, "{Set-Cookie s=1}") || !strings.Contains(got, "{Date ") {
		t.Errorf("live %s", got)
	}
	if in := send("GET", "/gzip"); string(in.Answer.Body) != "\x1f\x8bnot really" || one(in.Answer.Header, "Content-Encoding") != "gzip" {
		t.Errorf("gzip: %+v", in.Answer)
	}
	if in := send("POST", "/trailer"); string(in.Answer.Body) != "body" || fmt.Sprint(in.Answer.Trailer) != "[{X-Sum 42}]" {
		t.Errorf("trailer: %+v", in.Answer)
	}
	if in := send("POST", "/redirect"); in.Answer.Status != 307 || one(in.Answer.Header, "Location") != "/headers" {
		t.Errorf("redirect: %+v", in.Answer)
	}
	if in := send("POST", "/hints"); in.Answer.Status != 204 || in.Rest != nil {
		t.Errorf("hints: %+v", in.Answer)
	}
	if in := send("HEAD", "/large"); in.Answer.Status != 200 || len(in.Answer.Body) != 0 {
		t.Errorf("head: %+v", in.Answer)
	}
	in = send("GET", "/large")
	if in.Rest == nil || len(in.Answer.Body) != 4000 {
		t.Fatalf("large: %d bytes", len(in.Answer.Body))
	}
	more, err := io.ReadAll(in.Rest)
	if string(in.Answer.Body)+string(more) != large || err != nil || in.Rest.Close() != nil {
		t.Errorf("large: %d more bytes, %v", len(more), err)
	}
	in = send("GET", "/events") // never ends; what is there must come all the same
	line := make([]byte, 7)
	if _, err := io.ReadFull(in.Rest, line); string(line) != "data: 1" || err != nil {
		t.Errorf("events: %q, %v", line, err)
	}
	in.Rest.Close()
}

// What an upstream sees of a request.
func TestRequestsAsTheyCame(t *testing.T) {
	var got *http.Request
	var body string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	h := senderTo(t, strings.Replace(s.URL, "https://", "https://robot:pw@", 1)+"/base/?v=2", "Idempotency-Key")
	h.upstreams["u"].Headers = []agentgw.Header{{Name: "X-Secret", Value: "ours"}}
	h.transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
	out := proxied("POST", "/a%2Fb//c;x=1/%E6%A0%AA?q=%20a&b", "as it came", agentgw.Header{Name: "X-Secret", Value: "theirs"},
		agentgw.Header{Name: "Idempotency-Key", Value: "theirs"}, agentgw.Header{Name: "X-Two", Value: "1"}, agentgw.Header{Name: "X-Two", Value: "2"})
	out.Key = "k1"
	if _, err := h.Send(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if got.ProtoMajor != 2 || got.RequestURI != "/base/a%2Fb//c;x=1/%E6%A0%AA?v=2&q=%20a&b" || body != "as it came" {
		t.Errorf("%s %s %q", got.Proto, got.RequestURI, body)
	}
	user, _, _ := got.BasicAuth()
	if got.Header.Get("X-Secret") != "ours" || fmt.Sprint(got.Header["X-Two"]) != "[1 2]" || got.Header.Get("User-Agent") != "" ||
		fmt.Sprint(got.Header["Idempotency-Key"]) != "[k1]" || user != "robot" || got.Header.Get("Accept-Encoding") != "" {
		t.Errorf("%v", got.Header)
	}
}

func TestToolRequests(t *testing.T) {
	for _, c := range []struct {
		tool             Tool
		args             string
		path, query, out string // or
		wrong            string
	}{
		{tool: Tool{Path: "/invoices"}, args: `{"b": 1.50, "a": "\u00e9"}`, path: "/invoices", out: `{"b": 1.50, "a": "\u00e9"}`},
		{tool: Tool{Path: "/customers/{id}/invoices"}, args: `{"amount": 9007199254740993, "id": 7}`, path: "/customers/7/invoices", out: `{"amount":9007199254740993}`},
		{tool: Tool{Path: "/orders/{id}:cancel"}, args: `{"id": "a/b c?d"}`, path: "/orders/a%2Fb%20c%3Fd:cancel", out: `{}`},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": "../admin"}`, wrong: "/id: is not a name"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": ".."}`, wrong: "/id: is not a name"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": "%2e%2e%2fadmin"}`, wrong: "/id: is not a name"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": "a\\..\\b"}`, wrong: "/id: is not a name"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": "..;a/b"}`, wrong: "/id: is not a name"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": "a\r\nb"}`, wrong: "/id: is not a name"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": "v1.2..3"}`, path: "/x/v1.2..3", out: `{}`},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": ""}`, wrong: "/id: is needed in the path"},
		{tool: Tool{Path: "/x/{id}"}, args: `{}`, wrong: "/id: is needed in the path"},
		{tool: Tool{Path: "/x/{id}"}, args: `{"id": ["a"]}`, wrong: "/id: is needed in the path"},
		{tool: Tool{Method: "GET", Path: "/find?v=1"}, args: `{"q": "a b", "tags": ["x", "y"], "n": null}`, path: "/find", query: "v=1&q=a+b&tags=x&tags=y"},
		{tool: Tool{Method: "DELETE", Path: "/x/{id}"}, args: `{"id": 7}`, path: "/x/7"},
		{tool: Tool{Path: "/x", Body: "form"}, args: `{"b": true, "a": [1, 2.0], "名": "株"}`, path: "/x", out: "b=true&a=1&a=2.0&%E5%90%8D=%E6%A0%AA"},
		{tool: Tool{Path: "/x", Body: "form"}, args: `{"a": {"b": 1}}`, wrong: "/a: is an object"},
		{tool: Tool{Name: "issue", Path: "/x", Body: "xml"}, args: `{"@v": 1, "line": [{"@no": 1, "#text": "a < b"}, "c"], "n": null}`, path: "/x",
			out: `<?xml version="1.0" encoding="UTF-8"?><issue v="1"><line no="1">a &lt; b</line><line>c</line><n/></issue>`},
		{tool: Tool{Name: "issue", Path: "/x", Body: "xml"}, args: `{"a b": 1}`, wrong: "/a b: is no name of an XML element"},
		{tool: Tool{Name: "issue", Path: "/x", Body: "xml"}, args: `{"a": "\u0001"}`, wrong: "cannot stand in XML"},
	} {
		args, err := canonicalize.Parse([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.tool.request(args)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s %s: %v, want %q", c.tool.Path, c.args, err, c.wrong)
			}
			continue
		}
		if err != nil || got.path != c.path || got.query != c.query || string(got.body) != c.out {
			t.Errorf("%s %s: %s ? %s %q, %v", c.tool.Path, c.args, got.path, got.query, got.body, err)
		}
	}
}

// What one door writes as XML the other reads back.
func TestXMLThereAndBack(t *testing.T) {
	const args = `{"@v":"1","customer":"C-1","line":[{"@no":"1","#text":"a < b"},"c"],"meta":{"deep":{"er":"x"}}}`
	v, err := canonicalize.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	text, err := encodeXML("issue", v)
	if err != nil {
		t.Fatal(err)
	}
	back, err := xmlFields(text, "utf-8")
	if got := (canonicalize.Value{Kind: canonicalize.Object, Members: back}).AppendJSON(nil); err != nil || string(got) != args {
		t.Errorf("%s, %v", got, err)
	}
}
