package meaning

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a model service on loopback. Its embeddings have one direction for each of two topics; its judge answers what it is told to.
type fake struct {
	*httptest.Server
	asked   atomic.Int32
	inputs  atomic.Int32
	verdict string
	status  int
	delay   time.Duration
}

func newFake(t *testing.T) *fake {
	f := &fake{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked.Add(1)
	body, err := io.ReadAll(r.Body) // until it is read, nobody notices that the caller left
	if err != nil {
		return
	}
	select {
	case <-time.After(f.delay):
	case <-r.Context().Done():
		return
	}
	if f.status != 0 {
		http.Error(w, `{"error":{"message":"out of order"}}`, f.status)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		var q struct {
			ResponseFormat struct {
				Type       string `json:"type"`
				JSONSchema struct {
					Strict bool `json:"strict"`
				} `json:"json_schema"`
			} `json:"response_format"`
		}
		if json.Unmarshal(body, &q) != nil || q.ResponseFormat.Type != "json_schema" || !q.ResponseFormat.JSONSchema.Strict {
			http.Error(w, `{"error":{"message":"no schema"}}`, http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": f.verdict}}}})
		return
	}
	var q struct {
		Input []string `json:"input"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.inputs.Add(int32(len(q.Input)))
	var data []any
	for i, s := range q.Input {
		v := []float32{3, 0.1}
		if strings.Contains(s, "lunch") {
			v = []float32{0.1, 3}
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func one(s string) map[string]string { return map[string]string{"what": s} }

func TestEmbeddings(t *testing.T) {
	f := newFake(t)
	e := &Embedded{Service: NewService(f.URL+"/v1", "", time.Second), Model: "m", Fell: func(err error) { t.Error(err) }}
	earlier := []map[string]string{one("the printing machine gives up"), one("table for lunch, please"), one("the copier in room 13 is stuck"), {"other": "x"}}
	for range 2 {
		got := e.Nearest(context.Background(), one("our copier does not want to work"), earlier)
		if len(got) != 0 {
			t.Errorf("a negation got past the gates: %v", got)
		}
		got = e.Nearest(context.Background(), one("our copier is stuck"), earlier)
		if len(got) != 1 || got[0].Index != 0 || got[0].Score < 0.99 {
			t.Errorf("got %v, want the first: its gates agree and its embedding is the same", got)
		}
	}
	if f.asked.Load() != 1 || f.inputs.Load() != 3 {
		t.Errorf("asked %d times about %d texts, want one question of three: the second time all is cached, and room 13 is not worth asking about", f.asked.Load(), f.inputs.Load())
	}
}

func TestEmbeddingsFallBack(t *testing.T) {
	for name, break_ := range map[string]func(*fake){
		"refuses":  func(f *fake) { f.status = http.StatusInternalServerError },
		"too slow": func(f *fake) { f.delay = 5 * time.Second },
		"is gone":  func(f *fake) { f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			break_(f)
			fell := 0
			e := &Embedded{Service: NewService(f.URL+"/v1", "", 50*time.Millisecond), Model: "m", Fell: func(error) { fell++ }}
			start := time.Now()
			for range 3 {
				got := e.Nearest(context.Background(), one("The printer is jammed again"), []map[string]string{one("The printer is jammed"), one("Order more paper")})
				if len(got) != 1 || got[0].Index != 0 {
					t.Fatalf("got %v, want the lexical answer", got)
				}
			}
			if fell != 3 || f.asked.Load() > 1 {
				t.Errorf("it said so %d times and asked %d times, want 3 and at most 1: a failing service is left alone", fell, f.asked.Load())
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v: a failing service must not hold up calls", took)
			}
		})
	}
}

func TestCallerWhoLeavesIsNoFault(t *testing.T) {
	f := newFake(t)
	f.delay = 5 * time.Second
	s := NewService(f.URL+"/v1", "", 10*time.Second)
	e := &Embedded{Service: s, Model: "m"}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	e.Nearest(ctx, one("The printer is jammed again"), []map[string]string{one("The printer is jammed")})
	if s.resting() {
		t.Error("the service rests because a caller hung up")
	}
}

func TestJudge(t *testing.T) {
	for answer, want := range map[string]struct {
		same, ok bool
	}{
		`{"why":"same jam","verdict":"same"}`:               {true, true},
		`{"why":"another jam","verdict":"different"}`:       {false, true},
		`{"why":"","verdict":"perhaps"}`:                    {},
		`{"verdict":"same"}`:                                {},
		`{"why":"x","verdict":"same","confidence":1}`:       {},
		`{"why":"x","verdict":"same"} {"verdict":"same"}`:   {},
		"Sure! The verdict is same.":                        {},
		`{"why":"x","verdict":"same","verdict":"different"`: {},
	} {
		f := newFake(t)
		f.verdict = answer
		j := &Judge{Service: NewService(f.URL+"/v1", "", time.Second), Model: "m"}
		same, why, err := j.Same(context.Background(), "fault.report", one("jammed"), one("jammed again"))
		if (err == nil) != want.ok || same != want.same {
			t.Errorf("%s: %t, %q, %v", answer, same, why, err)
		}
	}
	f := newFake(t)
	f.status = http.StatusBadGateway
	j := &Judge{Service: NewService(f.URL+"/v1", "", time.Second), Model: "m"}
	for range 2 {
		if _, _, err := j.Same(context.Background(), "fault.report", one("a"), one("b")); err == nil {
			t.Error("a service that fails has judged")
		}
	}
	if f.asked.Load() != 1 {
		t.Errorf("asked %d times", f.asked.Load())
	}
}
