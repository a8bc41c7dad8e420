package gateway

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"agentgw"
)

// A duplicate of a running attempt need not be refused where the client's revision has a way to say "come again" (MCP 2026-07-28, multi
// round-trip requests): an input_required that asks for nothing. The client's SDK makes the same call again by itself, with the
// requestState that came along; that one is held until the attempt has ended, and is then judged like any other.
const (
	againPrefix = "agentgw."       // tells our requestState from a server's
	againRounds = 2                // the Go SDK gives up at the third such answer in a row, those for TypeScript, Python and C# at the eleventh
	againWait   = 10 * time.Second // for which a call that came again waits, at least; clients give an answer a minute
	againLife   = 5 * time.Minute
)

// offerAgain makes the requestState with which a call may come again, where it is a duplicate of a running attempt and its client knows how.
// id is the effect as the call itself names it.
func (g *Gateway) offerAgain(ctx context.Context, p *plan, id agentgw.EffectID, verdict agentgw.Verdict) {
	l := p.link
	if l == nil || !l.knowsAgain || l.round >= againRounds || verdict != agentgw.InFlight || p.call.Mode == agentgw.Check {
		return
	}
	head := append(make([]byte, 0, 9), byte(l.round+1))
	head = binary.BigEndian.AppendUint64(head, uint64(g.Clock.Now().Add(againLife).UnixMicro()))
	if mac, ok := g.mac(ctx, p, id, head); ok {
		l.comeAgain = againPrefix + base64.RawURLEncoding.EncodeToString(append(head, mac...))
	}
}

// cameAgain reads the requestState of a call that came again, and takes it out of the message: no server gets it. The decision is a refusal:
// it is ours, and not of this call.
func (g *Gateway) cameAgain(ctx context.Context, p *plan) *agentgw.Decision {
	l := p.link
	if l == nil || !strings.HasPrefix(l.state, againPrefix) {
		return nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(l.state[len(againPrefix):])
	if err != nil || len(b) < 9 || p.op == nil {
		return notAgain()
	}
	head := b[:9] // a repeat token's is longer: the one never counts as the other
	want, ok := g.mac(ctx, p, p.op.ID, head)
	until := time.UnixMicro(int64(binary.BigEndian.Uint64(head[1:])))
	if !ok || !hmac.Equal(b[9:], want) || g.Clock.Now().After(until) {
		return notAgain()
	}
	l.round = int(head[0])
	params := memberOf(l.turn.body, "params")
	for _, name := range []string{"requestState", "inputResponses"} {
		params = dropMember(params, name)
	}
	l.turn.body = setMember(l.turn.body, "params", params)
	return nil
}

func notAgain() *agentgw.Decision {
	return rejected("requestState: it is not of this call, or too old. Nothing was sent; send the call without it.")
}

// patience is how long a duplicate waits for the running attempt.
func (p *plan) patience() time.Duration {
	if p.link != nil && p.link.round > 0 {
		return max(p.op.Rule.Wait, againWait)
	}
	return p.op.Rule.Wait
}

// comeAgainResult is the result that asks a client to make the same call again. The Go SDK does so only where inputRequests is there; to the
// others it may be there or not.
func comeAgainResult(state string) []byte {
	return fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":{},"requestState":%s}`, quoted(state))
}
