package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"agentgw/gateway"
	"agentgw/ledger"
)

// upstreamState is what the scripted upstream remembers.
type upstreamState struct {
	answers int                // given so far
	done    map[string]*script // by the key of an idempotency_header: what it answered
	reads   map[string]script  // answers of tools that the gateway itself asks
}

// sender is the way of one gateway to the scripted upstream.
type sender struct {
	*world
	clock gateway.Clock
}

// Send does what the script of the call says.
func (s *sender) Send(ctx context.Context, out *gateway.Outgoing) (*gateway.Incoming, error) {
	r := runOf(ctx)
	if r == nil || r.call != out.Call {
		return s.read(ctx, out)
	}
	if s.watch != nil {
		s.watch(r)
	}
	does := r.step.call.script
	if does.answer != answerRefused {
		r.sent = true
		does = s.arrived(r, out.Key, does)
	}
	if r.hung != nil {
		r.hung()
	}
	if s.manner == inVirtualTime && does.takes > 0 {
		if err := s.clock.Sleep(ctx, does.takes); err != nil {
			return nil, &gateway.SendError{Sent: r.sent, Err: err}
		}
	} else if err := ctx.Err(); err != nil {
		return nil, &gateway.SendError{Sent: r.sent, Err: err}
	}
	switch does.answer {
	case answerRefused:
		return nil, &gateway.SendError{Err: errors.New("connection refused")}
	case answerTimeout:
		return nil, &gateway.SendError{Sent: true, Err: errors.New("no answer in time")}
	case answerReset:
		return nil, &gateway.SendError{Sent: true, Err: errors.New("connection reset")}
	}
	return respond(&does, out)
}

// arrived is a call that the upstream gets: it does it, or remembers that it has done it under the same key. It returns the script with
// the answer in it.
func (w *world) arrived(r *run, key string, does script) script {
	u := &w.upstream
	if does.answer == answerUnsaved {
		r.unsaved.Store(true)
	}
	if first := u.done[key]; w.dedups && key != "" && first != nil {
		does.status, does.header, does.body = first.status, first.header, first.body
		return does
	}
	u.answers++
	if does.body == nil && does.status != http.StatusNoContent {
		does.header = does.header.Clone()
		does.body = fmt.Appendf(nil, `{"answer":%d}`, u.answers)
		if does.header.Get("Content-Type") == "" {
			does.header.Set("Content-Type", "application/json")
		}
	}
	if does.happens() {
		r.happened = true
		if key != "" {
			r.dedupKey = key
			u.done[key] = &does
		}
	}
	return does
}

// unsent undoes what a call did: it never arrived.
func (w *world) unsent(r *run) {
	r.sent, r.happened = false, false
	if r.dedupKey != "" {
		delete(w.upstream.done, r.dedupKey)
	}
}

// read answers a tool that the gateway asks on its own.
func (s *sender) read(ctx context.Context, out *gateway.Outgoing) (*gateway.Incoming, error) {
	does, ok := s.upstream.reads[out.Call.Tool]
	if !ok {
		return nil, &gateway.SendError{Err: fmt.Errorf("the test does not say what %s answers: add answers: {%s: {body: …}}", out.Call.Tool, out.Call.Tool)}
	}
	if does.answer != answerOK {
		return nil, &gateway.SendError{Sent: does.answer != answerRefused, Err: fmt.Errorf("no answer: %s", does.answer)}
	}
	return respond(&does, out)
}

// respond gives an answer as an HTTP upstream does.
func respond(does *script, out *gateway.Outgoing) (*gateway.Incoming, error) {
	method := http.MethodPost
	if out.Call.Request != nil {
		method = out.Call.Request.Method
	}
	in, err := gateway.ReadAnswer(&http.Response{StatusCode: does.status, Header: does.header.Clone(), ContentLength: int64(len(does.body)),
		Body: io.NopCloser(bytes.NewReader(does.body)), Request: &http.Request{Method: method}}, out.MaxBytes)
	if err != nil {
		return nil, &gateway.SendError{Sent: true, Err: err}
	}
	return in, nil
}

// link is the ledger as one gateway reaches it.
type link struct {
	ledger.Store
	world *world
	life  *life
}

func (l *link) usable() error {
	switch {
	case l.life.dead.Load():
		return errDead
	case l.world.down.Load():
		return fmt.Errorf("the ledger is down: %w", ledger.ErrNotApplied)
	}
	return nil
}

// Swap fails for the dead, while the ledger is down, and for the call whose outcome can never be written. After a failover the reply to the
// first swap is lost.
func (l *link) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	if r := runOf(ctx); r != nil && r.unsaved.Load() {
		return nil, errors.New("what is known of this call can never be written")
	}
	swap := func() ([]ledger.Reply, error) { return l.Store.Swap(ctx, swaps...) }
	if l.world.meddle != nil {
		return l.world.meddle(l.life, swap)
	}
	replies, err := swap()
	if l.life.broken.CompareAndSwap(true, false) {
		return nil, errors.New("the primary of the ledger changed: the connection broke")
	}
	return replies, err
}

// Open is part of ledger.Store.
func (l *link) Open(ctx context.Context, cursor string, limit int) ([]ledger.Address, string, error) {
	if err := l.usable(); err != nil {
		return nil, "", err
	}
	return l.Store.Open(ctx, cursor, limit)
}

// Scan is part of ledger.Store.
func (l *link) Scan(ctx context.Context, cursor string, limit int) ([]ledger.Stored, string, error) {
	if err := l.usable(); err != nil {
		return nil, "", err
	}
	return l.Store.Scan(ctx, cursor, limit)
}

// Health is part of ledger.Store.
func (l *link) Health(ctx context.Context) error {
	if err := l.usable(); err != nil {
		return err
	}
	return l.Store.Health(ctx)
}
