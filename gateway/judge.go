package gateway

import (
	"context"
	"fmt"

	"agentgw"
	"agentgw/ledger"
)

// judge lets the model say which candidate a similar call means, or that it means none of them. A pair is judged once: the opinion is
// in the ledger. true: ask again, with what was said. false: nobody could judge all of them, and the caller is asked.
func (g *Gateway) judge(ctx context.Context, p *plan, a *ledger.Ask, found ledger.Finding) bool {
	now := p.op.Meaning()
	for _, c := range found.Candidates {
		o, err := g.Ledger.Judged(ctx, p.op, c.ID)
		if err == nil && o == nil {
			o, err = g.askJudge(ctx, p, c, now)
		}
		if err != nil || o == nil {
			return false
		}
		if o.Same {
			e, err := g.Ledger.Get(ctx, c.ID)
			if err != nil || e.State.Free() {
				return false
			}
			p.op.ID, p.op.Digest = c.ID, e.Digest
			g.raise(e, fmt.Sprintf("the judge says that another wording means it: %s", o.Why))
			return true
		}
		if a.Apart == nil {
			a.Apart = map[agentgw.EffectID]bool{}
		}
		a.Apart[c.ID] = true
	}
	return true
}

func (g *Gateway) askJudge(ctx context.Context, p *plan, c agentgw.Candidate, now map[string]string) (*ledger.Opinion, error) {
	if g.Judge == nil {
		return nil, nil
	}
	same, why, err := g.Judge.Same(ctx, p.def.Name, c.Text, now)
	if err != nil {
		return nil, err
	}
	o := ledger.Opinion{Same: same, Why: why}
	return &o, g.Ledger.Judge(ctx, p.op, c.ID, o)
}
