package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentgw/internal/redistest"
	"agentgw/ledger/redisstore"
)

const doctorConfig = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
ledger: %q
policies: [policy.yaml]
upstreams: {shop: {url: "http://127.0.0.1:1"}}
tools: {place_order: {upstream: shop, path: /orders}}
principals: [{name: agent, secret: a-secret-of-some-length}]
operators: [{name: ops, secret: another-secret-of-some-length}]
%s`

// examine runs the doctor over a ledger, and returns what it says.
func examine(t *testing.T, want int, ledgerURL, more string) []diagnosis {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"policy.yaml": killPolicy, "agentgw.yaml": fmt.Sprintf(doctorConfig, ledgerURL, more)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return examineFile(t, want, filepath.Join(dir, "agentgw.yaml"))
}

func examineFile(t *testing.T, want int, file string) []diagnosis {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"--json", "doctor", "--config", file}, nil, &out, &errs, os.Environ())
	var r struct {
		Verdict  string
		Findings []diagnosis
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != want || (code == exitFine) != (r.Verdict == "safe") {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out.String(), errs.String())
	}
	return r.Findings
}

// says fails the test where nothing of a level holds a text, with a way to mend it.
func says(t *testing.T, found []diagnosis, level, what, mend string) {
	t.Helper()
	if !slices.ContainsFunc(found, func(f diagnosis) bool {
		return f.Level == level && strings.Contains(f.What, what) && strings.Contains(f.Mend, mend)
	}) {
		t.Errorf("nothing %s says %q, %q: %+v", level, what, mend, found)
	}
}

func TestDoctorRedis(t *testing.T) {
	well := redistest.Start(t, redistest.Options{Config: []string{"appendonly yes", "appendfsync always"}})
	found := examine(t, exitFine, well.TCP, "")
	says(t, found, levelFine, "keeps what it is given", "")
	says(t, found, levelWarning, "no ttl: when a success is 24h old, the same call executes again", "ttl: 7d")
	if _, err := well.Do("CONFIG", "SET", "appendfsync", "everysec"); err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(well.Addr, ":")
	cli := "redis-cli -h " + host + " -p " + port + " CONFIG SET "
	says(t, examine(t, exitFine, well.TCP, ""), levelWarning, "appendfsync is everysec", cli+"appendfsync always")
	says(t, examine(t, exitFailed, well.TCP, "durability: replicated"), levelUnsafe, "needs 1 replicas and it has 0", "--replicaof")

	for _, line := range [][]string{{"appendonly", "no"}, {"maxmemory-policy", "allkeys-lru"}} {
		if _, err := well.Do("CONFIG", "SET", line[0], line[1]); err != nil {
			t.Fatal(err)
		}
	}
	found = examine(t, exitFailed, well.TCP, "")
	says(t, found, levelUnsafe, "keeps nothing on a disk", cli+"appendonly yes")
	says(t, found, levelUnsafe, "maxmemory-policy is allkeys-lru", cli+"maxmemory-policy noeviction")
	if _, err := well.Do("CONFIG", "SET", "save", "60 1"); err != nil {
		t.Fatal(err)
	}
	says(t, examine(t, exitFailed, well.TCP, ""), levelUnsafe, "since its last snapshot", "appendonly yes")
	well.Kill()
	says(t, examine(t, exitFailed, well.TCP, ""), levelUnsafe, "cannot be reached", "redis-cli -h "+host+" -p "+port+" PING")
}

func TestDoctorSentinel(t *testing.T) {
	s := redistest.StartSentinel(t, 1)
	found := examine(t, exitFailed, s.URL, "on_failover: go")
	says(t, found, levelWarning, "a failover can lose the claims", "durability: replicated")
	says(t, found, levelWarning, "on_failover is go", "on_failover: wait")
	says(t, found, levelUnsafe, "keeps nothing on a disk", "appendonly yes")
}

// TestDoctorDoors: who listens to other machines, who has no secret, what waits.
func TestDoctorDoors(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Config: []string{"appendonly yes", "appendfsync always"}})
	dir := t.TempDir()
	file := filepath.Join(dir, "agentgw.yaml")
	for name, text := range map[string]string{"agentgw.yaml": fmt.Sprintf(`
listen: "[::]:18080"
admin: 127.0.0.1:0
ledger: %q
unmatched: pass
upstreams: {shop: {url: "http://shop.example", headers: {Authorization: Bearer x}}}
principals: [{name: agent, secret: short}]
`, server.TCP), "agentgw.spool/1.outcome.json": "{}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := examineFile(t, exitFailed, file)
	says(t, found, levelUnsafe, "reach [::]:18080 unencrypted", "caddy reverse-proxy --from gateway.example --to 127.0.0.1:18080")
	says(t, found, levelUnsafe, "no operation is guarded", "agentgw policy suggest")
	says(t, found, levelUnsafe, "1 outcomes wait", "agentgw serve")
	says(t, found, levelWarning, "every program on this machine may settle doubts", "operators:")
	says(t, found, levelWarning, "5 characters", "openssl rand")
	says(t, found, levelWarning, "goes to shop.example unencrypted", "https")
}

// TestDoctorRunning asks a gateway that runs how long answers took, and which were lost.
func TestDoctorRunning(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Config: []string{"appendonly yes", "appendfsync always"}})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "lose") {
			panic(http.ErrAbortHandler)
		}
		time.Sleep(1100 * time.Millisecond)
	}))
	t.Cleanup(slow.Close)
	dir := t.TempDir()
	const policyText = "version: 1\noperations:\n  order.place: {tools: [place_order], key: {order: id}, lease: 1s}\n"
	text := strings.NewReplacer("admin: 127.0.0.1:0", "admin: "+freeAddress(t), "http://127.0.0.1:1", slow.URL).Replace(fmt.Sprintf(doctorConfig, server.TCP, ""))
	for name, text := range map[string]string{"policy.yaml": policyText, "agentgw.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := &childGateway{dir: dir, env: os.Environ()}
	if err := g.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.kill)
	g.agents.key = "a-secret-of-some-length"
	for _, order := range []string{`{"order":1}`, `{"order":"lose"}`} {
		if _, err := g.call(t.Context(), callBody{Tool: "place_order", Arguments: json.RawMessage(order)}); err != nil {
			t.Fatal(err)
		}
	}
	found := examineFile(t, exitFine, filepath.Join(dir, "agentgw.yaml"))
	says(t, found, levelWarning, "lease of 1s is shorter than the slowest answer of shop (up to 2.5s)", "write lease: 2.5s")
	says(t, found, levelWarning, "1 answers were lost", "effects list")
	says(t, found, levelWarning, "1 effects are in doubt", "agentgw effects resolve eff_")
}

// TestDoctorFile looks at the file of an embedded ledger.
func TestDoctorFile(t *testing.T) {
	d := &doctor{app: &app{}, c: &config{}}
	name := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d.file(name)
	says(t, d.found, levelWarning, "others may read", "chmod 600 "+name)
	d.found = nil
	d.file(filepath.Join(name, "no", "such", "folder"))
	says(t, d.found, levelUnknown, "the file system of", "")
}

// TestDoctorClock: a clock that differs is told, one whose question took long is not blamed for it.
func TestDoctorClock(t *testing.T) {
	d := &doctor{app: &app{}, c: &config{}}
	d.clock(redisstore.Facts{Skew: -900 * time.Millisecond})
	d.clock(redisstore.Facts{Skew: 3 * time.Second, Within: 2500 * time.Millisecond})
	if len(d.found) > 0 {
		t.Errorf("%+v", d.found)
	}
	d.clock(redisstore.Facts{Addr: "r:1", Skew: -5 * time.Second, Within: time.Millisecond})
	says(t, d.found, levelWarning, "differ by 5s", "timedatectl")
}

// TestDoctorTimes reads what a gateway says of its upstreams.
func TestDoctorTimes(t *testing.T) {
	took := readUpstreamTimes([]byte(`# HELP agentgw_upstream_seconds Time that upstreams took
agentgw_upstream_seconds_bucket{result="answered",upstream="shop",le="1"} 3
agentgw_upstream_seconds_bucket{result="answered",upstream="shop",le="120"} 4
agentgw_upstream_seconds_bucket{result="answered",upstream="shop",le="+Inf"} 4
agentgw_upstream_seconds_count{result="answered",upstream="shop"} 4
agentgw_upstream_seconds_bucket{result="lost",upstream="shop",le="1"} 2
agentgw_upstream_seconds_count{result="lost",upstream="shop"} 2
agentgw_upstream_seconds_bucket{result="answered",upstream="slow",le="600"} 0
agentgw_upstream_seconds_bucket{result="answered",upstream="slow",le="+Inf"} 1
other_metric{upstream="shop"} 9
`))
	if shop := took["shop"]; shop.slowest != 2*time.Minute || shop.lost != 2 || took["slow"].shown() != "more than 10m" || len(took) != 2 {
		t.Errorf("%+v", took)
	}
}
