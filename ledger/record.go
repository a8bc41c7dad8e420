package ledger

import (
	"errors"
	"time"

	"github.com/klauspost/compress/zstd"

	"agentgw"
)

// Records are packed: a format byte, then (tag, length, bytes) for every member that is not zero, in the order of the tags. A reader
// passes over tags that it does not know, so that a gateway of the next release may share a ledger with this one.
const formatEffect = 1

const (
	tagOperation = iota + 1
	tagTenant
	tagPrincipal
	tagAgent
	tagRun
	tagTask
	tagCallID
	tagDigest
	tagState
	tagFence
	tagClaim
	tagGeneration
	tagOrdinal
	tagBase
	tagRepeat
	tagAttempt
	tagSend
	tagFirstSeen
	tagClaimed
	tagSettled
	tagLease
	tagExpires
	tagGone
	tagField
	tagArguments
	tagAnswer
	tagWhy
	tagEvidence
	tagHold
	tagEntity
	tagMove
	tagNonce
	tagBatch
	tagTTL
	tagSliding
	tagTomb
	tagKeep
	tagLinger
	tagApart
	tagTo
	tagPrior
	tagNewer
	tagPending
	tagNearID
	tagNearField
	tagDoubted
)

// An answer is packed in the same way.
const (
	tagStatus = iota + 1
	tagHeader
	tagTrailer
	tagBody
)

// What is kept of long texts.
const (
	maxArguments = 8 << 10 // longer arguments are not kept
	maxEvidence  = 8
	packAbove    = 512 // answers and arguments above are compressed
)

var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28))
)

var errTorn = errors.New("a record is torn or of another program")

func micros(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixMicro())
}

func fromMicros(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(n)).UTC()
}

// remember keeps of an operation's fields what later calls are compared with.
func remember(fields []agentgw.Field) []agentgw.Field {
	kept := make([]agentgw.Field, 0, len(fields))
	for _, f := range fields {
		if f.Role != agentgw.RoleOther {
			kept = append(kept, agentgw.Field{Name: f.Name, Role: f.Role, Canon: f.Kept()})
		}
	}
	return kept
}

func keptArguments(b []byte) []byte {
	if len(b) > maxArguments {
		return nil
	}
	return b
}
