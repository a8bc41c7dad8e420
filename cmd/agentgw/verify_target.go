package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// target is what the callers of the battery call: a gateway in front of the witness, or the witness itself.
type target interface {
	// call makes one call of an intent. extra are more members of the native body, "" for none.
	call(ctx context.Context, in *intent, extra string) said
	// kill ends whoever carries calls, at once; start brings them back, sending to upstream from then on ("": the witness).
	kill() error
	start(upstream string) error
	// pause stops whoever carries calls where they are; resume lets them go on.
	pause() error
	resume() error
	// resolve is an operator's word on a doubt: what the witness has.
	resolve(ctx context.Context, s *said, happened bool) error
	close() error
}

// What a call came to.
const (
	isDone    = "done"
	isAgain   = "again"   // not decided: call again
	isDidNot  = "did not" // known not to have happened: call again
	isUnknown = "unknown" // may have happened, and is not sent again
	isNo      = "no"
)

// said is what a call was answered.
type said struct {
	is, answer, effect, token, detail string
}

// persist makes the same call, worded anew each time, until it is decided, as agents and robots do. patience is how long it waits for
// one answer.
func persist(ctx context.Context, t target, in *intent, patience time.Duration) said {
	end := time.Now().Add(decideWithin)
	tries := 0
	for {
		s := callOnce(ctx, t, in, patience, "")
		tries++
		if s.is != isAgain && s.is != isDidNot {
			in.heard(s)
			return s
		}
		_, naive := t.(*bareTool)
		if time.Now().After(end) || ctx.Err() != nil || naive && tries == naiveTries {
			if !naive {
				in.mu.Lock()
				in.gaveUp = true
				in.mu.Unlock()
			}
			return s
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

const (
	decideWithin = 40 * time.Second
	naiveTries   = 5
	patient      = 15 * time.Second
)

func callOnce(ctx context.Context, t target, in *intent, patience time.Duration, extra string) said {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.call(ctx, in, extra)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// arguments are those of the next call of an intent.
func (in *intent) arguments() (tool, args string) {
	n := in.next()
	return in.tool(n), fmt.Sprintf(`{"intent":%q,%s}`, in.mark, in.args(n))
}

// callGateway makes a call at a gateway's native door.
func callGateway(ctx context.Context, door *client, in *intent, extra string) said {
	tool, args := in.arguments()
	body := fmt.Sprintf(`{"tool":%q,"arguments":%s%s}`, tool, args, extra)
	answer, err := door.do(ctx, http.MethodPost, "/v1/calls", json.RawMessage(body))
	if err != nil {
		return said{is: isAgain, detail: err.Error()}
	}
	var d decision
	if err := json.Unmarshal(answer.body, &d); err != nil || d.Decision == "" {
		return said{is: isAgain, detail: answer.problem().Error()}
	}
	s := said{is: isNo, token: d.RepeatToken, detail: words(d.Decision, d.Outcome, d.Reason) + ": " + d.Detail}
	if d.Effect != nil {
		s.effect = d.Effect.ID
	}
	if d.Result != nil {
		s.answer = string(d.Result.Body)
	}
	switch d.Decision {
	case "executed":
		s.is = map[string]string{"succeeded": isDone, "failed": isDidNot, "indeterminate": isAgain}[d.Outcome]
	case "replayed":
		s.is = isDone
	case "in_flight", "unavailable":
		s.is = isAgain
	case "indeterminate":
		s.is = isUnknown
	}
	return s
}

// bareTool is the tool without a gateway, as naive clients use it: what has no good answer is sent again.
type bareTool struct {
	witness string

	mu       sync.Mutex
	upstream string
	life     context.Context
	end      context.CancelFunc
	calls    sync.WaitGroup // under way
}

func newBareTool(witness string) *bareTool {
	b := &bareTool{witness: witness}
	b.start("")
	return b
}

// call implements target.
func (b *bareTool) call(ctx context.Context, in *intent, _ string) said {
	b.mu.Lock()
	url, life := b.upstream, b.life
	b.calls.Add(1)
	b.mu.Unlock()
	defer b.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	tool, args := in.arguments()
	if tool == toolNowhere {
		return said{is: isAgain}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/act", io.NopCloser(bytes.NewReader([]byte(args))))
	if err != nil {
		return said{is: isNo, detail: err.Error()}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return said{is: isAgain, detail: err.Error()}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil, res.StatusCode >= 500:
		return said{is: isAgain}
	case res.StatusCode >= 400:
		return said{is: isDidNot}
	}
	return said{is: isDone, answer: strings.TrimSpace(string(text))}
}

func (b *bareTool) kill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	b.calls.Wait() // who is dead hears no answer
	return nil
}

func (b *bareTool) start(upstream string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.upstream = upstream; upstream == "" {
		b.upstream = b.witness
	}
	b.life, b.end = context.WithCancel(context.Background())
	return nil
}

func (b *bareTool) pause() error  { return nil }
func (b *bareTool) resume() error { return nil }
func (b *bareTool) close() error  { return b.kill() }

func (b *bareTool) resolve(context.Context, *said, bool) error {
	return errors.New("the bare tool knows no doubt")
}
