package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentgw"
	"agentgw/ledger/redisstore"
)

// ledger: whether it can forget, or tell the wrong time.
func (d *doctor) ledger() {
	switch scheme, rest, _ := strings.Cut(d.c.ledger, ":"); scheme {
	case "memory":
		d.say(levelUnsafe, "ledger", "write ledger: file:agentgw.db", "it is in memory: when the gateway ends, every effect can happen again")
	case "file":
		d.file(rest)
	default:
		d.redis()
	}
}

// file looks at the file of an embedded ledger, without opening it: a gateway may be using it.
func (d *doctor) file(name string) {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	kind, unsafe, free, err := fileSystem(filepath.Dir(name))
	switch {
	case err != nil:
		d.say(levelUnknown, "ledger", "", "the file system of %s: %v", name, err)
	case unsafe:
		d.say(levelUnsafe, "ledger", "keep it on a disk of this machine, or use redis://", "%s is on %s: locks and fsync do not hold there, or it is gone after a restart", name, kind)
	case free > 0 && free < 256<<20:
		d.say(levelWarning, "ledger", "df -h "+filepath.Dir(name), "its disk has %d MB left: when it is full, guarded calls are refused", free>>20)
	default:
		d.say(levelFine, "ledger", "", "%s is durable, and serves one gateway", name)
	}
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		d.say(levelWarning, "ledger", "chmod 600 "+name, "others may read the answers in it, or change them (%s)", info.Mode().Perm())
	}
}

// redis asks every primary how it is set up.
func (d *doctor) redis() {
	store, err := redisstore.Open(d.c.ledger, d.c.redis)
	if err != nil {
		d.say(levelUnsafe, "ledger", "correct ledger: in "+d.c.file, "%v", err)
		return
	}
	defer store.Close()
	all, err := store.Facts(d.ctx)
	if err != nil {
		d.say(levelUnsafe, "ledger", "see that it answers: "+pingFor(d.c.ledger), "%v", err)
		return
	}
	for _, f := range all {
		before := len(d.found)
		d.eviction(f)
		d.persistence(f)
		d.replicas(f)
		d.clock(f)
		if len(d.found) == before {
			d.say(levelFine, "redis "+f.Addr, "", "Redis %s keeps what it is given", f.Version)
		}
	}
	if scheme, rest, _ := strings.Cut(d.c.ledger, "://"); scheme != "rediss" && scheme != "redis+unix" && scheme != "unix" {
		u, err := url.Parse("redis://" + strings.Split(rest, ",")[0])
		if err == nil && !isLoopback(net.JoinHostPort(u.Hostname(), "1")) && !strings.Contains(rest, "tls=true") {
			d.say(levelWarning, "ledger", "use rediss://, or ?tls=true for Sentinel and Cluster", "its password and its records pass the network unencrypted")
		}
	}
	if err := store.Health(d.ctx); err != nil {
		d.say(levelUnsafe, "ledger", "mend what it says, then: agentgw doctor --config "+d.c.file, "%v", err)
	}
}

// pingFor asks the first server that a ledger's URL names whether it is there. It shows no secret.
func pingFor(ledger string) string {
	scheme, rest, _ := strings.Cut(shownLedger(ledger), "://")
	if scheme == "redis+unix" {
		return "redis-cli -s " + rest + " PING"
	}
	rest, _, _ = strings.Cut(rest, "/")
	first, _, _ := strings.Cut(rest, ",")
	host, port, err := net.SplitHostPort(first)
	if err != nil {
		host, port = strings.Trim(first, "[]"), map[string]string{"redis-sentinel": "26379"}[scheme]
	}
	tls := map[string]string{"rediss": " --tls"}[scheme]
	return fmt.Sprintf("redis-cli%s -h %s -p %s PING", tls, host, cmp.Or(port, "6379"))
}

// cli is a redis-cli command for a node.
func cliFor(f redisstore.Facts, args string) string {
	host, port, err := net.SplitHostPort(f.Addr)
	if err != nil {
		return "redis-cli -s " + f.Addr + " " + args
	}
	return fmt.Sprintf("redis-cli -h %s -p %s %s", host, port, args)
}

func (d *doctor) eviction(f redisstore.Facts) {
	if f.Eviction != "noeviction" {
		d.say(levelUnsafe, "redis "+f.Addr, cliFor(f, "CONFIG SET maxmemory-policy noeviction")+", and the same in redis.conf",
			"its maxmemory-policy is %s: when memory is short it forgets effects, which then happen again", f.Eviction)
	}
	if f.Max > 0 && f.Used > f.Max/10*8 {
		d.say(levelWarning, "redis "+f.Addr, cliFor(f, fmt.Sprintf("CONFIG SET maxmemory %dmb", f.Max>>19))+", and the same in redis.conf", "%d of %d MB are used: when it is full, guarded calls are refused", f.Used>>20, f.Max>>20)
	}
}

func (d *doctor) persistence(f redisstore.Facts) {
	about := "redis " + f.Addr
	on := cliFor(f, "CONFIG SET appendonly yes") + ", and the same in redis.conf"
	switch {
	case f.Failing != "":
		d.say(levelUnsafe, about, cliFor(f, "INFO persistence"), "its last write to the disk (%s) failed", f.Failing)
	case f.AOF && f.Fsync == "no":
		d.say(levelUnsafe, about, cliFor(f, "CONFIG SET appendfsync everysec"), "appendfsync is no: a crash of its machine loses what the system had not written yet")
	case f.AOF && f.Fsync == "everysec" && d.c.redis.Replicas == 0:
		d.say(levelWarning, about, cliFor(f, "CONFIG SET appendfsync always")+", or durability: replicated with a replica",
			"appendfsync is everysec: a crash of its machine loses up to two seconds of effects, which then can happen again")
	case f.AOF:
	case f.SaveRead && f.Save == "":
		d.say(levelUnsafe, about, on, "it keeps nothing on a disk: after a restart every effect can happen again")
	default:
		d.say(levelUnsafe, about, on, "it has no append-only file: a crash loses all effects since its last snapshot")
	}
}

func (d *doctor) replicas(f redisstore.Facts) {
	about := "redis " + f.Addr
	attach := "give it a replica: redis-server --replicaof " + strings.Replace(f.Addr, ":", " ", 1)
	if asking := d.replicated(); f.Replicas == 0 && d.c.redis.Replicas == 0 && len(asking) > 0 {
		d.say(levelUnsafe, about, attach, "durability: replicated of %s needs a replica and it has none: their calls are refused", listed(asking))
	}
	failsOver := strings.HasPrefix(d.c.ledger, "redis-")
	switch {
	case d.c.redis.Replicas > f.Replicas:
		d.say(levelUnsafe, about, attach,
			"durability: replicated needs %d replicas and it has %d: guarded calls are refused", d.c.redis.Replicas, f.Replicas)
	case failsOver && f.Replicas == 0:
		d.say(levelWarning, about, attach, "it has no replica: nothing takes over when it is lost")
	case failsOver && d.c.redis.Replicas == 0:
		d.say(levelWarning, about, "write durability: replicated", "a failover can lose the claims of its last moments, and with them their gateway")
	}
	if failsOver && d.c.redis.Window < 0 {
		d.say(levelWarning, "ledger", "write on_failover: wait", "on_failover is go: after a failover calls are judged before what was lost is written back")
	}
}

// replicated are the operations that ask by themselves for a replica.
func (d *doctor) replicated() (names []string) {
	for _, o := range d.c.policy.Operations {
		if o.Durability == agentgw.DurabilityReplicated {
			names = append(names, o.Name)
		}
	}
	return names
}

const maxSkew = time.Second

func (d *doctor) clock(f redisstore.Facts) {
	if skew := f.Skew.Abs() - f.Within; skew > maxSkew {
		d.say(levelWarning, "redis "+f.Addr, "timedatectl set-ntp true, on both machines", "its clock and the one here differ by %s: ages go by its clock, logs by this one",
			f.Skew.Abs().Round(time.Millisecond))
	}
}
