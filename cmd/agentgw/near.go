package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"agentgw/policy"
)

// maxNear is how many effects of one operation are looked through for the nearest.
const maxNear = 10000

// nearest finds the earlier effect of an operation that shares most fields with a call; nil where none shares any.
func (c *client) nearest(ctx context.Context, tenant string, said *policy.Explanation) (*effect, error) {
	q := url.Values{"operation": {said.Operation}, "tenant": {tenant}, "limit": {"1000"}}
	var best *effect
	least := len(said.Fields)
	for seen := 0; seen < maxNear; {
		var page effectsPage
		if _, err := c.ask(ctx, http.MethodGet, "/v1/effects?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Effects {
			e := &page.Effects[i]
			if n := len(e.apart(said.Fields)); e.ID != said.Key && n < least {
				best, least = e, n
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

// apart says which fields keep an effect and a call apart: "month: \"2026-10\" there, \"2026-11\" here".
func (e *effect) apart(fields []policy.Explained) []string {
	there := map[string]string{}
	for _, f := range e.Fields {
		there[f.Name] = f.Canonical
	}
	var differ []string
	for _, f := range fields {
		if was, known := there[f.Name]; !known || was != f.Canon {
			differ = append(differ, difference(f.Name, was, f.Canon))
		}
	}
	return differ
}

func difference(name, there, here string) string {
	say := func(canon string) string {
		if canon == "" {
			return "nothing"
		}
		return canon
	}
	return fmt.Sprintf("%s: %s there, %s here", name, say(there), say(here))
}

// near says why an effect was not a duplicate of the nearest earlier one, in lines; none where nothing is known of that.
func (c *client) near(ctx context.Context, e *effect) []string {
	if e.Near == nil {
		return nil
	}
	var other effect
	if _, err := c.ask(ctx, http.MethodGet, "/v1/effects/"+url.PathEscape(e.Near.ID), nil, &other); err != nil {
		return []string{fmt.Sprintf("%s, which is no longer there; it differed in %s", e.Near.ID, strings.Join(e.Near.Fields, ", "))}
	}
	there := map[string]string{}
	for _, f := range other.Fields {
		there[f.Name] = f.Canonical
	}
	lines := []string{words(e.Near.ID, other.State)}
	for _, name := range e.Near.Fields {
		for _, f := range e.Fields {
			if f.Name == name {
				lines = append(lines, difference(name, there[name], f.Canonical))
			}
		}
	}
	return lines
}
