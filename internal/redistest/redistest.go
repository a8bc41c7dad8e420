// Package redistest starts real redis-servers: alone, under Sentinel, as a Cluster. They listen on loopback and sockets in a temporary
// folder, hold nothing dear, and end with whoever started them.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options of a server; the zero value works.
type Options struct {
	Config []string // more lines of redis.conf, such as "maxmemory 10mb"
	Users  []string // ACL users, such as "alice on >secret ~* +@all"
	TLS    bool     // the TCP port speaks TLS; CertFile signs it
}

// Server is a running redis-server.
type Server struct {
	URL      string // redis+unix://…, or rediss://… with TLS
	TCP      string // redis://127.0.0.1:port; "" with TLS
	Addr     string // 127.0.0.1:port
	Socket   string // path of its unix socket
	CertFile string // with TLS: the certificate that clients must trust

	dir  string // belongs to the server
	args []string

	mu  sync.Mutex
	cmd *exec.Cmd
	end chan struct{} // closed when cmd has ended
}

// TB is what the package needs of a *testing.T or *testing.B, without making programs that use it carry package testing.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start runs a server for one test. Without redis-server on the path the test fails.
func Start(t TB, o Options) *Server {
	t.Helper()
	s, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Run starts a server and waits until it answers. The caller closes it.
func Run(o Options) (*Server, error) {
	dir, err := os.MkdirTemp("", "redis") // short: the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s, err := run(dir, o)
	if err != nil {
		os.RemoveAll(dir)
	}
	return s, err
}

func run(dir string, o Options) (*Server, error) {
	s := &Server{dir: dir, Socket: filepath.Join(dir, "s")}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s.Addr = "127.0.0.1:" + strconv.Itoa(port)
	s.URL = "redis+unix://" + s.Socket
	lines := []string{
		"bind 127.0.0.1", "dir " + dir, "unixsocket " + s.Socket, "unixsocketperm 700",
		`save ""`, "appendonly no", "logfile " + filepath.Join(dir, "log"), "repl-diskless-sync-delay 0",
	}
	if o.TLS {
		key := filepath.Join(dir, "key.pem")
		s.CertFile = filepath.Join(dir, "cert.pem")
		if err := writeCertificate(s.CertFile, key); err != nil {
			return nil, err
		}
		s.URL = "rediss://" + s.Addr
		lines = append(lines, "port 0", "tls-port "+strconv.Itoa(port), "tls-auth-clients no",
			"tls-cert-file "+s.CertFile, "tls-key-file "+key, "tls-ca-cert-file "+s.CertFile)
	} else {
		s.TCP = "redis://" + s.Addr
		lines = append(lines, "port "+strconv.Itoa(port))
	}
	for _, u := range o.Users {
		lines = append(lines, "user "+u)
	}
	conf := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(conf, []byte(strings.Join(append(lines, o.Config...), "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	s.args = []string{conf}
	return s, s.launch()
}

// errNoRedis is what a machine without Redis gets.
var errNoRedis = errors.New("redis-server is not on the PATH: install Redis 6.2 or newer (Debian: apt-get install redis-server)")

// launch starts the process and waits until it answers.
func (s *Server) launch() error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return errNoRedis
	}
	cmd := exec.Command(program, s.args...)
	cmd.SysProcAttr = childAttributes()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	end := make(chan struct{})
	go func() {
		cmd.Wait()
		close(end)
	}()
	s.mu.Lock()
	s.cmd, s.end = cmd, end
	s.mu.Unlock()
	if err := s.awaitAnswer(end); err != nil {
		s.Kill()
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("redis-server: %w\n%s%s", err, said.String(), log)
	}
	return nil
}

func (s *Server) awaitAnswer(end <-chan struct{}) error {
	limit := time.Now().Add(20 * time.Second)
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		_, err := s.Do("PING")
		var refused Refusal
		if err == nil || errors.As(err, &refused) && !strings.HasPrefix(string(refused), "LOADING") {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("does not answer: %w", err)
		}
		select {
		case <-end:
			return errors.New("ended at once")
		case <-time.After(wait):
		}
	}
}

// Kill ends the process as kill -9 does and waits for its end.
func (s *Server) Kill() {
	s.mu.Lock()
	cmd, end := s.cmd, s.end
	s.mu.Unlock()
	cmd.Process.Kill()
	<-end
}

// Restart kills the process and starts it again, at the same addresses. What it held is lost unless its Config says otherwise.
func (s *Server) Restart() error {
	s.Kill()
	return s.launch()
}

// Pause stops the process without closing its connections.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Signal(sig)
}

// Close kills the process and removes its files.
func (s *Server) Close() error {
	s.Kill()
	return os.RemoveAll(s.dir)
}

// Do runs one command on a connection of its own, through the unix socket, and returns its reply as text.
func (s *Server) Do(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return do(ctx, "unix", s.Socket, args...)
}

// freePort returns a port that nothing listened on a moment ago, and whose bus port for Cluster is likewise free.
func freePort() (int, error) {
	for range 50 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port+10000 > 65535 {
			port -= 10000
			if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err != nil {
				continue
			}
			l.Close()
		}
		if l, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+10000)); err == nil {
			l.Close()
			return port, nil
		}
	}
	return 0, errors.New("no free port found on 127.0.0.1")
}
