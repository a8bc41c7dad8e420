package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Stdio serves a client that started this process and speaks MCP over its pipes: every message goes through the MCP door as if it had
// come over HTTP.
type Stdio struct {
	Door   http.Handler // of Doors
	Path   string       // "/mcp" or "/mcp/{upstream}"
	Header http.Header  // of every request: Agentgw-Key, Agentgw-Task; may be nil
	In     io.Reader
	Out    io.Writer
	GiveUp func() // called some seconds after the client has left: calls that are still under way become doubts; may be nil

	writing sync.Mutex

	mu       sync.Mutex
	session  string // Mcp-Session-Id
	revision string // as agreed by initialize
}

// leaving is how long calls under way may go on when the client has left. Clients that close the pipes kill soon afterwards.
const leaving = 5 * time.Second

// Run serves until the input ends or ctx does. Calls under way are finished and recorded; their answers are still written.
func (s *Stdio) Run(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	var under sync.WaitGroup
	var listener sync.WaitGroup
	lines, broken := s.lines()
	defer func() {
		if s.GiveUp != nil {
			defer time.AfterFunc(leaving, s.GiveUp).Stop()
		}
		under.Wait()
		stop()
		listener.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				return <-broken
			}
			m, err := readRPC(line)
			var wrong *rpcError
			switch {
			case errors.As(err, &wrong):
				s.write(errorRPC("", wrong))
			case m.request() && m.method != "initialize":
				under.Go(func() { s.carry(ctx, m) })
			default:
				s.carry(ctx, m) // in order: what follows counts on it
			}
			if err == nil && m.method == "notifications/initialized" {
				listener.Go(func() { s.listen(listening) })
			}
		}
	}
}

// lines reads the input in a goroutine that ends with it.
func (s *Stdio) lines() (<-chan []byte, <-chan error) {
	lines, broken := make(chan []byte), make(chan error, 1)
	go func() {
		defer close(lines)
		for in := bufio.NewReaderSize(s.In, 64<<10); ; {
			line, err := readLine(in, maxMessage)
			if err != nil {
				if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
					err = nil
				}
				broken <- err
				return
			}
			if line = bytes.TrimSpace(line); len(line) > 0 {
				lines <- line
			}
		}
	}()
	return lines, broken
}

// carry takes one message to the door and what comes back to the client.
func (s *Stdio) carry(ctx context.Context, m *rpc) {
	res := s.do(ctx, http.MethodPost, m)
	if m.method == "initialize" {
		s.mu.Lock()
		s.session = res.Header.Get("Mcp-Session-Id")
		s.mu.Unlock()
	}
	defer res.Body.Close()
	if isStream(res.Header) {
		answered := false
		s.events(res.Body, func(b []byte) { answered = answered || s.note(m, b) })
		if m.request() && !answered {
			s.write(errorRPC(m.id, &rpcError{code: codeInternal, message: "The server's answer was lost."}))
		}
		return
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	switch {
	case err == nil && responseOf(b) != nil:
		s.note(m, b)
		if m.request() && string(memberOf(b, "id")) == "null" { // over HTTP it is plain whose answer that is, in a pipe it is not
			b = setMember(b, "id", []byte(m.id))
		}
		s.write(b)
	case m.request():
		s.write(errorRPC(m.id, &rpcError{code: codeInternal, message: wordsOf(res, b)}))
	}
}

// wordsOf are the words of an HTTP answer that is no JSON-RPC: of a problem its detail.
func wordsOf(res *http.Response, body []byte) string {
	var problem struct{ Detail string }
	if json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return problem.Detail
	}
	return http.StatusText(res.StatusCode) + ": " + strings.TrimSpace(string(body))
}

// note looks at what comes back for a message: whether it is its answer, and which revision initialize agreed on.
func (s *Stdio) note(m *rpc, b []byte) (answer bool) {
	r := responseOf(b)
	if r != nil && m.method == "initialize" {
		s.mu.Lock()
		s.revision = strings.Trim(string(memberOf(r.result, "protocolVersion")), `"`)
		s.mu.Unlock()
	}
	return r != nil
}

// listen carries what the server says unasked.
func (s *Stdio) listen(ctx context.Context) {
	res := s.do(ctx, http.MethodGet, nil)
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		s.events(res.Body, func([]byte) {})
	}
}

func (s *Stdio) events(r io.Reader, see func([]byte)) {
	for in := newEvents(r); ; {
		e, err := in.next()
		if err != nil {
			return
		}
		if len(e.data) > 0 {
			see(e.data)
			s.write(e.data)
		}
	}
}

func (s *Stdio) write(b []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.Out.Write(append(bytes.Clone(oneLine(bytes.TrimSpace(b))), '\n'))
}

// do asks the door, in this process.
func (s *Stdio) do(ctx context.Context, method string, m *rpc) *http.Response {
	var body io.Reader = http.NoBody
	if m != nil {
		body = bytes.NewReader(m.raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+s.Path, body)
	if err != nil {
		return response(http.StatusInternalServerError, "", []byte(err.Error()))
	}
	r.RequestURI = s.Path
	for name, values := range s.Header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "text/event-stream")
	s.mu.Lock()
	session, revision := s.session, s.revision
	s.mu.Unlock() // before the call: others come meanwhile
	if m != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if r.Header.Set("Mcp-Protocol-Version", revision); m.meta(metaVersion) != "" {
			r.Header.Set("Mcp-Protocol-Version", m.meta(metaVersion))
			r.Header.Set("Mcp-Method", m.method)
			if m.subject() != "" {
				r.Header.Set("Mcp-Name", headerText(m.subject()))
			}
		}
	}
	if r.Header.Get("Mcp-Protocol-Version") == "" {
		r.Header.Del("Mcp-Protocol-Version")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return inProcess(s.Door, r)
}

// inProcess asks a handler without a network. The body of the answer streams.
func inProcess(h http.Handler, r *http.Request) *http.Response {
	pr, pw := io.Pipe()
	w := &pipedAnswer{header: http.Header{}, body: pw, begun: make(chan struct{})}
	go func() {
		defer func() {
			if e := recover(); e != nil && e != http.ErrAbortHandler {
				panic(e)
			}
			w.WriteHeader(http.StatusOK)
			pw.Close()
		}()
		h.ServeHTTP(w, r)
	}()
	<-w.begun
	return &http.Response{StatusCode: w.status, Header: w.header, Body: pr, Request: r}
}

// pipedAnswer is an http.ResponseWriter whose reader is in this process.
type pipedAnswer struct {
	header http.Header
	body   *io.PipeWriter
	begun  chan struct{}
	once   sync.Once
	status int
}

// Header implements http.ResponseWriter.
func (w *pipedAnswer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Only its first call counts.
func (w *pipedAnswer) WriteHeader(status int) {
	w.once.Do(func() { w.status = status; close(w.begun) })
}

// Write implements http.ResponseWriter.
func (w *pipedAnswer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher.
func (w *pipedAnswer) Flush() { w.WriteHeader(http.StatusOK) }
