package redisstore

import (
	"container/list"
	"sync"
	"time"

	"agentgw/ledger"
)

// journal remembers what this process has written lately, so that it can be written back to a primary that does not know it.
type journal struct {
	mu     sync.Mutex
	by     map[string]*list.Element // key of a record -> its note
	oldest *list.List               // notes, the oldest first
	bytes  int
}

const (
	journalAge   = time.Minute // how long a write is remembered: longer than a replica lags behind
	journalBytes = 64 << 20    // and in how much memory; the oldest are dropped first
)

// note is the latest write to one record.
type note struct {
	shard   *shard
	key     string
	what    byte // w, o or d, as in swap.lua
	version uint64
	at      time.Time // by the clock of the primary that took it
	till    time.Time // likewise; zero: for ever
	stamp   uint64
	value   []byte
	noted   time.Time
}

func (n *note) size() int { return 300 + len(n.key) + len(n.value) }

// add notes what a swap has written.
func (j *journal) add(as *once, sw *ledger.Swap, r *ledger.Reply) {
	noted := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.by == nil {
		j.by, j.oldest = map[string]*list.Element{}, list.New()
	}
	for i := range sw.Changes {
		c := &sw.Changes[i]
		if c.Look {
			continue
		}
		n := &note{shard: as.shard, key: as.keys[i], what: what(c), version: r.Version, at: r.Now, stamp: sw.Stamp, value: c.Value, noted: noted}
		if c.Value == nil {
			n.version = c.Want
		} else if !r.Records[i].At.IsZero() {
			n.at = r.Records[i].At
		}
		if c.Keep > 0 {
			n.till = n.at.Add(c.Keep)
		}
		j.put(n)
	}
	for first := j.oldest.Front(); first != nil; first = j.oldest.Front() {
		if n := first.Value.(*note); j.bytes <= journalBytes && noted.Sub(n.noted) <= journalAge {
			break
		}
		j.drop(first)
	}
}

// put keeps the later of two writes: answers to one record may be read out of order.
func (j *journal) put(n *note) {
	if is := j.by[n.key]; is != nil {
		if old := is.Value.(*note); old.version > n.version {
			return
		}
		j.drop(is)
	}
	j.by[n.key] = j.oldest.PushBack(n)
	j.bytes += n.size()
}

// forget drops what was noted of a swap.
func (j *journal) forget(as *once, sw *ledger.Swap) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, c := range sw.Changes {
		if e := j.by[as.keys[i]]; e != nil && !c.Look && e.Value.(*note).stamp == sw.Stamp {
			j.drop(e)
		}
	}
}

func (j *journal) drop(e *list.Element) {
	n := j.oldest.Remove(e).(*note)
	delete(j.by, n.key)
	j.bytes -= n.size()
}

// notes are the writes that are still remembered, by shard.
func (j *journal) notes() map[*shard][]*note {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := map[*shard][]*note{}
	if j.oldest == nil {
		return all
	}
	for e := j.oldest.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*note); time.Since(n.noted) <= journalAge {
			all[n.shard] = append(all[n.shard], n)
		}
	}
	return all
}

// learn notes the latest version seen of a shard.
func (s *shard) learn(version uint64) {
	for {
		is := s.floor.Load()
		if is >= version || s.floor.CompareAndSwap(is, version) {
			return
		}
	}
}
