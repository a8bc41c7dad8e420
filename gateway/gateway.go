// Package gateway carries a call through the three questions (is it the same operation, may it happen, has it happened) and, if the
// answers allow, to the tool.
package gateway

import (
	"context"
	"io"
	"time"

	"agentgw"
	"agentgw/ledger"
	"agentgw/policy"
)

// Options make a Gateway. Policy, Ledger and Sender are needed; the rest has a default.
type Options struct {
	Policy    *policy.Policy
	Ledger    *ledger.Ledger
	Sender    Sender
	Tools     map[string]*Tool
	Upstreams map[string]*Upstream
	Unmatched string // "reads" (default), "pass", "deny"
	Clock     Clock  // the real one by default; simulate brings its own
	Observe   Observer
}

// Observer is told what happened, for metrics and the decision log. Its methods must return soon.
type Observer interface {
	Decided(call *agentgw.Call, d *agentgw.Decision, took time.Duration)
}

// Response is a decision with what a door needs to write it.
type Response struct {
	*agentgw.Decision
	Rest io.ReadCloser // see Incoming.Rest; nil on most answers
}

// Gateway is the whole flow. Its methods are safe for concurrent use.
type Gateway struct{ Options }

// Do carries one call. It returns a decision in every case; ctx is the caller's: when it ends before the tool's answer came, the
// attempt goes on and its outcome is recorded.
func (g *Gateway) Do(ctx context.Context, call *agentgw.Call) Response { panic("being written") }

// Begin claims an effect for an action that the caller does itself (call.Nonce names the claim). The verdict is
// ClaimedForCaller, with Decision.Effect carrying Fence and Lease, or a refusal.
func (g *Gateway) Begin(ctx context.Context, call *agentgw.Call) *agentgw.Decision {
	panic("being written")
}

// Renew starts the lease of a claim again. ErrStale where the fence is not the claim's any more, or the lease has lapsed.
func (g *Gateway) Renew(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64) (*agentgw.Effect, error) {
	panic("being written")
}

// Complete says how a begun action ended. Saying the same again succeeds; something else is ErrStale.
func (g *Gateway) Complete(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64, res agentgw.Result) (*agentgw.Effect, error) {
	panic("being written")
}

// Effect shows one effect of a tenant; ledger.ErrNotFound where there is none, or it is another tenant's.
func (g *Gateway) Effect(ctx context.Context, tenant string, id agentgw.EffectID) (*agentgw.Effect, error) {
	panic("being written")
}
