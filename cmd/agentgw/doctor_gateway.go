package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// gateway: what a running one tells, and what is in doubt.
func (d *doctor) gateway() {
	runs, err := d.ready()
	if err != nil {
		d.say(levelUnknown, "gateway", "agentgw serve --config "+d.c.file, "%v", err)
	}
	if runs {
		d.answers()
	}
	d.doubts()
}

// answers compares how long upstreams took with leases and timeouts.
func (d *doctor) answers() {
	door, err := through("http://"+d.c.admin, d.key)
	if err != nil {
		d.say(levelUnknown, "metrics", "agentgw serve --config "+d.c.file, "%v", err)
		return
	}
	answer, err := door.do(d.ctx, http.MethodGet, "/metrics", nil)
	if err != nil || answer.status != http.StatusOK {
		d.say(levelUnknown, "metrics", "give an operator's secret with --key", "the gateway does not show them")
		return
	}
	took := readUpstreamTimes(answer.body)
	for _, o := range d.c.policy.Operations {
		if o.Reads() {
			continue
		}
		for _, tool := range o.Tools {
			t := d.c.tools[tool]
			if t == nil {
				continue
			}
			u := took[t.Upstream]
			timeout := o.Timeout
			if timeout == 0 && d.c.upstreams[t.Upstream] != nil {
				timeout = d.c.upstreams[t.Upstream].Timeout
			}
			if u.slowest > o.Lease {
				d.say(levelWarning, o.Name, fmt.Sprintf("write lease: %s or more in %s", u.shown(), o.Place),
					"its lease of %s is shorter than the slowest answer of %s (up to %s): a gateway that stands still meanwhile leaves a doubt", o.Lease, t.Upstream, u.shown())
			}
			if timeout > 0 && u.slowest >= timeout {
				d.say(levelWarning, o.Name, "write a longer timeout: one that strikes is a doubt", "answers of %s took up to %s, and its timeout is %s", t.Upstream, u.shown(), timeout)
			}
		}
	}
	for _, name := range names(took) {
		if n := took[name].lost; n > 0 {
			d.say(levelWarning, "upstream "+name, "agentgw effects list --state indeterminate", "%d answers were lost since the gateway started: each is a doubt", n)
		}
	}
}

// upstreamTimes is what the metrics say of an upstream.
type upstreamTimes struct {
	slowest time.Duration // upper bound of the slowest answer; the longest duration that there is where the metrics have no bound for it
	lost    int
}

func (u upstreamTimes) shown() string {
	if u.slowest == math.MaxInt64 {
		return "more than 10m"
	}
	return u.slowest.String()
}

var upstreamLine = regexp.MustCompile(`^agentgw_upstream_seconds_(bucket|count)\{(.*)\} ([0-9.e+]+)$`)

// readUpstreamTimes reads the histogram of upstreams in the text format of Prometheus.
func readUpstreamTimes(metrics []byte) map[string]upstreamTimes {
	took := map[string]upstreamTimes{}
	seen := map[string]float64{} // of each series, how many answers were no slower than the bound before
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := upstreamLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		labels := map[string]string{}
		for pair := range strings.SplitSeq(m[2], ",") {
			name, value, _ := strings.Cut(pair, "=")
			labels[name] = strings.Trim(value, `"`)
		}
		n, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			continue
		}
		name, series := labels["upstream"], labels["upstream"]+" "+labels["result"]
		u := took[name]
		if m[1] == "count" {
			if labels["result"] == "lost" {
				u.lost = int(n)
			}
		} else if n > seen[series] {
			seen[series] = n
			bound := time.Duration(math.MaxInt64)
			if le, err := strconv.ParseFloat(labels["le"], 64); err == nil && !math.IsInf(le, 1) {
				bound = time.Duration(le * float64(time.Second))
			}
			u.slowest = max(u.slowest, bound)
		}
		took[name] = u
	}
	return took
}

const oldDoubt = 24 * time.Hour

// orphans: doubts of a tenant that no principal has. Its other effects are not found either.
func (d *doctor) orphans(doubts []effect) {
	of := map[string]int{}
	for _, e := range doubts {
		of[e.Tenant]++
	}
	if len(d.c.principals) == 0 {
		delete(of, defaultTenant)
	}
	for _, p := range d.c.principals {
		delete(of, p.Tenant)
	}
	for _, tenant := range names(of) {
		if strings.HasPrefix(tenant, "verify-") {
			d.say(levelWarning, "tenant "+tenant, "agentgw effects list --state indeterminate --tenant "+tenant,
				"an agentgw verify that was interrupted left %s in doubt", count(of[tenant], "effect"))
			continue
		}
		d.say(levelWarning, "tenant "+tenant, fmt.Sprintf("give a principal tenant: %s, where it goes on with them", tenant),
			"no principal has it, and it has effects (%d in doubt): none of them is found, and their duplicates execute", of[tenant])
	}
}

// doubts: effects that wait for somebody's word, by age.
func (d *doctor) doubts() {
	var page struct{ Effects []effect }
	if name, ok := strings.CutPrefix(d.c.ledger, "file:"); ok {
		if _, err := os.Stat(name); err != nil { // to open it would make one
			d.say(levelFine, "doubts", "", "there is no ledger yet")
			return
		}
	}
	door, err := d.toOperators("", "", d.c.file, d.key)
	if err == nil {
		_, err = door.ask(d.ctx, http.MethodGet, "/v1/effects?state=indeterminate&limit=1000", nil, &page)
		door.end()
	}
	if err != nil {
		d.say(levelUnknown, "doubts", "agentgw effects list --state indeterminate --config "+d.c.file, "%v", err)
		return
	}
	if len(page.Effects) == 0 {
		d.say(levelFine, "doubts", "", "no effect is in doubt")
		return
	}
	d.orphans(page.Effects)
	var old int
	oldest := page.Effects[0]
	for _, e := range page.Effects {
		if e.Updated == nil {
			continue
		}
		if time.Since(*e.Updated) > oldDoubt {
			old++
		}
		if oldest.Updated == nil || e.Updated.Before(*oldest.Updated) {
			oldest = e
		}
	}
	more := ""
	if len(page.Effects) == 1000 {
		more = " or more"
	}
	d.say(levelWarning, "doubts", fmt.Sprintf(`look it up, then: agentgw effects resolve %s succeeded --reason "…" (or failed)`, oldest.ID),
		"%d effects%s are in doubt, %d of them for more than a day; the oldest (%s) since %s", len(page.Effects), more, old, oldest.Operation, ago(oldest.Updated))
}
