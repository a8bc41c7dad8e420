package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// childGateway is a gateway in a process of its own, so that it can be killed.
type childGateway struct {
	dir     string
	env     []string
	command []string // nil: serve
	process *exec.Cmd
	ended   <-chan struct{}
	agents  *client
	ops     *client
}

// start runs this program again, as `serve` or what else the command says, and reads where it listens.
func (g *childGateway) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := g.command
	if command == nil {
		command = []string{"serve"}
	}
	var stderr strings.Builder
	g.process = exec.CommandContext(ctx, self)
	g.process.Args = append(append([]string{"agentgw", "--json"}, command...), "--config", filepath.Join(g.dir, "agentgw.yaml"))
	g.process.Env, g.process.Stderr = g.env, &stderr
	stdout, err := g.process.StdoutPipe()
	if err != nil {
		return err
	}
	if g.ended, err = startTied(g.process); err != nil {
		return err
	}
	var at struct{ Listen, Admin string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &at) != nil {
		g.kill()
		return fmt.Errorf("the gateway did not start: %s", strings.TrimSpace(stderr.String()))
	}
	go io.Copy(io.Discard, stdout)
	if g.agents, err = through("http://"+at.Listen, ""); err == nil {
		g.ops, err = through("http://"+at.Admin, "")
	}
	return err
}

// kill ends the process at once, with SIGKILL: nothing can be tidied up.
func (g *childGateway) kill() {
	g.process.Process.Kill()
	<-g.ended
}

// startTied starts a process that dies with this one, also when this one is killed, where the system can do that. ended is closed when the
// process has ended and was waited for.
func startTied(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	cmd.SysProcAttr = diesWithParent()
	started, end := make(chan error), make(chan struct{})
	go func() {
		// Linux takes the thread that started a process for its parent: it is kept until the process has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(end)
		}
	}()
	return end, <-started
}
