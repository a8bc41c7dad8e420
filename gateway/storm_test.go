package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/internal/redistest"
	"agentgw/ledger"
	"agentgw/ledger/filestore"
	"agentgw/ledger/redisstore"
	"agentgw/policy"
)

const stormPolicy = `
version: 1
operations:
  invoice.issue:
    tools: [create_invoice]
    key: {customer: id, period: month, lines: set(code)}
    must_match: {amount: money(currency)}
`

// billing is a tool over HTTP that counts its effects by what they mean.
type billing struct {
	*httptest.Server
	mu      sync.Mutex
	effects map[string]int
	pause   time.Duration
}

func startBilling(t *testing.T, pause time.Duration) *billing {
	b := &billing{effects: map[string]int{}, pause: pause}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Customer any }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		time.Sleep(b.pause)
		b.mu.Lock()
		b.effects[strings.TrimSpace(fmt.Sprint(in.Customer))]++
		n := len(b.effects)
		b.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"invoice":"I-%d","at":%d}`, n, time.Now().UnixNano())
	}))
	t.Cleanup(b.Close)
	return b
}

// startGateway serves a gateway over HTTP.
func startGateway(t testing.TB, store ledger.Store, upstream string) *httptest.Server {
	t.Helper()
	pol, err := policy.Load([]policy.Source{{Name: "storm.yaml", Text: []byte(stormPolicy)}}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*gateway.Tool{"create_invoice": {Name: "create_invoice", Upstream: "billing", Path: "/invoices"}}
	upstreams := map[string]*gateway.Upstream{"billing": {Name: "billing", URL: u}}
	g := gateway.New(gateway.Options{Policy: pol, Ledger: ledger.New(store), Sender: gateway.NewHTTP(tools, upstreams), Tools: tools, Upstreams: upstreams})
	s := httptest.NewServer(g.Doors(gateway.DoorConfig{}))
	t.Cleanup(s.Close)
	return s
}

// reworded is one of the ways to ask for invoice n.
func reworded(n int, r *rand.Rand) string {
	customer := fmt.Sprintf([]string{`%d`, `"%d"`, `" %d "`}[r.IntN(3)], 1000+n)
	period := []string{`"2026-04"`, `"2026/4/30"`, `"2026-04-01"`}[r.IntN(3)]
	amount := []string{`"1200.5"`, `1200.50`, `"1200.50"`, `1.2005e3`}[r.IntN(4)]
	lines := []string{`["A-1","B-2"]`, `["b-2","Ａ-1","A-1"]`, `"[\"B-2\", \"A-1\"]"`}[r.IntN(3)]
	members := []string{`"customer":` + customer, `"period":` + period, `"amount":` + amount, `"currency":"eur"`, `"lines":` + lines,
		fmt.Sprintf(`"note":"run %d"`, r.IntN(1000))}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return `{"tool":"create_invoice","arguments":{` + strings.Join(members, ", ") + `}}`
}

// storm sends calls for effects, so many at a time, over the gateways in turn.
func storm(t *testing.T, gateways []string, calls, effects, at int, seen *billing) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: at}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var mu sync.Mutex
	answers := map[int]string{}
	decisions := map[string]int{}
	var wg sync.WaitGroup
	for worker := range at {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(worker)))
			for {
				i := int(next.Add(1)) - 1
				if i >= calls {
					return
				}
				n := r.IntN(effects)
				if i < effects {
					n = i
				}
				res, err := client.Post(gateways[i%len(gateways)]+"/v1/calls", "application/json", strings.NewReader(reworded(n, r)))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil {
					t.Error(err)
					return
				}
				var d struct {
					Decision string
					Result   json.RawMessage
				}
				if err := json.Unmarshal(body, &d); err != nil {
					t.Errorf("%v in %s", err, body)
					return
				}
				mu.Lock()
				decisions[d.Decision]++
				switch d.Decision {
				case "executed", "replayed":
					if first, ok := answers[n]; ok && first != string(d.Result) {
						t.Errorf("effect %d: two answers, %s and %s", n, first, d.Result)
					}
					answers[n] = string(d.Result)
				case "in_flight":
				default:
					t.Errorf("effect %d: %s", n, bytes.TrimSpace(body))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls for %d effects: %v", calls, effects, decisions)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.effects) != effects || decisions[string(agentgw.Executed)] != effects {
		t.Errorf("%d effects at the tool and %d executed, wanted %d", len(seen.effects), decisions["executed"], effects)
	}
	for customer, n := range seen.effects {
		if n != 1 {
			t.Errorf("customer %s: %d invoices", customer, n)
		}
	}
}

// TestStormRedis: ten thousand calls, worded differently, through two gateways on one Redis.
func TestStormRedis(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	tool := startBilling(t, 2*time.Millisecond)
	var gateways []string
	for range 2 {
		store, err := redisstore.Open(server.URL, redisstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		gateways = append(gateways, startGateway(t, store, tool.URL).URL)
	}
	storm(t, gateways, 10_000, 100, 64, tool)
}

// TestStormFile: the same through one gateway on the embedded ledger.
func TestStormFile(t *testing.T) {
	store, err := filestore.Open(filepath.Join(t.TempDir(), "ledger.db"), filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	tool := startBilling(t, 2*time.Millisecond)
	storm(t, []string{startGateway(t, store, tool.URL).URL}, 10_000, 100, 64, tool)
}

// TestRoundTrips counts what Redis is asked for a call: two commands for a first one, one for a duplicate, and nothing else. A caller's
// key travels in the claim's pipeline.
func TestRoundTrips(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	store, err := redisstore.Open(server.URL, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	tool := startBilling(t, 0)
	g := startGateway(t, store, tool.URL)
	r := rand.New(rand.NewPCG(1, 2))
	call := func(n int, key string) {
		body := reworded(n, r)
		if key != "" {
			body = strings.Replace(body, `{"tool"`, `{"idempotency_key":"`+key+`","tool"`, 1)
		}
		res, err := http.Post(g.URL+"/v1/calls", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Fatalf("status %d", res.StatusCode)
		}
	}
	call(0, "") // the connection is made, the script is loaded
	monitor := server.Monitor(t)
	for _, step := range []struct {
		n    int
		key  string
		want int
	}{{1, "", 2}, {1, "", 1}, {2, "k-2", 5}, {2, "k-2", 2}} {
		if _, err := monitor.Take(); err != nil {
			t.Fatal(err)
		}
		call(step.n, step.key)
		seen, err := monitor.Take()
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != step.want {
			t.Errorf("effect %d, key %q: %d commands, wanted %d: %q", step.n, step.key, len(seen), step.want, seen)
		}
	}
}
