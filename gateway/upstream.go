package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	maxTries    = 4 // of an attempt of which nothing left, because the idle connection had been closed

	// Servers drop idle connections after 5 s (Node) to 75 s (nginx). A request that crosses with that is a doubt, so ours go first.
	idleTimeout = 4 * time.Second
)

// HTTP sends attempts to HTTP upstreams, each at most once: it follows no redirect, uses no proxy of the environment, and leaves
// net/http no way to send a request again. It is safe for concurrent use.
type HTTP struct {
	tools     map[string]*Tool
	upstreams map[string]*Upstream
	transport *http.Transport
	plain     *plain
}

// NewHTTP makes a sender for tools and for proxied requests.
func NewHTTP(tools map[string]*Tool, upstreams map[string]*Upstream) *HTTP {
	dialer := net.Dialer{Timeout: dialTimeout}
	return &HTTP{tools: tools, upstreams: upstreams, plain: &plain{dialer: dialer}, transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: c}, nil
		},
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // bytes stay as they came
		MaxIdleConnsPerHost:    1024,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 1 << 20,
	}}
}

// Close drops idle connections.
func (h *HTTP) Close() {
	h.transport.CloseIdleConnections()
	h.plain.drop(0)
}

// Send implements Sender.
func (h *HTTP) Send(ctx context.Context, out *Outgoing) (*Incoming, error) {
	to, err := h.target(out)
	if err != nil {
		return nil, &SendError{Err: err}
	}
	for try := 1; ; try++ {
		in, err := h.try(ctx, to, out.MaxBytes)
		var never *staleError
		if !errors.As(err, &never) || try == maxTries || ctx.Err() != nil {
			return in, err
		}
	}
}

// staleError is a never-sent attempt over a connection that had been idle: worth another one.
type staleError struct{ error }

func (e *staleError) Unwrap() error { return e.error }

// try sends once.
func (h *HTTP) try(ctx context.Context, to *target, maxBytes int64) (*Incoming, error) {
	roundTrip := h.roundTrip
	if h.plain.carries(to) {
		roundTrip = h.plain.roundTrip
	}
	res, err := roundTrip(ctx, to)
	if err != nil {
		return nil, err
	}
	if err := unfit(res); err != nil {
		return nil, err
	}
	in, err := incoming(res, maxBytes)
	if err != nil {
		return nil, &SendError{Sent: true, Err: err}
	}
	return in, nil
}

// unfit says why what came is no answer of an upstream, and closes it; nil where it is one.
func unfit(res *http.Response) error {
	var err error
	switch {
	case res.StatusCode == http.StatusSwitchingProtocols:
		err = errors.New("the upstream changed protocols unasked")
	case res.StatusCode < 100:
		err = fmt.Errorf("the upstream answered with %q, which is no status", res.Status)
	default:
		return nil
	}
	res.Body.Close()
	return &SendError{Sent: true, Err: err}
}

// roundTrip sends a request through net/http.
func (h *HTTP) roundTrip(ctx context.Context, to *target) (*http.Response, error) {
	var used usage
	res, err := h.transport.RoundTrip(to.request(used.watch(ctx)))
	if err != nil {
		return nil, failed(to, used.left(), used.reused, err)
	}
	return res, nil
}

// failed is the error of an attempt that has no answer: whether it may have been sent, and, if not, whether a new connection is worth
// another try.
func failed(to *target, sent, reused bool, err error) error {
	err = fmt.Errorf("%s %s: %w", to.method, to.url.Host, err) // what follows the host may hold the upstream's secret
	if !sent && reused {
		err = &staleError{err}
	}
	return &SendError{Sent: sent, Err: err}
}

// target is a request as data, so that each try gets one of its own.
type target struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// request builds what net/http cannot send twice. It repeats a request on a broken connection where the body can be rewound or is
// absent, if the method is safe or there is a header named Idempotency-Key. So there is always a body, if empty, that cannot be
// rewound, where net/http sends that without framing of its own, and idempotency headers stand under names that it does not look for.
func (t *target) request(ctx context.Context) *http.Request {
	req := &http.Request{Method: t.method, URL: t.url, Host: t.url.Host, Header: t.header, ContentLength: int64(len(t.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if len(t.body) > 0 || slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions}, t.method) {
		req.Body = io.NopCloser(bytes.NewReader(t.body))
	}
	return req.WithContext(ctx)
}

// usage watches which connections an attempt got and whether anything left on them.
type usage struct {
	conns  []usedConn
	reused bool
}

type usedConn struct {
	*countedConn // nil where others use it at the same time (HTTP/2)
	before       int64
}

func (u *usage) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		u.reused = info.Reused
		conn := info.Conn
		if t, ok := conn.(*tls.Conn); ok {
			if t.ConnectionState().NegotiatedProtocol == "h2" {
				conn = nil
			} else {
				conn = t.NetConn()
			}
		}
		c, _ := conn.(*countedConn)
		used := usedConn{countedConn: c}
		if c != nil {
			used.before = c.written.Load()
		}
		u.conns = append(u.conns, used)
	}})
}

// left reports whether a byte of the failed attempt may have left. No connection: certainly not. Closing comes before counting, so
// that nothing can leave afterwards.
func (u *usage) left() bool {
	for _, c := range u.conns {
		if c.countedConn == nil {
			return true
		}
		c.Close()
		if c.written.Load() > c.before {
			return true
		}
	}
	return false
}

// countedConn counts what was written, and what is about to be.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.written.Add(int64(len(b)))
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n - len(b)))
	return n, err
}

// target says where an attempt goes and what it carries.
func (h *HTTP) target(out *Outgoing) (*target, error) {
	make := h.tool
	if out.Call.Request != nil {
		make = h.proxied
	}
	to, upstream, err := make(out)
	if err != nil {
		return nil, err
	}
	for _, fixed := range upstream.Headers {
		to.header.Set(fixed.Name, fixed.Value)
	}
	if user := upstream.URL.User; user != nil && to.header.Get("Authorization") == "" {
		password, _ := user.Password()
		(&http.Request{Header: to.header}).SetBasicAuth(user.Username(), password)
	}
	if name := upstream.IdempotencyHeader; name != "" && out.Key != "" {
		to.header.Set(name, out.Key)
	}
	lowerKeys(to.header)
	return to, nil
}

// lowerKeys writes the headers that net/http takes for leave to send again in a spelling that it does not look for: see target.request.
func lowerKeys(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// proxied forwards a request as it came; the door has taken out what is not the upstream's.
func (h *HTTP) proxied(out *Outgoing) (*target, *Upstream, error) {
	req := out.Call.Request
	upstream, err := h.upstream(req.Upstream)
	if err != nil {
		return nil, nil, err
	}
	to := &target{method: req.Method, header: make(http.Header, len(req.Header)+4), body: req.Body}
	for _, line := range req.Header {
		to.header.Add(line.Name, line.Value)
	}
	if _, ok := to.header["User-Agent"]; !ok {
		to.header["User-Agent"] = []string{""} // none, instead of net/http's own
	}
	to.url, err = below(upstream.URL, req.Path, req.Query)
	return to, upstream, err
}

func (h *HTTP) tool(out *Outgoing) (*target, *Upstream, error) {
	tool := h.tools[out.Call.Tool]
	if tool == nil {
		return nil, nil, fmt.Errorf("there is no tool %q", out.Call.Tool)
	}
	upstream, err := h.upstream(tool.Upstream)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := tool.request(out.Args)
	if err != nil {
		return nil, nil, err
	}
	to := &target{method: tool.method(), header: http.Header{"User-Agent": {"agentgw"}}, body: wanted.body}
	if wanted.contentType != "" {
		to.header.Set("Content-Type", wanted.contentType)
	}
	to.url, err = below(upstream.URL, wanted.path, wanted.query)
	return to, upstream, err
}

func (h *HTTP) upstream(name string) (*Upstream, error) {
	u := h.upstreams[name]
	if u == nil || u.URL == nil {
		return nil, fmt.Errorf("there is no HTTP upstream %q", name)
	}
	return u, nil
}

// below appends an escaped path and a raw query to an upstream's URL, without cleaning what stands in them.
func below(base *url.URL, path, query string) (*url.URL, error) {
	joined := strings.TrimSuffix(base.EscapedPath(), "/") + path
	decoded, err := url.PathUnescape(joined)
	if err != nil {
		return nil, err
	}
	to := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: decoded, RawPath: joined, RawQuery: query}
	if base.RawQuery != "" {
		to.RawQuery = strings.TrimSuffix(base.RawQuery+"&"+query, "&")
	}
	return to, nil
}
