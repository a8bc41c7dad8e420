package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// stream is where messages of the server go: the answer to one request, or a listener.
type stream struct {
	id    string // the caller's own
	token string // of its progress; "" for none

	mu      sync.Mutex
	pending []byte // events that are not read yet
	closed  bool
	err     error
	wake    chan struct{}
}

func newStream(ctx context.Context) (*stream, *http.Response) {
	r, w := io.Pipe()
	s := &stream{wake: make(chan struct{}, 1)}
	go s.pour(w)
	context.AfterFunc(ctx, func() { r.CloseWithError(ctx.Err()) })
	res := response(http.StatusOK, "text/event-stream", nil)
	res.Body, res.ContentLength = r, -1
	return s, res
}

// pour writes what is pending until the stream is closed. Where nobody reads any more it goes nowhere.
func (s *stream) pour(w *io.PipeWriter) {
	for {
		s.mu.Lock()
		b, closed, err := s.pending, s.closed, s.err
		s.pending = nil
		s.mu.Unlock()
		if len(b) > 0 {
			w.Write(b)
			continue
		}
		if closed {
			w.CloseWithError(err)
			return
		}
		<-s.wake
	}
}

// put hands over a message. One that is no answer is dropped where nobody reads.
func (s *stream) put(m []byte, answer bool) {
	s.mu.Lock()
	if !s.closed && (answer || len(s.pending) < maxMessage) {
		s.pending = append(s.pending, newEvent("", m).raw...)
	}
	s.mu.Unlock()
	s.poke()
}

func (s *stream) close(err error) {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.err = true, err
	}
	s.mu.Unlock()
	s.poke()
}

func (s *stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
