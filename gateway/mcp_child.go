package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// child is one run of an MCP server that speaks over its pipes: a JSON-RPC message a line.
type child struct {
	in      io.WriteCloser
	process *os.Process
	dead    chan struct{} // closed when it has ended

	writing sync.Mutex
}

const (
	firstPause = 100 * time.Millisecond // before a child that ended at once is started again, doubled each time
	lastPause  = 30 * time.Second
	farewell   = 3 * time.Second // from the end of its input to a signal, and from there to the end
)

var errEnded = errors.New("the server's process ended")

// startChild runs a server's command. got is told every message, ended that no more will come.
func startChild(server *MCPServer, log *slog.Logger, got func(message []byte), ended func(error)) (*child, error) {
	command := server.Command
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = server.Env
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	notes, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", command[0], err)
	}
	log.Info("started", "command", command[0], "pid", cmd.Process.Pid)
	c := &child{in: in, process: cmd.Process, dead: make(chan struct{})}
	var once sync.Once
	gone := func(err error) { once.Do(func() { ended(err) }) }
	var reading sync.WaitGroup
	reading.Go(func() { logLines(notes, log) })
	reading.Go(func() {
		err := readMessages(out, got)
		if errors.Is(err, errLargeMessage) { // it may go on for ever, and what it started may outlive it
			log.Error("killed", "command", command[0], "pid", cmd.Process.Pid, "error", err)
			gone(err)
			cmd.Process.Kill()
		}
		in.Close() // it will end too
		out.Close()
	})
	go func() {
		reading.Wait()
		err := cmd.Wait()
		close(c.dead)
		log.Info("ended", "command", command[0], "pid", cmd.Process.Pid, "state", cmd.ProcessState.String())
		gone(errors.Join(errEnded, err))
	}()
	return c, nil
}

// stop ends a child: by the end of its input, which is how MCP says goodbye, else by signals.
func (c *child) stop() {
	c.in.Close()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill} {
		select {
		case <-c.dead:
			return
		case <-time.After(farewell):
			c.process.Signal(signal)
		}
	}
	<-c.dead
}

// readMessages hands over one message after the other until there are no more.
func readMessages(out io.Reader, got func(message []byte)) error {
	for r := bufio.NewReaderSize(out, 64<<10); ; {
		line, err := readLine(r, maxMessage)
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			got(line)
		}
	}
}

// maxNote is how much of a line of stderr is logged.
const maxNote = 16 << 10

// logLines writes what a child says on stderr to the log. A long line is cut off, which leaves the log to others.
func logLines(r io.Reader, log *slog.Logger) {
	within := false
	for in := bufio.NewReaderSize(r, maxNote); ; {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		if !within {
			log.Info("stderr", "line", string(line))
		}
		within = more
	}
}

// write sends a message. sent is false where no byte of it can have arrived.
func (c *child) write(message []byte) (sent bool, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	select {
	case <-c.dead:
		return false, errEnded
	default:
	}
	n, err := c.in.Write(slices.Concat(oneLine(message), []byte{'\n'}))
	return n > 0, err
}
