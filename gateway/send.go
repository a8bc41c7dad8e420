package gateway

import (
	"context"
	"errors"
	"io"
	"time"

	"agentgw"
	"agentgw/policy"
)

// send carries one attempt to the tool and classifies what came back. The policy's timeout, else the upstream's, else ten minutes ends
// it. in is nil where no whole answer came.
func (g *Gateway) send(ctx context.Context, p *plan, key string) (*Incoming, agentgw.Result) {
	out := &Outgoing{Call: p.call, Args: p.args, Key: key, MaxBytes: defaultMaxAnswer, tool: p.tool, link: p.link}
	timeout := g.timeout(p)
	if p.def != nil && p.def.MaxAnswer > 0 {
		out.MaxBytes = p.def.MaxAnswer
	}
	ctx, cancel := g.Clock.WithTimeout(ctx, timeout)
	in, err := g.Sender.Send(ctx, out)
	if in == nil || in.Rest == nil {
		cancel()
	} else {
		in.Rest = &cancelling{in.Rest, cancel}
	}
	if err != nil {
		var s *SendError
		if errors.As(err, &s) && !s.Sent {
			return nil, agentgw.Result{Outcome: agentgw.Failed, NeverSent: true, Why: err.Error()}
		}
		return nil, agentgw.Result{Outcome: agentgw.Indeterminate, Why: err.Error()}
	}
	res := agentgw.Result{Answer: in.Answer}
	view := &policy.ResultView{Call: p.call, Args: p.args, Status: in.Answer.Status, Headers: in.Answer.Header, Body: in.Answer.Body, IsError: in.IsError}
	if p.def != nil {
		res.Outcome, res.Why = p.def.Outcome(view)
	} else {
		res.Outcome, res.Why = policy.DefaultOutcome(view)
	}
	return in, res
}

const (
	defaultMaxAnswer = 4 << 20
	defaultTimeout   = 10 * time.Minute
)

func (g *Gateway) timeout(p *plan) time.Duration {
	if p.def != nil && p.def.Timeout > 0 {
		return p.def.Timeout
	}
	if u := g.upstream(p); u != nil && u.Timeout > 0 {
		return u.Timeout
	}
	return defaultTimeout
}

// upstream is where the call goes; nil where no upstream is configured for it.
func (g *Gateway) upstream(p *plan) *Upstream {
	switch {
	case p.call.Request != nil:
		return g.Upstreams[p.call.Request.Upstream]
	case p.tool != nil:
		return g.Upstreams[p.tool.Upstream]
	}
	return nil
}

// cancelling ends the attempt's context once what is left of a large answer was copied.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
