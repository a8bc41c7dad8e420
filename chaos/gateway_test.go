package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const configText = `
listen: %s
admin: %s
ledger: %s
durability: %s
policies: [policy.yaml]
upstreams: {shop: {url: "http://%s", timeout: 4s}}
tools:
  place: {upstream: shop, path: /orders}
  lend: {upstream: shop, path: /orders}
  ship: {upstream: shop, path: /orders}
`

const policyText = `
version: 1
entities:
  order: {states: [new, shipped], initial: new}
operations:
  place: {tools: [place], key: {order: id}, lease: 3s}
  lend: {tools: [lend], key: {order: id}, lock: {room: id}, lease: 3s}
  ship: {tools: [ship], pattern: transition, entity: {order: {order: id}}, from: [new], to: shipped, lease: 3s}
`

// process is one gateway, which is killed, paused and started again.
type process struct {
	t           *testing.T
	binary, dir string
	url, admin  string

	mu     sync.Mutex
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// build makes the program that is tested.
func build(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "agentgw")
	if out, err := exec.Command("go", "build", "-o", binary, "agentgw/cmd/agentgw").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func startGateway(t *testing.T, binary, ledger, durability, tool string) *process {
	agents, admin := freeAddress(t), freeAddress(t)
	p := &process{t: t, binary: binary, dir: t.TempDir(), url: "http://" + agents, admin: "http://" + admin}
	for name, text := range map[string]string{"policy.yaml": policyText, "agentgw.yaml": fmt.Sprintf(configText, agents, admin, ledger, durability, tool)} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.launch()
	t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.kill()
		if t.Failed() {
			t.Logf("%s said last:\n%s", p.url, tail(p.stderr.String()))
		}
	})
	return p
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func (p *process) launch() {
	cmd := exec.Command(p.binary, "serve", "--config", "agentgw.yaml")
	cmd.Dir, cmd.SysProcAttr = p.dir, childAttributes()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stderr = &bytes.Buffer{}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
	p.cmd = cmd
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (p *process) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd.Process.Signal(s)
}

// suffer is one fault, from beginning to end.
func (p *process) suffer(f Fault) {
	if f.What == "pause" {
		p.signal(syscall.SIGSTOP)
		time.Sleep(f.For)
		p.signal(syscall.SIGCONT)
		return
	}
	p.kill()
	time.Sleep(f.For)
	p.launch()
}

// ready waits until the gateway serves.
func (p *process) ready() error {
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		res, err := http.Get(p.admin + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %d", res.StatusCode)
		}
		if time.Now().After(end) {
			return fmt.Errorf("the gateway at %s is not ready: %w", p.url, err)
		}
	}
}

// answer is what a robot gets to see.
type answer struct {
	Decision string
	Outcome  string
	Detail   string
	Effect   effect
}

type effect struct {
	ID        string
	State     string
	Version   json.Number
	Arguments struct{ Order json.RawMessage } // to operators
}

func (e effect) order() string { return strings.Trim(string(e.Arguments.Order), `"`) }

// call asks for an order. Orders are of three kinds, by their number; every fourth comes with a key of its caller's.
func (p *process) call(client *http.Client, order, nonce int) (a answer, err error) {
	args := fmt.Sprintf(`{"order":%d,"note":"%d"}`, order, nonce)
	name := []string{"place", "lend", "ship"}[order%3]
	if name == "lend" {
		args = fmt.Sprintf(`{"note":"%d","order":"%d","room":%d}`, nonce, order, order%97)
	}
	key := ""
	if order%4 == 0 {
		key = fmt.Sprintf(`"idempotency_key":"k-%d",`, order)
	}
	return a, post(client, p.url+"/v1/calls", `{"tool":"`+name+`",`+key+`"arguments":`+args+`}`, &a)
}

func post(client *http.Client, url, body string, into any) error {
	res, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// doubts lists the effects that operators are asked to look at.
func (p *process) doubts() (found []effect, err error) {
	for cursor := ""; ; {
		var page struct {
			Effects []effect
			Cursor  string
		}
		res, err := http.Get(p.admin + "/v1/effects?state=indeterminate&limit=100&cursor=" + cursor)
		if err != nil {
			return nil, err
		}
		err = json.NewDecoder(res.Body).Decode(&page)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		found = append(found, page.Effects...)
		if cursor = page.Cursor; cursor == "" {
			return found, nil
		}
	}
}

// resolve is an operator's word.
func (p *process) resolve(client *http.Client, e effect, outcome string) error {
	var now struct{ State, Detail string }
	err := post(client, p.admin+"/v1/effects/"+e.ID+"/resolve", fmt.Sprintf(`{"outcome":%q,"version":%s,"reason":"looked"}`, outcome, e.Version), &now)
	if err == nil && now.State != outcome {
		err = fmt.Errorf("resolved as %s it is %q (%s)", outcome, now.State, now.Detail)
	}
	return err
}
