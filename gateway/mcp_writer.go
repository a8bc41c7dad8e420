package gateway

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// patience is how long a client may take to read what it is sent, before its stream is given up. Its call goes on.
const patience = 30 * time.Second

// mcpWriter answers one request: with JSON, or with a stream of events where something came before the answer.
type mcpWriter struct {
	w      http.ResponseWriter
	stream bool // the client takes nothing but events

	mu    sync.Mutex
	begun bool
	gone  bool
}

func newMCPWriter(w http.ResponseWriter, r *http.Request) *mcpWriter {
	accept := r.Header.Get("Accept")
	return &mcpWriter{w: w, stream: strings.Contains(accept, "text/event-stream") && !strings.Contains(accept, "application/json") && !strings.Contains(accept, "*/*")}
}

// emit passes on an event of the server.
func (w *mcpWriter) emit(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event(e)
}

func (w *mcpWriter) event(e event) {
	if !w.begun {
		w.begun = true
		h := w.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		w.w.WriteHeader(http.StatusOK)
	}
	if w.gone {
		return
	}
	control := http.NewResponseController(w.w)
	control.SetWriteDeadline(time.Now().Add(patience)) // where that is not possible, the caller is this process
	_, err := w.w.Write(e.raw)
	if err == nil {
		err = control.Flush()
	}
	w.gone = err != nil
	control.SetWriteDeadline(time.Time{})
}

// answer writes the response.
func (w *mcpWriter) answer(status int, eventID string, message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun || w.stream {
		w.event(newEvent(eventID, message))
		return
	}
	w.w.Header().Set("Content-Type", "application/json")
	w.w.WriteHeader(status)
	w.w.Write(message)
}

// fail writes an error of the gateway's own.
func (w *mcpWriter) fail(id string, status int, e *rpcError) {
	w.answer(status, "", errorRPC(id, e))
}

// show writes a server's answer that is no result as it came. id is the caller's.
func (w *mcpWriter) show(id string, r *mcpReply) {
	w.mu.Lock()
	begun := w.begun
	w.mu.Unlock()
	switch {
	case r.failure != nil:
		w.answer(r.status, r.eventID, respondRPC(id, "error", r.failure))
	case begun:
		w.answer(r.status, "", errorRPC(id, &rpcError{code: codeInternal, message: http.StatusText(r.status)}))
	default:
		kept, live := endToEnd(r.header)
		h := w.w.Header()
		for _, line := range append(kept, live...) {
			h[line.Name] = append(h[line.Name], line.Value)
		}
		w.w.WriteHeader(r.status)
		w.w.Write(r.body)
	}
}
