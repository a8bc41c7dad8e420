package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"agentgw"
	"agentgw/ledger"
)

// tokenLife is how long a repeat token lives, by the ledger's clock.
const tokenLife = 10 * time.Minute

// A repeat token is "effect id . packed claims . MAC". It is bound to the principal and to all arguments: whoever changes one of them
// holds no token. All gateways on one ledger share the key of the MAC.

// sealToken makes the token that allows one more after the effect's latest ordinal; "" where the ledger's secret cannot be had.
func (g *Gateway) sealToken(ctx context.Context, p *plan, e *agentgw.Effect) string {
	head := make([]byte, 0, 24)
	head = binary.BigEndian.AppendUint64(head, e.Base)
	head = binary.BigEndian.AppendUint64(head, uint64(e.Ordinal))
	head = binary.BigEndian.AppendUint64(head, uint64(e.Now.Add(tokenLife).UnixMicro()))
	mac, ok := g.mac(ctx, p, e.ID, head)
	if !ok {
		return ""
	}
	enc := base64.RawURLEncoding
	return strings.TrimPrefix(e.ID.String(), "eff_") + "." + enc.EncodeToString(head) + "." + enc.EncodeToString(mac)
}

// openToken reads a token; nil where it is not ours or does not fit this call: then it counts as none.
func (g *Gateway) openToken(ctx context.Context, p *plan) *agentgw.Token {
	parts := strings.Split(p.call.RepeatToken, ".")
	if len(parts) != 3 {
		return nil
	}
	id, err := agentgw.ParseEffectID("eff_" + parts[0])
	if err != nil {
		return nil
	}
	enc := base64.RawURLEncoding.Strict()
	head, err1 := enc.DecodeString(parts[1])
	mac, err2 := enc.DecodeString(parts[2])
	if err1 != nil || err2 != nil || len(head) != 24 {
		return nil
	}
	want, ok := g.mac(ctx, p, id, head)
	if !ok || !hmac.Equal(mac, want) {
		return nil
	}
	return &agentgw.Token{ID: id, Base: binary.BigEndian.Uint64(head), Ordinal: int(binary.BigEndian.Uint64(head[8:])),
		Expires: time.UnixMicro(int64(binary.BigEndian.Uint64(head[16:]))).UTC()}
}

// unrepeated says why a call with a repeat token is replayed all the same; "" where it has none, or this is the answer of what its token
// has brought about. offered: a new token comes with the answer.
func (g *Gateway) unrepeated(ctx context.Context, p *plan, f ledger.Finding, offered bool) string {
	if p.call.RepeatToken == "" {
		return ""
	}
	e, t := f.Effect, g.openToken(ctx, p)
	if t != nil && t.ID == e.ID && broughtAbout(t, e, f.Now) {
		return ""
	}
	const nothing = " Nothing was repeated: this is the answer of what was done before."
	if t != nil && t.ID == e.ID && t.Base == e.Base && t.Ordinal == e.Ordinal && f.Now.Before(t.Expires) {
		switch {
		case p.call.Mode == agentgw.Redeliver:
			return "A redelivery repeats nothing, whatever its repeat_token." + nothing
		case p.call.IdempotencyKey != "":
			return "The repeat_token does not count, because the idempotency key is that of what was done before: leave the key out." + nothing
		}
		return "The policy repeats nothing of this kind." + nothing
	}
	text := "The repeat_token does not fit: it is older than ten minutes, of other arguments, or something was done since." + nothing
	switch {
	case offered:
		text += " Only if it is meant to happen once more, send the call again with the repeat_token given here."
	case p.op.Rule.Repeat == agentgw.RepeatToken:
		text += " Only if it is meant to happen once more, ask anew with mode check, and send the repeat_token that it gives."
	}
	return text
}

// broughtAbout reports whether what a token asked for is on record: another effect than one worded alike, or one more of this one.
func broughtAbout(t *agentgw.Token, e *agentgw.Effect, now time.Time) bool {
	switch {
	case t.Ordinal == 0:
		return true
	case t.Base != e.Base:
		return false
	case t.Ordinal == e.Ordinal-1:
		return e.Repeat
	}
	return t.Ordinal < e.Ordinal && now.Before(t.Expires)
}

func (g *Gateway) mac(ctx context.Context, p *plan, id agentgw.EffectID, head []byte) ([]byte, bool) {
	secret := g.secret.Load()
	if secret == nil {
		s, err := g.Ledger.Secret(ctx)
		if err != nil {
			return nil, false
		}
		secret = &s
		g.secret.Store(secret)
	}
	h := hmac.New(sha256.New, *secret)
	for _, part := range []string{id.String(), p.call.Tenant, p.call.Principal, string(p.op.ArgDigest[:]), string(head)} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:16], true
}
