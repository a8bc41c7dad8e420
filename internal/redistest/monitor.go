package redistest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Monitoring watches the commands that a server gets from its clients. What a script does is not counted, the script is.
type Monitoring struct {
	conn net.Conn
	end  chan struct{}

	mu       sync.Mutex
	seen     []string
	awaiting string
	arrived  chan struct{}
	server   *Server
	marks    int
}

// Monitor begins to watch a server for one test.
func (s *Server) Monitor(t TB) *Monitoring {
	t.Helper()
	m, err := s.Watch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// Watch begins to watch a server. The caller closes it.
func (s *Server) Watch() (*Monitoring, error) {
	conn, err := net.Dial("unix", s.Socket)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(conn, 1<<20)
	if err = send(conn, "MONITOR"); err == nil {
		_, err = reply(lines)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	m := &Monitoring{conn: conn, end: make(chan struct{}), server: s}
	go m.read(lines)
	return m, nil
}

func (m *Monitoring) read(lines *bufio.Reader) {
	defer close(m.end)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		// +1339518083.107412 [0 127.0.0.1:60866] "keys" "*"   or   [0 lua] for what a script does
		_, rest, _ := strings.Cut(line, "[")
		from, command, ok := strings.Cut(rest, "] ")
		if !ok || strings.HasSuffix(from, " lua") {
			continue
		}
		m.mu.Lock()
		if m.awaiting != "" && strings.Contains(command, m.awaiting) {
			close(m.arrived)
			m.awaiting = ""
		} else {
			m.seen = append(m.seen, strings.TrimSpace(command))
		}
		m.mu.Unlock()
	}
}

// Take returns the commands that arrived since the last call, in order, each as Redis prints it: "evalsha" "…" "3" …
func (m *Monitoring) Take() ([]string, error) {
	m.mu.Lock()
	m.marks++
	mark := fmt.Sprintf("mark %p %d", m, m.marks)
	m.awaiting, m.arrived = mark, make(chan struct{})
	arrived := m.arrived
	m.mu.Unlock()
	if _, err := m.server.Do("ECHO", mark); err != nil {
		return nil, err
	}
	select {
	case <-arrived:
	case <-m.end:
		return nil, fmt.Errorf("redis-server closed the connection that watches it")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen
	m.seen = nil
	return seen, nil
}

// Close stops watching.
func (m *Monitoring) Close() {
	m.conn.Close()
	<-m.end
}
