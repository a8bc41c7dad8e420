package main

import (
	"context"
	"net/http"
	"net/url"

	"agentgw/policy"
)

// maxNear is how many effects of one operation are looked through for the nearest.
const maxNear = 10000

// nearest finds the earlier effect of a call's operation that has fewest differences of those that share a field with it; nil where none
// does, and where the call's own effect stands there with the same values: then it missed nothing.
func (c *client) nearest(ctx context.Context, tenant string, said *policy.Explanation) (*policy.NearMiss, error) {
	q := url.Values{"operation": {said.Operation}, "tenant": {tenant}, "limit": {"1000"}}
	var best *policy.NearMiss
	for seen := 0; seen < maxNear; {
		var page effectsPage
		if _, err := c.ask(ctx, http.MethodGet, "/v1/effects?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Effects {
			e := &page.Effects[i]
			differ, equal := policy.Apart(e.canonical(), said.Fields)
			switch {
			case e.ID == said.Key && len(differ) == 0:
				return nil, nil
			case equal > 0 && (best == nil || len(differ) < len(best.Fields)):
				best = &policy.NearMiss{Effect: e.ID, Fields: differ}
			}
		}
		seen += len(page.Effects)
		if page.Cursor == "" {
			break
		}
		q.Set("cursor", page.Cursor)
	}
	return best, nil
}

// canonical are the fields that the ledger keeps of an effect, by name.
func (e *effect) canonical() map[string]string {
	kept := make(map[string]string, len(e.Fields))
	for _, f := range e.Fields {
		kept[f.Name] = f.Canonical
	}
	return kept
}
