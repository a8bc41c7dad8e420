package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"agentgw/ledger"
)

// once is a command that go-redis must not send again by itself: not when a connection breaks while the answer is awaited, and not when
// the first of a pipeline gets an error that says "later", for then it would send all the others again, too.
type once struct {
	*redis.StringCmd
	shard    *shard
	keys     []string // of the records
	claim    bool
	looks    bool    // it writes nothing
	replicas int     // that must have it
	short    error   // why it may not be relied on: too few of them have it
	is       *served // what it relies on
}

func (once) NoRetry() bool { return true }

// Swap sends all swaps in one round trip; under load it shares that with other callers. A deadline of ctx is kept; that ctx is cancelled
// is noticed before the swaps are sent, and afterwards only by callers who share a round trip.
func (s *Store) Swap(ctx context.Context, swaps ...ledger.Swap) ([]ledger.Reply, error) {
	if len(swaps) == 0 {
		return nil, nil
	}
	for i := range swaps {
		if err := swaps[i].Check(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ledger %s: %w: %w", s.name, ledger.ErrNotApplied, err)
	}
	is := s.served.Load()
	if is == nil {
		var err error
		if is, err = s.look(ctx, nil); err != nil {
			return nil, err
		}
	}
	f := &flight{cmds: make([]once, len(swaps))}
	for i := range swaps {
		f.cmds[i] = s.command(ctx, is, &swaps[i])
		if err := s.waiting(f.cmds[i].shard); err != nil && swaps[i].Claim {
			return nil, err
		}
		f.size += size(&swaps[i])
	}
	l, err := s.laneOf(ctx, f.cmds)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", s.explain(err), ledger.ErrNotApplied)
	}
	if err := l.carry(ctx, s, f); err != nil {
		return nil, err
	}
	replies, err := s.replies(swaps, f.cmds)
	if deadline, ok := ctx.Deadline(); ok && err != nil && !errors.Is(err, context.DeadlineExceeded) && !time.Now().Before(deadline) {
		err = fmt.Errorf("%w (%w)", err, context.DeadlineExceeded) // the connection, whose clock is the same, was faster to say so
	}
	return replies, err
}

// command is the script with the arguments that its head describes.
func (s *Store) command(ctx context.Context, is *served, sw *ledger.Swap) once {
	sh, n := s.shard(sw.Partition), len(sw.Changes)
	// Texts are parts of one, and arguments point at them: each would be an allocation else, and a second one as an argument.
	var all strings.Builder
	all.Grow(16 + n*(len(sh.records)+len(sw.Partition)+64))
	texts := make([]string, 0, n+1+n)
	for i := range sw.Changes {
		from := all.Len()
		all.WriteString(sh.records)
		all.WriteString(string(sw.Partition))
		all.WriteByte(':')
		all.WriteString(sw.Changes[i].Name)
		texts = append(texts, all.String()[from:])
	}
	var buf [32]byte
	floor := sh.floor.Load()
	if s.noHeal {
		floor = 0
	}
	from := all.Len()
	all.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(buf[:0], sw.Stamp), floor))
	texts = append(texts, all.String()[from:])
	looks := true
	for i := range sw.Changes {
		c, from := &sw.Changes[i], all.Len()
		looks = looks && c.Look
		head := binary.BigEndian.AppendUint64(append(buf[:0], what(c)), c.Want)
		all.Write(strconv.AppendInt(head, milliseconds(c.Keep), 10))
		texts = append(texts, all.String()[from:])
	}

	args := make([]any, 0, 6+3*n)
	args = append(args, "evalsha", &is.sha, n+2, &sh.version, &sh.open)
	for i := range texts[:n+1] {
		args = append(args, &texts[i])
	}
	for i := range sw.Changes {
		args = append(args, &texts[n+1+i], sw.Changes[i].Value)
	}
	return once{StringCmd: redis.NewStringCmd(ctx, args...), shard: sh, keys: texts[:n], claim: sw.Claim, looks: looks, replicas: s.needed(sw), is: is}
}

func what(c *ledger.Change) byte {
	switch {
	case c.Look:
		return 'l'
	case c.Value == nil:
		return 'd'
	case c.Open:
		return 'o'
	}
	return 'w'
}

// milliseconds rounds up, so that something is kept for at least as long as asked; 0: for ever.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func size(sw *ledger.Swap) (n int) {
	for i := range sw.Changes {
		n += 100 + len(sw.Changes[i].Value)
	}
	return n
}

// run sends commands in one round trip, and a second time those that a primary did not take because it has to be looked at first, and those
// that only look and whose connection broke, as connections do when another primary has taken over.
func (s *Store) run(ctx context.Context, cmds []once) {
	s.send(ctx, cmds)
	var at []int
	var was *served // the latest that one of them relied on
	moved, waited := false, replicasOf(cmds) > 0
	for i := range cmds {
		switch reply(cmds[i].Err()) {
		case "FORGOT", "NOSCRIPT":
		case "MOVED":
			if !waited {
				continue // go-redis has followed it already
			}
			moved = true
		default:
			if !cmds[i].looks || !broke(ctx, cmds[i].Err()) {
				continue
			}
		}
		if at = append(at, i); was == nil || cmds[i].is == s.served.Load() {
			was = cmds[i].is
		}
	}
	if at == nil {
		return
	}
	if moved {
		s.cluster.ReloadState(ctx)
	}
	is, err := s.look(ctx, was)
	var again []once
	var back []int
	for _, i := range at {
		c := cmds[i]
		if err != nil {
			c.SetErr(err)
			continue
		}
		if e := s.waiting(c.shard); e != nil && c.claim {
			c.SetErr(e)
			continue
		}
		args := c.Args()
		args[1] = &is.sha
		again = append(again, once{StringCmd: redis.NewStringCmd(ctx, args...), shard: c.shard, keys: c.keys, claim: c.claim, looks: c.looks, replicas: c.replicas, is: is})
		back = append(back, i)
	}
	if again == nil {
		return
	}
	s.send(ctx, again)
	for i, c := range again {
		cmds[back[i]] = c
	}
}

// reply is the first word of an error that Redis replied; "" for any other.
func reply(err error) string {
	if err == nil {
		return ""
	}
	var replied redis.Error
	if !errors.As(err, &replied) {
		return ""
	}
	word, _, _ := strings.Cut(replied.Error(), " ")
	return word
}

func (s *Store) send(ctx context.Context, cmds []once) {
	if replicasOf(cmds) > 0 {
		s.sendReplicated(ctx, cmds)
		return
	}
	if len(cmds) == 1 {
		s.client.Process(ctx, &cmds[0])
		return
	}
	pipe := s.client.Pipeline()
	for i := range cmds {
		pipe.Process(ctx, &cmds[i])
	}
	execute(ctx, pipe, cmds)
}

// execute sends a pipeline. Each command holds its own error then, also where Redis refused the connection itself.
func execute(ctx context.Context, pipe redis.Pipeliner, cmds []once) {
	if _, err := pipe.Exec(ctx); err != nil {
		for _, c := range cmds {
			if c.Err() == nil && c.Val() == "" {
				c.SetErr(err)
			}
		}
	}
}

// replies reads what the commands brought. Where none brought anything, the error is returned for all.
func (s *Store) replies(swaps []ledger.Swap, cmds []once) ([]ledger.Reply, error) {
	replies := make([]ledger.Reply, len(swaps))
	failed := 0
	for i := range swaps {
		answer, err := cmds[i].Bytes()
		if err != nil {
			err = s.explain(err)
		} else if replies[i], err = parse(&swaps[i], answer); err != nil {
			err = fmt.Errorf("ledger %s: %w", s.name, err)
		} else {
			err = s.trust(&swaps[i], &cmds[i], &replies[i])
		}
		if err != nil {
			replies[i] = ledger.Reply{Err: err}
			failed++
		}
	}
	if failed < len(replies) {
		return replies, nil
	}
	for _, r := range replies {
		if !errors.Is(r.Err, ledger.ErrNotApplied) {
			return nil, r.Err
		}
	}
	return nil, replies[0].Err
}

// trust notes what a primary answered, and says what is wrong with relying on it.
func (s *Store) trust(sw *ledger.Swap, c *once, r *ledger.Reply) error {
	if s.noHeal {
		return c.short
	}
	c.shard.learn(r.Version)
	for _, rec := range r.Records {
		c.shard.learn(rec.Version)
	}
	if !r.Applied {
		return nil
	}
	s.journal.add(c, sw, r)
	if s.epoch.Load() != c.is.epoch || c.claim && s.waiting(c.shard) != nil { // looked at after the note, as heal reads it after the epoch
		s.journal.forget(c, sw)
		return fmt.Errorf("ledger %s: the primary changed while it wrote this: it may have forgotten it", s.name)
	}
	return c.short
}

var errReply = errors.New("the script's reply cannot be read: does another version of agentgw's script run there?")

// parse reads the reply that the head of the script describes. Values are parts of answer.
func parse(sw *ledger.Swap, answer []byte) (ledger.Reply, error) {
	if len(answer) < 17 {
		return ledger.Reply{}, errReply
	}
	now := moment(answer[1:])
	r := ledger.Reply{
		Applied: answer[0] != 'N',
		Now:     now,
		Version: binary.BigEndian.Uint64(answer[9:]),
		Records: make([]ledger.Record, len(sw.Changes)),
	}
	rest := answer[17:]
	for i := range sw.Changes {
		c, rec := &sw.Changes[i], &r.Records[i]
		rec.Name = c.Name
		if answer[0] == 'A' && !c.Look {
			if c.Value != nil {
				rec.Version, rec.At, rec.Value = r.Version, now, c.Value
			}
			continue
		}
		if len(rest) < 4 {
			return ledger.Reply{}, errReply
		}
		n := int(binary.BigEndian.Uint32(rest))
		if rest = rest[4:]; len(rest) < n || !unpack(rest[:n:n], rec) {
			return ledger.Reply{}, errReply
		}
		rest = rest[n:]
	}
	if len(rest) != 0 {
		return ledger.Reply{}, errReply
	}
	return r, nil
}

const headerSize = 24

// unpack reads a stored record; nothing at all is an absent one.
func unpack(b []byte, r *ledger.Record) bool {
	if len(b) == 0 {
		return true
	}
	if len(b) < headerSize {
		return false
	}
	r.Version, r.At, r.Value = binary.BigEndian.Uint64(b), moment(b[8:]), b[headerSize:]
	return true
}

func moment(b []byte) time.Time { return time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC() }
