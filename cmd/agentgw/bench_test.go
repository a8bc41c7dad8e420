package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgw/internal/redistest"
)

// The measured processes are this test program again, in another role, and the real agentgw: so that each one's CPU time is its own.
const roleVariable = "AGENTGW_BENCH_ROLE"

func init() {
	role, arg, _ := strings.Cut(os.Getenv(roleVariable), " ")
	var h http.Handler
	switch role {
	case "":
		return
	case "upstream":
		answer := bytes.Repeat([]byte("x"), 300)
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/plain")
			w.Write(answer)
		})
	case "proxy":
		u, err := url.Parse(arg)
		if err != nil {
			panic(err)
		}
		h = &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u) },
			Transport: &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 1024, DisableCompression: true},
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	panic(http.Serve(l, h))
}

// process is a measured process.
type process struct {
	name, url string
	pid       int
}

// cpu is what the process has used of the processor so far. The kernel counts in ticks of 10 ms.
func (p process) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func startRole(b *testing.B, role string) process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return process{role, strings.TrimSpace(line), cmd.Process.Pid}
}

const benchPolicy = `
version: 1
operations:
  note.add:
    http: ["POST /up/notes/{id}"]
    key: {id: id, n: int}
    must_match: {amount: "money(EUR)", when: instant}
    ttl: 1h
`

func startAgentgw(b *testing.B, binary, ledger, upstream string) process {
	b.Helper()
	dir := b.TempDir()
	k := &killed{binary: binary, dir: dir}
	agents, admin := benchAddress(b), benchAddress(b)
	config := fmt.Sprintf("listen: %s\nadmin: %s\nledger: %q\npolicies: [policy.yaml]\nupstreams: {up: {url: %q}}\n", agents, admin, ledger, upstream) +
		"principals: [{name: bench, secret: \"env:BENCH_KEY\", tenant: t}]\noperators: [{name: ops, secret: \"env:BENCH_KEY\"}]\n"
	for name, text := range map[string]string{"policy.yaml": benchPolicy, "agentgw.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command(k.binary, "serve")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "BENCH_KEY=a-long-secret-for-the-bench")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if res, err := http.Get("http://" + admin + "/readyz"); err == nil {
			res.Body.Close()
			break
		}
		if time.Now().After(end) {
			b.Fatalf("not ready: %s", stderr.String())
		}
	}
	return process{"agentgw " + ledger[:strings.IndexAny(ledger, ":+")], "http://" + agents + "/proxy/up", cmd.Process.Pid}
}

func benchAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var benchBody = `{"n": %d, "amount": "1200.50", "when": "2026-04-01T10:00:00+09:00", "note": "` + strings.Repeat("y", 110) + `"}`

// measured is one window of load on one process.
type measured struct {
	rate float64       // requests a second
	cpu  time.Duration // of the process, a request
	p50  time.Duration
}

// load sends requests, so many at a time, for a while. Each is new, or all are one.
func load(b *testing.B, p process, at int, window time.Duration, next *atomic.Int64, fresh bool) measured {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: at, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	before, begin := p.cpu(), time.Now()
	for range at {
		wg.Go(func() {
			var mine []time.Duration
			for time.Since(begin) < window {
				n := int64(1)
				if fresh {
					n = next.Add(1)
				}
				req, err := http.NewRequest("POST", p.url+"/notes/7", strings.NewReader(fmt.Sprintf(benchBody, n)))
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Agentgw-Key", "a-long-secret-for-the-bench")
				t := time.Now()
				res, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					b.Errorf("%s: status %d", p.name, res.StatusCode)
					return
				}
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	elapsed := time.Since(begin)
	slices.Sort(took)
	if len(took) == 0 {
		b.Fatal("no request was answered")
	}
	return measured{float64(len(took)) / elapsed.Seconds(), (p.cpu() - before) / time.Duration(len(took)), took[len(took)/2]}
}

// BenchmarkGateway compares the whole gateway with a bare httputil.ReverseProxy to the same upstream: new guarded POSTs of 200 bytes
// with an answer of 300, everything on. Every round measures all processes one after the other; what is printed are medians of the
// rounds' ratios, which a shared machine disturbs less than rates.
func BenchmarkGateway(b *testing.B) {
	if b.N > 1 {
		return
	}
	const rounds, window = 7, 1500 * time.Millisecond
	binary := filepath.Join(b.TempDir(), "agentgw")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	upstream := startRole(b, "upstream")
	base := startRole(b, "proxy "+upstream.url)
	redis := redistest.Start(b, redistest.Options{})
	gateways := []process{startAgentgw(b, binary, "memory:", upstream.url), startAgentgw(b, binary, "file:ledger.db", upstream.url), startAgentgw(b, binary, redis.URL, upstream.url)}
	var next atomic.Int64
	next.Store(time.Now().UnixNano() / 1000)
	fmt.Printf("\n%-18s %6s %12s %12s %14s %12s\n", "against a proxy", "at", "throughput", "CPU a call", "added p50", "replays")
	for _, at := range []int{1, 32, 128} {
		ratios := map[string][][4]float64{}
		for range rounds {
			bare := load(b, base, at, window, &next, true)
			for _, g := range gateways {
				m := load(b, g, at, window, &next, true)
				r := load(b, g, at, window/3, &next, false)
				ratios[g.name] = append(ratios[g.name], [4]float64{m.rate / bare.rate, float64(m.cpu) / float64(bare.cpu), float64(m.p50-bare.p50) / 1e6, r.rate / bare.rate})
			}
		}
		for _, g := range gateways {
			var mid [4]float64
			for i := range mid {
				var column []float64
				for _, r := range ratios[g.name] {
					column = append(column, r[i])
				}
				slices.Sort(column)
				mid[i] = column[len(column)/2]
			}
			fmt.Printf("%-18s %6d %12.2f %12.2f %11.2f ms %12.2f\n", g.name, at, mid[0], mid[1], mid[2], mid[3])
		}
	}
}
