package filestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"agentgw"
	"agentgw/ledger"
	"agentgw/ledger/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (ledger.Store, func(time.Duration)) {
		var offset atomic.Int64
		s := mustOpen(t, filepath.Join(t.TempDir(), "l.db"), func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
		return s, func(d time.Duration) { offset.Add(int64(d)) }
	})
}

func TestAlone(t *testing.T) {
	storetest.Alone(t, mustOpen(t, filepath.Join(t.TempDir(), "l.db"), nil))
}

func BenchmarkStore(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "l.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	storetest.Bench(b, s)
}

func mustOpen(t *testing.T, path string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(path, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var stamps atomic.Uint64

func swap(t *testing.T, s *Store, changes ...ledger.Change) ledger.Reply {
	t.Helper()
	r, err := s.Swap(t.Context(), ledger.Swap{Partition: "e1", Stamp: stamps.Add(1), Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

func TestReopenKeepsRecordsAndNeverReusesVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	clock := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }

	s := mustOpen(t, path, now)
	kept := swap(t, s, ledger.Change{Name: "e1", Value: []byte("kept"), Open: true})
	gone := swap(t, s, ledger.Change{Name: "e2", Value: []byte("gone")})
	swap(t, s, ledger.Change{Name: "e2", Want: gone.Version})
	s.Close()

	clock = clock.Add(-time.Hour) // the machine's clock was put back
	s = mustOpen(t, path, now)
	r := swap(t, s, ledger.Change{Name: "e1", Look: true}, ledger.Change{Name: "e2", Value: []byte("again")})
	if r.Records[0].Version != kept.Version || string(r.Records[0].Value) != "kept" {
		t.Errorf("after reopening: %+v", r.Records[0])
	}
	if r.Version <= gone.Version {
		t.Errorf("version %d after %d", r.Version, gone.Version)
	}
	if r.Now.Before(gone.Now) {
		t.Errorf("the store's clock went back from %v to %v", gone.Now, r.Now)
	}
	if open, _, err := s.Open(t.Context(), "", 10); err != nil || len(open) != 1 {
		t.Errorf("open records after reopening: %v, %v", open, err)
	}
	clock = clock.Add(2 * time.Hour)
	if r := swap(t, s); !r.Now.Equal(clock) {
		t.Errorf("the store's clock is %v, the machine's %v", r.Now, clock)
	}
}

func TestExpiredRecordsAreSwept(t *testing.T) {
	clock := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	s := mustOpen(t, filepath.Join(t.TempDir(), "l.db"), func() time.Time { return clock })
	const many = 500
	for n := range many {
		r, err := s.Swap(t.Context(), ledger.Swap{Partition: agentgw.NewPartition('e', agentgw.Digest{byte(n), byte(n >> 8)}), Stamp: 1, Changes: []ledger.Change{
			{Name: "e1", Value: []byte("short"), Keep: time.Minute, Open: n%2 == 0},
		}})
		if err != nil || !r[0].Applied {
			t.Fatal(r, err)
		}
	}
	clock = clock.Add(time.Hour)
	for n := range many/64 + 1 {
		swap(t, s, ledger.Change{Name: "x", Value: []byte("any write"), Want: swap(t, s, ledger.Change{Name: "x", Look: true}).Records[0].Version})
		_ = n
	}
	if err := s.db.View(func(tx *bbolt.Tx) error {
		for bucket, want := range map[string]int{"records": 1, "open": 0, "expiry": 0} {
			n := 0
			for k, _ := tx.Bucket([]byte(bucket)).Cursor().First(); k != nil; n++ {
				c := tx.Bucket([]byte(bucket)).Cursor()
				c.Seek(k)
				k, _ = c.Next()
			}
			if n != want {
				t.Errorf("%s holds %d entries after the sweep, expected %d", bucket, n, want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestSecondOpenerIsToldWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	mustOpen(t, path, nil)
	_, err := Open(path, Options{Wait: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "another agentgw has this ledger open") {
		t.Fatalf("the second opener got %v", err)
	}
}

func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	s := mustOpen(t, whole, nil)
	for range 20 {
		swap(t, s, ledger.Change{Name: "e1", Value: make([]byte, 10_000)}, ledger.Change{Name: "e2", Value: make([]byte, 10_000)})
		swap(t, s, ledger.Change{Name: "e1", Want: swap(t, s, ledger.Change{Name: "e1", Look: true}).Records[0].Version}, ledger.Change{Name: "e2", Want: swap(t, s, ledger.Change{Name: "e2", Look: true}).Records[0].Version})
	}
	s.Close()
	bytes, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign.db")
	db, err := bbolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err }); err != nil {
		t.Fatal(err)
	}
	db.Close()

	scribbled := append([]byte(nil), bytes...)
	for i := 2 * 4096; i < len(scribbled); i++ {
		scribbled[i] = 0xa5
	}
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"text":      {[]byte(strings.Repeat("not a ledger\n", 5000)), "put back a copy"},
		"short":     {bytes[:len(bytes)/2], "cut short"},
		"tiny":      {bytes[:100], "put back a copy"},
		"scribbled": {scribbled, "put back a copy"},
		"foreign":   {nil, "name another file"},
	} {
		path := filepath.Join(dir, name+".db")
		if c.content != nil {
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(path, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "no", "such.db"), Options{}); err == nil || !strings.Contains(err.Error(), "the folder is not there") {
		t.Errorf("no folder: %v", err)
	}
}

func TestFailedCommitStopsTheStore(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "l.db"), nil)
	r := swap(t, s, ledger.Change{Name: "e1", Value: []byte("a")})
	s.file.Close() // the disk is gone
	_, err := s.Swap(t.Context(), ledger.Swap{Partition: "e1", Stamp: 7, Changes: []ledger.Change{{Name: "e1", Want: r.Version, Value: []byte("b")}}})
	if err == nil || errors.Is(err, ledger.ErrNotApplied) {
		t.Errorf("a commit whose end is not known got %v", err)
	}
	_, err = s.Swap(t.Context(), ledger.Swap{Partition: "e1", Stamp: 8, Changes: []ledger.Change{{Name: "e2", Value: []byte("c")}}})
	if !errors.Is(err, ledger.ErrNotApplied) {
		t.Errorf("the swap after it got %v", err)
	}
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("health: %v", err)
	}
}

func TestHealthSeesThatTheFileIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	s := mustOpen(t, path, nil)
	if err := s.Health(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "moved or removed") {
		t.Errorf("health: %v", err)
	}
}

// A caller whose time is over before the committer took its swap leaves no trace, and disturbs no one.
func TestDeadlineInTheQueue(t *testing.T) {
	var slow atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	s := mustOpen(t, filepath.Join(t.TempDir(), "l.db"), func() time.Time {
		if slow.CompareAndSwap(true, false) { // within a commit
			close(entered)
			<-release
		}
		return time.Now()
	})
	send := func(ctx context.Context, name string) error {
		_, err := s.Swap(ctx, ledger.Swap{Partition: "e1", Stamp: 5, Changes: []ledger.Change{{Name: name, Value: []byte("a")}}})
		return err
	}
	slow.Store(true)
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := send(t.Context(), "e1"); err != nil {
			t.Errorf("the caller in the slow commit: %v", err)
		}
	})
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := send(ctx, "e2"); !errors.Is(err, ledger.ErrNotApplied) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("over before it was taken: %v", err)
	}
	close(release)
	wait.Wait()
	if r := swap(t, s, ledger.Change{Name: "e1", Look: true}, ledger.Change{Name: "e2", Look: true}); r.Records[0].Version == 0 || r.Records[1].Version != 0 {
		t.Errorf("there is %+v", r.Records)
	}
}
