package filestore

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// childEnv names the ledger file to a copy of this test that writes until it is killed.
const childEnv = "AGENTGW_FILESTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

func writeUntilKilled(path string) {
	s, err := Open(path, Options{})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for client := range 16 {
		go func() {
			for n := 0; ; n++ {
				p := agentgw.NewPartition('e', agentgw.Digest{byte(client), byte(n), byte(n >> 8), byte(os.Getpid()), byte(os.Getpid() >> 8)})
				r, err := s.Swap(context.Background(), ledger.Swap{Partition: p, Stamp: 1, Changes: []ledger.Change{
					{Name: "e1", Value: []byte(p), Open: true}, {Name: "x", Value: []byte("with it"), Keep: time.Hour},
				}})
				mu.Lock()
				if err != nil || !r[0].Applied {
					fmt.Println("error:", r, err)
					os.Exit(1)
				}
				fmt.Println(p, r[0].Version)
				mu.Unlock()
			}
		}()
	}
	select {}
}

// Every swap that was acknowledged before a SIGKILL is there afterwards, whole, and later versions are greater.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	acked := map[agentgw.Partition]uint64{}
	last := uint64(0)
	for range 4 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childEnv+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(400*time.Millisecond, func() { child.Process.Kill() })
		before := last
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var p string
			var version uint64
			if _, err := fmt.Sscan(lines.Text(), &p, &version); err != nil || strings.HasPrefix(lines.Text(), "error:") {
				if strings.HasPrefix(lines.Text(), "error:") {
					t.Fatal(lines.Text())
				}
				continue // cut off by the kill
			}
			if version <= before {
				t.Fatalf("version %d after %d", version, before)
			}
			acked[agentgw.Partition(p)] = version
			last = max(last, version)
		}
		if err := child.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
	}
	if len(acked) < 100 {
		t.Fatalf("only %d swaps were acknowledged", len(acked))
	}
	s := mustOpen(t, path, nil)
	for p, version := range acked {
		r, err := s.Swap(t.Context(), ledger.Swap{Partition: p, Changes: []ledger.Change{{Name: "e1", Look: true}, {Name: "x", Look: true}}})
		if err != nil {
			t.Fatal(err)
		}
		if e := r[0].Records[0]; e.Version != version || string(e.Value) != string(p) || r[0].Records[1].Version != version {
			t.Fatalf("%s was acknowledged as version %d, there is %+v", p, version, r[0].Records)
		}
	}
	t.Logf("%d acknowledged swaps survived 4 kills", len(acked))
}
