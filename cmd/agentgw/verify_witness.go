package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// witness is the tool of the battery: it dedups nothing and counts what really happens, by intent.
type witness struct {
	url    string
	server *http.Server

	mu       sync.Mutex
	happened map[string]int
	turns    map[string][]turn
	served   int
	active   int // requests under way
}

// turn is what one request meets. act does the effect and returns the answer's body.
type turn func(w http.ResponseWriter, act func() string)

func startWitness() (*witness, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &witness{url: "http://" + l.Addr().String(), happened: map[string]int{}, turns: map[string][]turn{}}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	go w.server.Serve(l) // ends with close
	return w, nil
}

func (w *witness) close() { w.server.Close() }

// expect says what the next requests about an intent meet, in order; those after them are done and answered.
func (w *witness) expect(mark string, turns ...turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns[mark] = turns
}

// count is how often an intent happened.
func (w *witness) count(mark string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.happened[mark]
}

// ServeHTTP does what it is asked, every time, whether or not the caller still waits.
func (w *witness) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.begin(1)
	defer w.begin(-1)
	body, err := io.ReadAll(r.Body)
	var in struct{ Intent string }
	if err != nil || json.Unmarshal(body, &in) != nil || in.Intent == "" {
		http.Error(to, "unreadable", http.StatusBadRequest)
		return
	}
	to.Header().Set("Content-Type", "application/json")
	w.take(in.Intent)(to, func() string { return w.act(in.Intent) })
}

func (w *witness) take(mark string) turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.turns[mark]
	if len(left) == 0 {
		return answers
	}
	w.turns[mark] = left[1:]
	return left[0]
}

func (w *witness) act(mark string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.happened[mark]++
	w.served++
	return fmt.Sprintf(`{"receipt":"W-%d"}`, w.served)
}

func (w *witness) begin(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active += n
}

// idle waits until no request is under way.
func (w *witness) idle(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		n := w.active
		w.mu.Unlock()
		if n == 0 {
			return
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

// answers is the turn of a tool that works.
func answers(w http.ResponseWriter, act func() string) { io.WriteString(w, act()) }

// loses is done, and its connection breaks before the answer.
func loses(_ http.ResponseWriter, act func() string) {
	act()
	panic(http.ErrAbortHandler) // net/http cuts the connection
}

// halves is done, and its connection breaks within the answer.
func halves(w http.ResponseWriter, act func() string) {
	half(w, act())
	panic(http.ErrAbortHandler)
}

// half sends the beginning of an answer that promises more.
func half(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// fails is done, and answered as if it had failed.
func fails(w http.ResponseWriter, act func() string) {
	act()
	w.WriteHeader(http.StatusInternalServerError)
}

// refuses does nothing.
func refuses(status int) turn {
	return func(w http.ResponseWriter, _ func() string) {
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
	}
}

// late is done after before, and answered after then.
func late(before, then time.Duration) turn {
	return func(w http.ResponseWriter, act func() string) {
		time.Sleep(before)
		text := act()
		time.Sleep(then)
		io.WriteString(w, text)
	}
}

// holder takes connections and says nothing on them: who connects to it over TLS has sent nothing of its request.
type holder struct {
	url  string
	came chan struct{} // a token for each connection on which something came

	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func startHolder() (*holder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &holder{url: "https://" + l.Addr().String(), came: make(chan struct{}, 1024), listener: l}
	go h.accept()
	return h, nil
}

func (h *holder) accept() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.conns = append(h.conns, conn)
		h.mu.Unlock()
		go func() {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				h.came <- struct{}{}
			}
		}()
	}
}

func (h *holder) close() {
	h.listener.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, conn := range h.conns {
		conn.Close()
	}
}
