package chaos

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// tool is the world: what it has done stays done, whatever becomes of its process.
type tool struct {
	t    *testing.T
	addr string

	mu      sync.Mutex
	effects map[string]int
	server  *http.Server
	paused  chan struct{} // closed when it goes on; nil: it works
	silent  bool
}

func startTool(t *testing.T) *tool {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tool{t: t, addr: l.Addr().String(), effects: map[string]int{}}
	w.serve(l)
	t.Cleanup(func() { w.server.Close() })
	return w
}

func (w *tool) serve(l net.Listener) {
	w.server = &http.Server{Handler: w}
	server := w.server
	go server.Serve(l)
}

// suffer is one fault, from beginning to end.
func (w *tool) suffer(f Fault) {
	switch f.What {
	case "kill":
		w.mu.Lock()
		w.server.Close()
		w.mu.Unlock()
		time.Sleep(f.For)
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if l, err := net.Listen("tcp", w.addr); err == nil {
				w.mu.Lock()
				w.serve(l)
				w.mu.Unlock()
				return
			} else if time.Now().After(end) {
				w.t.Error(err)
				return
			}
		}
	case "pause":
		on := make(chan struct{})
		w.mu.Lock()
		w.paused = on
		w.mu.Unlock()
		time.Sleep(f.For)
		w.mu.Lock()
		w.paused = nil
		w.mu.Unlock()
		close(on)
	default:
		w.mu.Lock()
		w.silent = true
		w.mu.Unlock()
		time.Sleep(f.For)
		w.mu.Lock()
		w.silent = false
		w.mu.Unlock()
	}
}

// ServeHTTP does what it is asked, and takes a moment before and after.
func (w *tool) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var in struct{ Order json.Number }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	paused := w.paused
	w.mu.Unlock()
	if paused != nil {
		<-paused
	}
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	w.mu.Lock()
	w.effects[in.Order.String()]++
	silent := w.silent
	w.mu.Unlock()
	if silent {
		panic(http.ErrAbortHandler)
	}
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	io.WriteString(out, `{"ok":true}`)
}

func (w *tool) count(order string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effects[order]
}
