package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentgw/internal/redistest"
)

// TestKilledVerifyLeavesNoProcess: gateways, and the Redis whose clock jumps, die with a battery that is killed.
func TestKilledVerifyLeavesNoProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = []string{"agentgw", "verify", "--ledger", redistest.Start(t, redistest.Options{}).TCP, "--only", "clock-jump", "--times", "50"}
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = diesWithParent()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var children []string
	for end := time.Now().Add(30 * time.Second); len(children) < 2; time.Sleep(time.Millisecond) { // a gateway and a Redis
		if time.Now().After(end) {
			cmd.Process.Kill()
			t.Fatalf("it has these children: %q", children)
		}
		children = childrenOf(cmd.Process.Pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		left := 0
		for _, pid := range children {
			if _, state := stat(filepath.Join("/proc", pid)); state != "" && state != "Z" {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of the processes %q live on", left, children)
		}
	}
}

// childrenOf lists processes by their parent.
func childrenOf(pid int) (children []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if parent, state := stat(dir); parent == pid && state != "Z" {
			children = append(children, filepath.Base(dir))
		}
	}
	return children
}

// stat reads the parent and the state of a process; "" where there is none.
func stat(dir string) (parent int, state string) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, ""
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind its name
	fmt.Sscan(rest, &state, &parent)
	return parent, state
}
