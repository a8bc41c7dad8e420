package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentgw"
)

// What a proxied request becomes.
func TestProxyCall(t *testing.T) {
	for _, c := range []struct {
		name, method, target, body string
		header                     []string
		tool, args                 string
	}{
		{"guarded by route and tool", "POST", "/proxy/billing/customers/7/invoices", `{"amount": 1}`, []string{"Content-Type: application/json"},
			"create_invoice", `{"customer_id":"7","amount":1}`},
		{"trailing slash", "POST", "/proxy/billing/customers/7/invoices/", ``, nil, "create_invoice", `{"customer_id":"7"}`},
		{"double slash", "POST", "/proxy/billing//customers//7/invoices", ``, nil, "create_invoice", `{"customer_id":"7"}`},
		{"escaped letters", "POST", "/proxy/billing/c%75stomers/7/invoices", ``, nil, "create_invoice", `{"customer_id":"7"}`},
		{"escaped slash", "POST", "/proxy/billing/customers/7%2Finvoices", ``, nil, "create_invoice", `{"customer_id":"7"}`},
		{"path parameters of servlets", "POST", "/proxy/billing/customers;v=1/7/invoices;jsessionid=1", ``, nil, "create_invoice", `{"customer_id":"7"}`},
		{"guarded by the tool alone", "POST", "/proxy/erp/orders/A-1/approve", ``, nil, "approve_order", `{"order":"A-1"}`},
		{"the route with fewer parameters", "POST", "/proxy/erp/orders/search/approve", ``, nil, "search_orders", `{}`},
		{"another method", "PUT", "/proxy/billing/customers/7/invoices", `x`, nil, "", `{"@body":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`},
		{"unguarded and unreadable", "POST", "/proxy/erp/upload?v=1", `x`, []string{"Content-Type: image/png"}, "",
			`{"@query":"v=1","@body":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`},
		{"unguarded and readable", "POST", "/proxy/erp/upload?v=1", `{"a":1}`, []string{"Content-Type: application/json"}, "", `{"v":"1","a":1}`},
		{"nothing below the upstream", "GET", "/proxy/erp", ``, nil, "", `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &scriptedFlow{}
			s := serve(t, f, DoorConfig{})
			res, body := ask(t, c.method, s.URL+c.target, c.body, c.header...)
			if len(f.calls) != 1 {
				t.Fatalf("%d %s", res.StatusCode, body)
			}
			call := f.calls[0]
			path, query, _ := strings.Cut(c.target, "?")
			path = "/" + strings.TrimPrefix(strings.SplitN(path, "/", 4)[len(strings.SplitN(path, "/", 4))-1], "erp")
			if call.Tool != c.tool || string(call.Arguments) != c.args || call.Request.Path != path || call.Request.Query != query ||
				string(call.Request.Body) != c.body || call.Request.Method != c.method || call.Mode != agentgw.Execute {
				t.Errorf("%q %s %+v", call.Tool, call.Arguments, call.Request)
			}
		})
	}
}

func TestProxyRefusals(t *testing.T) {
	for _, c := range []struct {
		name, method, target string
		header               []string
		status               int
		detail               string
	}{
		{"no such upstream", "GET", "/proxy/nowhere/x", nil, 404, `no HTTP upstream "nowhere"`},
		{"an MCP upstream", "GET", "/proxy/desk/x", nil, 404, `no HTTP upstream "desk"`},
		{"dot segments", "POST", "/proxy/erp/x/../orders", nil, 400, "dot segment"},
		{"out of the upstream", "GET", "/proxy/erp/../billing/x", nil, 400, "dot segment"},
		{"escaped dots", "POST", "/proxy/erp/x/%2e%2E/orders", nil, 400, "dot segment"},
		{"escaped slash and dots", "POST", "/proxy/erp/x%2f..%2forders", nil, 400, "dot segment"},
		{"twice escaped", "POST", "/proxy/erp/x/%252e%252e/orders", nil, 400, "dot segment"},
		{"slash escaped twice", "POST", "/proxy/billing/customers/7%252Finvoices", nil, 400, "escaped twice"},
		{"backslash", "POST", `/proxy/erp/x/..%5corders`, nil, 400, "dot segment"},
		{"dots with a parameter", "POST", "/proxy/erp/x/..;/orders", nil, 400, "dot segment"},
		{"control character", "POST", "/proxy/erp/x%0d%0aY", nil, 400, "control character"},
		{"not UTF-8", "POST", "/proxy/erp/%ff", nil, 400, "UTF-8"},
		{"trace", "TRACE", "/proxy/erp/x", nil, 400, "does not carry TRACE"},
		{"method override", "POST", "/proxy/erp/x", []string{"X-HTTP-Method-Override: DELETE"}, 400, "asks for another method"},
		{"two method overrides", "POST", "/proxy/erp/x", []string{"X-HTTP-Method-Override: POST", "X-HTTP-Method-Override: DELETE"}, 400, "asks for another method"},
		{"method override with underscores", "POST", "/proxy/erp/x", []string{"X_HTTP_Method_Override: DELETE"}, 400, "asks for another method"},
		{"web socket", "GET", "/proxy/erp/x", []string{"Connection: Upgrade", "Upgrade: websocket"}, 400, "does not change protocols"},
		{"unreadable and guarded", "POST", "/proxy/billing/customers/7/invoices", []string{"Content-Type: text/plain"}, 400, "Content-Type: text/plain cannot be read"},
		{"the route of two tools", "POST", "/proxy/erp/soap", nil, 400, "is the route of more than one tool"},
		{"unknown mode", "GET", "/proxy/erp/x", []string{"Agentgw-Mode: dry"}, 400, `Agentgw-Mode: is "dry"`},
		{"two keys", "POST", "/proxy/erp/x", []string{"Idempotency-Key: a", "Idempotency-Key: b"}, 400, "Idempotency-Key: is given twice"},
		{"too large", "POST", "/proxy/erp/x?" + strings.Repeat("x", 10), []string{"X-Large: 1"}, 413, "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &scriptedFlow{}
			s := serve(t, f, DoorConfig{MaxBody: 100})
			body := "some"
			if c.status == 413 {
				body = strings.Repeat("x", 101)
			}
			if c.method == "TRACE" {
				body = ""
			}
			res, text := ask(t, c.method, s.URL+c.target, body, c.header...)
			if res.StatusCode != c.status || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), c.detail) || len(f.calls) != 0 || res.Header.Get("Agentgw-Decision") != "rejected" {
				t.Errorf("%d %s, want %d %s", res.StatusCode, text, c.status, c.detail)
			}
		})
	}
}

func TestForwardedHeaders(t *testing.T) {
	f := &scriptedFlow{}
	s := serve(t, f, DoorConfig{Principals: Principals{{Name: "robot", Secret: "ours", Tenant: "acme"}}})
	about := []string{"Idempotency-Key: k", "Agentgw-Task: t", "Agentgw-Run: r", "Agentgw-Agent: a", "Agentgw-Call-Id: c", "Agentgw-Repeat-Token: rt",
		"Agentgw-Same-As: eff_x", "Agentgw-Batch: b", "Agentgw-Mode: redeliver"}
	ask(t, "POST", s.URL+"/proxy/erp/x", "", append(about, "Agentgw-Key: ours", "Authorization: Bearer theirs", "Connection: keep-alive, X-Hop", "X-Hop: 1",
		"Te: trailers", "Upgrade: h2c", "Proxy-Authorization: x", "Cookie: c=1", "Accept-Encoding: gzip", "X-Forwarded-For: 6.6.6.6", "X-Forwarded-User: root",
		"Forwarded: for=6.6.6.6", "User-Agent: bot", "X-Two: 1", "X-Two: 2")...)
	call := f.calls[0]
	got := fmt.Sprint(call.Request.Header)
	host := strings.TrimPrefix(s.URL, "http://")
	want := "[{Authorization Bearer theirs} {Cookie c=1} {Idempotency-Key k} {User-Agent bot} {X-Two 1} {X-Two 2} {X-Forwarded-For 127.0.0.1} " +
		"{X-Forwarded-Host " + host + "} {X-Forwarded-Proto http}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if call.IdempotencyKey != "k" || call.Context != (agentgw.Context{Agent: "a", Run: "r", Task: "t", CallID: "c"}) || call.RepeatToken != "rt" ||
		call.SameAs != "eff_x" || call.Batch != "b" || call.Mode != agentgw.Redeliver || call.Principal != "robot" || call.Tenant != "acme" {
		t.Errorf("%+v", call)
	}
	// Our secret is never forwarded, wherever it stands.
	ask(t, "GET", s.URL+"/proxy/erp/x", "", "Authorization: bearer ours")
	ask(t, "GET", s.URL+"/proxy/erp/x", "", "Authorization: Bearer ours", "Agentgw-Key: ours", "Accept-Encoding: br")
	for _, call := range f.calls[1:] {
		if strings.Contains(fmt.Sprint(call.Request.Header), "ours") {
			t.Errorf("%v", call.Request.Header)
		}
	}
	if one(f.calls[2].Request.Header, "Accept-Encoding") != "br" {
		t.Error("a read may be compressed")
	}
}

// The tool's answer goes out byte for byte.
func TestProxiedAnswer(t *testing.T) {
	a := &agentgw.Answer{Status: 404, Body: []byte("\x00<b>?"), Header: []agentgw.Header{{Name: "X-Two", Value: "2"}, {Name: "X-Two", Value: "1"},
		{Name: "Agentgw-Decision", Value: "spoofed"}}, Trailer: []agentgw.Header{{Name: "X-Sum", Value: "42"}}}
	d := &agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Failed, Answer: a, Operation: "o", Effect: &agentgw.Effect{ID: someID(3)}}
	live := []agentgw.Header{{Name: "Set-Cookie", Value: "s=1"}, {Name: "Date", Value: "Wed, 01 Apr 2026 00:00:00 GMT"}}
	none := &agentgw.Decision{Verdict: agentgw.Replayed, Answer: &agentgw.Answer{Status: 204}}
	head := &agentgw.Decision{Verdict: agentgw.Passed, Outcome: agentgw.Succeeded,
		Answer: &agentgw.Answer{Status: 200, Header: []agentgw.Header{{Name: "Content-Length", Value: "1234"}}}}
	check := &agentgw.Decision{Verdict: agentgw.Replayed, Answer: a, Token: "t"}
	f := &scriptedFlow{say: []Response{{Decision: d, Live: live}, {Decision: none}, {Decision: head}, {Decision: check}}}
	s := serve(t, f, DoorConfig{})
	res, body := ask(t, "POST", s.URL+"/proxy/erp/x", "")
	h := res.Header
	if res.StatusCode != 404 || body != "\x00<b>?" || fmt.Sprint(h["X-Two"]) != "[2 1]" || fmt.Sprint(h["Agentgw-Decision"]) != "[executed]" ||
		h.Get("Set-Cookie") != "s=1" || fmt.Sprint(h["Date"]) != "[Wed, 01 Apr 2026 00:00:00 GMT]" || h.Get("Content-Type") != "" ||
		res.Trailer.Get("X-Sum") != "42" || h.Get("X-Should-Retry") != "" || h.Get("Agentgw-Effect") != someID(3).String() {
		t.Errorf("%d %q %v %v", res.StatusCode, body, h, res.Trailer)
	}
	if res, body := ask(t, "DELETE", s.URL+"/proxy/erp/x", ""); res.StatusCode != 204 || body != "" || res.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %q %v", res.StatusCode, body, res.Header)
	}
	if res, _ := ask(t, "HEAD", s.URL+"/proxy/erp/x", ""); res.StatusCode != 200 || res.ContentLength != 1234 {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	if res, body := ask(t, "POST", s.URL+"/proxy/erp/x", "", "Agentgw-Mode: check"); res.StatusCode != 200 || !strings.Contains(body, `"repeat_token":"t"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// breaking is what follows a large answer whose upstream dies.
type breaking struct{ io.Reader }

func (breaking) Close() error { return nil }

func TestLargeAnswerStreams(t *testing.T) {
	d := &agentgw.Decision{Verdict: agentgw.Executed, Outcome: agentgw.Succeeded, Answer: &agentgw.Answer{Status: 200, Body: []byte("first ")}}
	whole := Response{Decision: d, Rest: breaking{strings.NewReader("and last")}}
	broken := Response{Decision: d, Rest: breaking{io.MultiReader(strings.NewReader("and"), errReader{})}}
	s := serve(t, &scriptedFlow{say: []Response{whole, broken}}, DoorConfig{})
	if _, body := ask(t, "GET", s.URL+"/proxy/erp/x", ""); body != "first and last" {
		t.Error(body)
	}
	res, err := http.Get(s.URL + "/proxy/erp/x")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a cut answer looked whole: %q", b)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What no polite client sends, written by hand.
func TestRawRequests(t *testing.T) {
	for _, c := range []struct{ raw, status string }{
		{"GET http://127.0.0.1/proxy/erp/x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200"},
		{"POST /proxy/erp/x/../y HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "400"},
		{"POST /proxy/erp/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200"}, // chunked wins, the length is dropped
		{"POST /proxy/erp/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"},
		{"POST /proxy/erp/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{"POST /proxy/erp/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "400"},
		{"POST /v1/calls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", "400"},
	} {
		f := &scriptedFlow{}
		s := serve(t, f, DoorConfig{})
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, c.raw)
		conn.(*net.TCPConn).CloseWrite()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		conn.Close()
		if err != nil || fmt.Sprint(res.StatusCode) != c.status || (c.status != "200") != (len(f.calls) == 0) {
			t.Errorf("%q: %v %v, %d calls", c.raw, res, err, len(f.calls))
		}
		for _, call := range f.calls {
			if bytes.Contains(fmt.Append(nil, call.Request.Header), []byte("Content-Length")) {
				t.Errorf("%v", call.Request.Header)
			}
		}
	}
}

func TestLoopbackOnly(t *testing.T) {
	f := &scriptedFlow{}
	d := newDoors(f, Options{Policy: loadPolicy(t, doorsPolicy), Tools: doorsTools, Upstreams: doorsUpstreams}, DoorConfig{}).handler()
	for _, c := range []struct {
		remote, host, origin string
		status               int
	}{
		{"127.0.0.1:1", "127.0.0.1:8080", "", 200},
		{"[::1]:1", "localhost", "", 200},
		{"[::ffff:127.0.0.1]:1", "[::1]:8080", "http://localhost:3000", 200},
		{"192.0.2.1:1", "127.0.0.1:8080", "", 401},
		{"127.0.0.1:1", "evil.example", "", 401},
		{"127.0.0.1:1", "evil.example:8080", "", 401},
		{"127.0.0.1:1", "", "", 401},
		{"127.0.0.1:1", "localhost.evil.example", "", 401},
		{"127.0.0.1:1", "127.0.0.1:8080", "http://evil.example", 401},
		{"127.0.0.1:1", "127.0.0.1:8080", "null", 401},
		{"127.0.0.1:1", "127.0.0.1:8080", "http://127.0.0.1.evil.example", 401},
	} {
		for _, target := range []string{"/v1/tools", "/proxy/erp/x"} {
			r := httptest.NewRequest("GET", target, nil)
			r.RemoteAddr, r.Host = c.remote, c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%+v %s: %d %s", c, target, w.Code, w.Body)
			}
		}
	}
	for _, call := range f.calls {
		if call.Tenant != "default" || call.Principal != "" {
			t.Errorf("%+v", call)
		}
	}
}
