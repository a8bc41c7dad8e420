package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentgw/ledger"
	"agentgw/ledger/filestore"
	"agentgw/ledger/memstore"
	"agentgw/ledger/redisstore"
)

// needsClock: the clock of a user's Redis is not the battery's to change, so it starts one of its own.
func needsClock(b *battery) string {
	if !b.many() {
		return ""
	}
	var missing []string
	if _, err := exec.LookPath("redis-server"); err != nil {
		missing = append(missing, "redis-server")
	}
	if faketime() == "" {
		missing = append(missing, "libfaketime")
	}
	if missing == nil {
		return ""
	}
	return "needs " + strings.Join(missing, " and ") + ": apt-get install redis-server libfaketime"
}

// faketime is the path of the library that changes a program's clock; "" where it is not installed.
func faketime() string {
	for _, folder := range []string{"/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime"} {
		if found, _ := filepath.Glob(folder + "/libfaketimeMT.so.1"); found != nil {
			return found[0]
		}
	}
	return ""
}

// clockJump moves the clock of a ledger of its own: jumps would stay in a user's.
func clockJump(t *trial) error {
	o, jump, err := t.jumping()
	if err != nil {
		return err
	}
	to, err := t.another(o)
	if err != nil {
		return err
	}
	reached, jumped := make(chan struct{}, t.b.times), make(chan struct{})
	for range t.b.times {
		in := t.intent()
		in.unknowable = true // the lease is over, by the only clock there is
		t.b.witness.expect(in.mark, func(w http.ResponseWriter, act func() string) {
			text := act()
			reached <- struct{}{}
			<-jumped
			io.WriteString(w, text)
		})
	}
	var callers sync.WaitGroup
	callers.Go(func() { each(t.intents, func(in *intent) { persist(t.ctx, to, in, patient) }) })
	err = errors.Join(t.await(reached, t.b.times), jump(5*time.Minute)) // more than a lease, less than the ttl
	if !t.bare {
		each(t.intents, func(in *intent) { persist(t.ctx, to, in, time.Second) })
		for _, in := range t.intents {
			if !in.doubted() {
				err = errors.Join(err, fmt.Errorf("%s is not in doubt though its lease must be over: the clock did not jump", in.mark))
			}
		}
	}
	close(jumped)
	callers.Wait()
	return errors.Join(err, t.settle(to), jump(-time.Hour), t.askAgain(to))
}

// jumping is a ledger of the kind under test. jump makes its clock differ so much from the true one.
func (t *trial) jumping() (o gateOptions, jump func(time.Duration) error, err error) {
	if !t.bare && t.b.many() {
		return t.jumpingRedis()
	}
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	jump = func(d time.Duration) error {
		ahead.Store(int64(d))
		return nil
	}
	if t.b.kind() == "file" && !t.bare {
		o.store, err = filestore.Open(filepath.Join(t.b.dir, "jumping.db"), filestore.Options{Now: now})
	} else {
		o.store = memstore.New(memstore.Options{Now: now})
	}
	return o, jump, err
}

// jumpingRedis is a Redis that goes by a file.
func (t *trial) jumpingRedis() (o gateOptions, jump func(time.Duration) error, err error) {
	dir, err := os.MkdirTemp(t.b.dir, "redis")
	if err != nil {
		return o, nil, err
	}
	file, socket := filepath.Join(dir, "clock"), filepath.Join(dir, "s")
	jump = func(d time.Duration) error {
		if err := os.WriteFile(file+".new", fmt.Appendf(nil, "%+d\n", int(d.Seconds())), 0o600); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	}
	if err := jump(0); err != nil {
		return o, nil, err
	}
	var said strings.Builder
	cmd := exec.CommandContext(t.b.ctx, "redis-server", "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--save", "", "--dir", dir)
	cmd.Stdout, cmd.Stderr = &said, &said
	// Without the C library's malloc before it, jemalloc asks for the time while libfaketime starts, which never ends.
	cmd.Env = append(append([]string(nil), t.b.env...), "LD_PRELOAD="+faketime()+":libc.so.6", "FAKETIME_TIMESTAMP_FILE="+file,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
	ended, err := startTied(cmd)
	if err != nil {
		return o, nil, err
	}
	t.closing = append(t.closing, func() error {
		cmd.Process.Kill()
		<-ended
		return nil
	})
	o.ledger = "redis+unix://" + socket
	if err := healthy(t.ctx, o.ledger, ended); err != nil {
		cmd.Process.Kill()
		<-ended
		return o, nil, fmt.Errorf("the Redis whose clock jumps did not start: %w\n%s", err, said.String())
	}
	return o, jump, nil
}

// healthy waits until a Redis answers.
func healthy(ctx context.Context, url string, ended <-chan struct{}) error {
	store, err := redisstore.Open(url, redisstore.Options{})
	if err != nil {
		return err
	}
	l := ledger.New(store)
	defer l.Close()
	for end := time.Now().Add(20 * time.Second); ; sleep(ctx, 20*time.Millisecond) {
		err := l.Health(ctx)
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ended:
			return errors.New("it ended")
		default:
		}
	}
}
