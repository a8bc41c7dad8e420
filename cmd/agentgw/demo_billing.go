package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// billing is a small business service over HTTP. Like most it dedups nothing, and it counts what it really did.
type billing struct {
	url    string
	server *http.Server

	mu     sync.Mutex
	done   int               // side effects that really happened
	moods  map[string]mood   // what goes wrong with the first request about a reference
	missed map[string]string // answers that their callers never got, by reference: what an operator looks up
	got    chan string       // references of requests with a mood, as they arrive
}

// mood is what goes wrong with one request.
type mood struct {
	takes time.Duration // the answer is so late
	cuts  bool          // it is done, and the connection breaks before the answer
}

func newBilling() (*billing, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &billing{url: "http://" + l.Addr().String(), moods: map[string]mood{}, missed: map[string]string{}, got: make(chan string, 16)}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	go b.server.Serve(l) // ends with close
	return b, nil
}

func (b *billing) close() { b.server.Close() }

// goesWrong sets what happens to the next request about a reference.
func (b *billing) goesWrong(ref string, m mood) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moods[ref] = m
}

// count is the number of side effects that really happened.
func (b *billing) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// lookUp is the answer that got lost about a reference.
func (b *billing) lookUp(ref string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missed[ref]
}

// ServeHTTP does what it is asked, every time it is asked, whether or not the caller still waits.
func (b *billing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct {
		CustomerID string `json:"customer_id"`
		Payment    string `json:"payment"`
	}
	if err != nil || json.Unmarshal(body, &in) != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	ref := in.CustomerID + in.Payment
	answer, m := b.do(r.URL.Path, ref)
	if m != (mood{}) {
		b.got <- ref
	}
	time.Sleep(m.takes)
	if m.cuts {
		panic(http.ErrAbortHandler) // net/http cuts the connection
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, answer)
}

// do is the side effect.
func (b *billing) do(path, ref string) (string, mood) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	answer := fmt.Sprintf(`{"id":"%c-%d"}`, path[1]-'a'+'A', b.done)
	m := b.moods[ref]
	delete(b.moods, ref)
	if m != (mood{}) {
		b.missed[ref] = answer
	}
	return answer, m
}
