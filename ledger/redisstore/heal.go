package redisstore

import (
	"context"
	_ "embed"
	"encoding/binary"
	"log/slog"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed heal.lua
var healScript string

const (
	healCount = 200     // records of one run of the script
	healSize  = 1 << 20 // and their bytes, but at least one record
)

// heal writes back to the primaries what this process knows and they do not.
func (s *Store) heal(ctx context.Context, all []*primary) error {
	notes := s.journal.notes()
	behind, sent := int64(0), 0
	for _, p := range all {
		for _, n := range p.mine {
			sh := &s.shards[n]
			if sh.floor.Load() == 0 && len(notes[sh]) == 0 {
				continue
			}
			for left, first := notes[sh], true; first || len(left) > 0; first = false {
				var run []*note
				run, left = split(left)
				count, err := s.writeBack(ctx, p.conn, sh, run)
				if err != nil {
					return err
				}
				behind, sent = behind+count, sent+len(run)
			}
		}
	}
	slog.WarnContext(ctx, "the ledger's primary has changed, or has forgotten", "ledger", s.name, "records known here", sent, "written back", behind)
	return nil
}

func split(notes []*note) (run, left []*note) {
	n, size := 0, 0
	for n < len(notes) && n < healCount && (n == 0 || size+notes[n].size() <= healSize) {
		size += notes[n].size()
		n++
	}
	return notes[:n], notes[n:]
}

// writeBack runs the script for some records of one shard.
func (s *Store) writeBack(ctx context.Context, conn *redis.Conn, sh *shard, notes []*note) (int64, error) {
	keys := append(make([]string, 0, 2+len(notes)), sh.version, sh.open)
	args := append(make([]any, 0, 1+2*len(notes)), binary.BigEndian.AppendUint64(nil, sh.floor.Load()))
	for _, n := range notes {
		till := int64(0)
		if !n.till.IsZero() {
			till = n.till.UnixMilli()
		}
		record := binary.BigEndian.AppendUint64(nil, n.version)
		if n.what != 'd' {
			record = binary.BigEndian.AppendUint64(record, uint64(n.at.UnixMicro()))
			record = append(binary.BigEndian.AppendUint64(record, n.stamp), n.value...)
		}
		keys = append(keys, n.key)
		args = append(args, string(n.what)+strconv.FormatInt(till, 10), record)
	}
	return conn.Eval(ctx, healScript, keys, args...).Int64()
}
