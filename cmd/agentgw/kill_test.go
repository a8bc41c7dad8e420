package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/internal/redistest"
)

const kills = 50

const killConfig = `
listen: %s
admin: %s
ledger: %s
policies: [policy.yaml]
upstreams: {shop: {url: %q}}
tools:
  place_order: {upstream: shop, path: /orders}
`

const killPolicy = `
version: 1
operations:
  order.place:
    tools: [place_order]
    key: {order: id}
    lease: 2s
  order.lock:
    tools: [place_order]
    when: "has(args.shelf)"
    key: {order: id}
    lock: {shelf: id}
    lease: 2s
`

// killed is a gateway process that is killed and started again.
type killed struct {
	t           *testing.T
	binary, dir string
	url, admin  string
	cmd         *exec.Cmd
	stderr      bytes.Buffer
}

// buildGateway builds the program, with the race detector where the test has it too.
func buildGateway(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "agentgw")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (k *killed) start() {
	k.t.Helper()
	k.cmd = exec.Command(k.binary, "serve", "--config", "agentgw.yaml")
	k.cmd.Dir = k.dir
	k.stderr.Reset()
	k.cmd.Stderr = &k.stderr
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if res, err := http.Get(k.admin + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
	}
	k.kill()
	k.t.Fatalf("the gateway is not ready: %s", k.stderr.String())
}

func (k *killed) kill() {
	k.cmd.Process.Kill()
	k.cmd.Wait()
}

// shop is the tool: it takes a moment before and after it acts, so that kills fall everywhere.
type shop struct {
	mu      sync.Mutex
	effects map[string]int
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Order json.Number }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
	s.mu.Lock()
	s.effects[in.Order.String()]++
	s.mu.Unlock()
	time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
	io.WriteString(w, `{"ok":true}`)
}

func (s *shop) count(order int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects[fmt.Sprint(order)]
}

type killAnswer struct {
	Decision string
	Detail   string
	Effect   struct {
		ID      string
		State   string
		Version json.Number
	}
}

func (k *killed) call(client *http.Client, order int) (a killAnswer, err error) {
	args := fmt.Sprintf(`{"order":%d,"note":"%d"}`, order, rand.Int())
	if order%3 == 0 {
		args = fmt.Sprintf(`{"note":"%d","order":"%d","shelf":"s%d"}`, rand.Int(), order, order)
	}
	key := ""
	if order%4 == 0 {
		key = fmt.Sprintf(`"idempotency_key":"k-%d",`, order)
	}
	res, err := client.Post(k.url+"/v1/calls", "application/json", strings.NewReader(`{"tool":"place_order",`+key+`"arguments":`+args+`}`))
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	err = json.NewDecoder(res.Body).Decode(&a)
	return a, err
}

func runKills(t *testing.T, ledgerURL string) {
	tool := &shop{effects: map[string]int{}}
	upstream := httptest.NewServer(tool)
	t.Cleanup(upstream.Close)
	agents, admin := freeAddress(t), freeAddress(t)
	k := &killed{t: t, binary: buildGateway(t), dir: t.TempDir(), url: "http://" + agents, admin: "http://" + admin}
	for name, text := range map[string]string{"policy.yaml": killPolicy, "agentgw.yaml": fmt.Sprintf(killConfig, agents, admin, ledgerURL, upstream.URL)} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k.start()
	t.Cleanup(func() { k.kill() })

	var stop atomic.Bool
	var newest atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			client := &http.Client{Timeout: 10 * time.Second}
			defer client.CloseIdleConnections()
			for !stop.Load() {
				order := int(newest.Add(1))
				for range 3 { // a robot that does not care and repeats
					if _, err := k.call(client, order); err != nil {
						time.Sleep(20 * time.Millisecond)
					}
				}
			}
		})
	}
	for range kills {
		time.Sleep(time.Duration(20+rand.IntN(120)) * time.Millisecond)
		k.kill()
		k.start()
	}
	stop.Store(true)
	wg.Wait()
	time.Sleep(2500 * time.Millisecond) // one lease later

	client := &http.Client{Timeout: 10 * time.Second}
	orders, decisions := int(newest.Load()), map[string]int{}
	for order := 1; order <= orders; order++ {
		before := tool.count(order)
		if before > 1 {
			t.Errorf("order %d happened %d times", order, before)
		}
		a, err := k.call(client, order)
		if err != nil {
			t.Fatal(err)
		}
		decisions[a.Decision]++
		switch {
		case a.Decision == "replayed" && before != 1, a.Decision == "executed" && before != 0:
			t.Errorf("order %d: %s, and it happened %d times before", order, a.Decision, before)
		case a.Decision == "indeterminate":
			k.resolve(client, order, a, before)
		case a.Decision != "replayed" && a.Decision != "executed":
			t.Errorf("order %d: %s (%s)", order, a.Decision, a.Detail)
		}
		if n := tool.count(order); n != 1 {
			t.Errorf("order %d: %d effects in the end", order, n)
		}
	}
	t.Logf("%d kills, %d orders; asked again afterwards: %v", kills, orders, decisions)
	if orders < 200 {
		t.Errorf("only %d orders: the load did not run", orders)
	}
}

// resolve settles a doubt as the tool has it, and asks once more.
func (k *killed) resolve(client *http.Client, order int, a killAnswer, before int) {
	outcome, want := "failed", "executed"
	if before == 1 {
		outcome, want = "succeeded", "replayed"
	}
	body := fmt.Sprintf(`{"outcome":%q,"version":%s,"reason":"looked"}`, outcome, a.Effect.Version)
	res, err := client.Post(k.admin+"/v1/effects/"+a.Effect.ID+"/resolve", "application/json", strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		k.t.Errorf("order %d: resolve answered %d: %s", order, res.StatusCode, text)
	}
	if again, err := k.call(client, order); err != nil || again.Decision != want {
		k.t.Errorf("order %d: resolved as %s, then %s (%s), %v", order, outcome, again.Decision, again.Detail, err)
	}
}

// TestKillsFile kills the gateway fifty times under load, over the embedded ledger.
func TestKillsFile(t *testing.T) { runKills(t, "file:ledger.db") }

// TestKillsRedis does so over Redis.
func TestKillsRedis(t *testing.T) { runKills(t, redistest.Start(t, redistest.Options{}).URL) }
