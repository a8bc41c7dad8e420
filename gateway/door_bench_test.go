package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentgw"
	"agentgw/internal/redistest"
	"agentgw/ledger"
	"agentgw/ledger/memstore"
	"agentgw/ledger/redisstore"
)

const doorPolicy = `
version: 1
operations:
  note.add:
    http: ["POST /up/notes/{id}"]
    key: {id: id, n: int}
    must_match: {amount: "money(EUR)", when: instant}
    ttl: 1h
`

// quick answers at once.
type quick struct{ in *Incoming }

func (q quick) Send(context.Context, *Outgoing) (*Incoming, error) {
	in := *q.in
	return &in, nil
}

// unwritten is a response that nobody reads.
type unwritten struct {
	header http.Header
	status int
}

func (w *unwritten) Header() http.Header         { return w.header }
func (w *unwritten) Write(b []byte) (int, error) { return len(b), nil }
func (w *unwritten) WriteHeader(status int)      { w.status = status }

// BenchmarkDoor is one new guarded call through the proxy door, without the network: what the gateway itself costs. With HTTP, the
// upstream's side is real; bare is httputil.ReverseProxy in the same place.
func BenchmarkDoor(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, strings.Repeat("x", 300))
	}))
	b.Cleanup(upstream.Close)
	at, err := url.Parse(upstream.URL)
	if err != nil {
		b.Fatal(err)
	}
	ups := map[string]*Upstream{"up": {Name: "up", URL: at}}
	answers := quick{&Incoming{Answer: &agentgw.Answer{Status: 200, Body: []byte(strings.Repeat("x", 300)), Header: []agentgw.Header{{Name: "Content-Length", Value: "300"}, {Name: "Content-Type", Value: "text/plain"}}},
		Live: []agentgw.Header{{Name: "Date", Value: "Sun, 29 Nov 2026 21:00:00 GMT"}}}}
	door := func(b *testing.B, sender Sender, store ledger.Store) http.Handler {
		l := ledger.New(store)
		m := NewMetrics(l)
		ps := Principals{{Name: "bench", Secret: "a-long-secret-for-the-bench", Tenant: "t"}}
		g := New(Options{Policy: loadPolicy(b, doorPolicy), Ledger: l, Sender: m.Time(sender, nil), Upstreams: ups, Allowed: ps.Allowed, Observe: Observers{m}})
		return g.Doors(DoorConfig{Principals: ps})
	}
	sender := NewHTTP(nil, ups)
	b.Cleanup(sender.Close)
	redis := redistest.Start(b, redistest.Options{})
	for _, c := range []struct {
		name string
		door func(b *testing.B) http.Handler
	}{
		{"bare", func(*testing.B) http.Handler {
			return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}
		}},
		{"memory", func(b *testing.B) http.Handler { return door(b, answers, memstore.New(memstore.Options{})) }},
		{"memory+HTTP", func(b *testing.B) http.Handler { return door(b, sender, memstore.New(memstore.Options{})) }},
		{"redis", func(b *testing.B) http.Handler {
			s, err := redisstore.Open(redis.URL, redisstore.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return door(b, answers, s)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := c.door(b)
			var n atomic.Int64
			proto := httptest.NewRequest("POST", "/proxy/up/notes/7", nil)
			proto.Header = http.Header{"Content-Type": {"application/json"}, "Agentgw-Key": {"a-long-secret-for-the-bench"},
				"User-Agent": {"Go-http-client/1.1"}, "Accept-Encoding": {"gzip"}, "Content-Length": {"200"}}
			b.ReportAllocs()
			b.SetParallelism(16)
			busy := processor()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					body := fmt.Sprintf(`{"n": %d, "amount": "1200.50", "when": "2026-04-01T10:00:00+09:00", "note": %q}`, n.Add(1), strings.Repeat("y", 110))
					r := proto.WithContext(context.Background())
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
					w := &unwritten{header: http.Header{}}
					if h.ServeHTTP(w, r); w.status != http.StatusOK {
						b.Errorf("status %d", w.status)
						return
					}
				}
			})
			b.ReportMetric((processor()-busy).Seconds()*1e6/float64(b.N), "cpu-µs/op")
		})
	}
}

// processor is the time that this process has spent on the processor: steadier than the clock on a machine with other things to do.
func processor() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
