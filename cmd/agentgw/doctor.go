package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"agentgw"
	"agentgw/policy"
)

type doctorCmd struct {
	Config  string   `short:"c" default:"agentgw.yaml" help:"Configuration file." placeholder:"FILE"`
	Approve []string `name:"approve-tools" help:"Approve the tools of these MCP servers as they are now: what differs later is raised." placeholder:"UPSTREAM"`
	Key     string   `help:"Operator's secret, where a gateway runs; env:NAME reads it from the environment. AGENTGW_KEY, or the configuration's first operator, is used without it."`
}

// Help is shown by `agentgw doctor --help`.
func (doctorCmd) Help() string {
	return "Reads the configuration, asks its ledger, its MCP servers for their tools and, where it runs, its gateway. But for --approve-tools it " +
		"changes nothing. The exit code is 1 where something is unsafe: where an effect could happen twice, a secret be read by others, or a " +
		"tool is not the one that was approved. Warnings do not fail."
}

// Levels of what a doctor says.
const (
	levelUnsafe  = "unsafe"
	levelWarning = "warning"
	levelFine    = "fine"
	levelUnknown = "not checked"
)

// diagnosis is one thing that a doctor says.
type diagnosis struct {
	Level string `json:"level"`
	About string `json:"about"`
	What  string `json:"what"`
	Mend  string `json:"mend,omitempty"` // a command, or what to write where
}

// doctor looks at one configuration.
type doctor struct {
	*app
	c     *config
	key   string
	found []diagnosis
}

func (d *doctor) say(level, about, mend, format string, args ...any) {
	d.found = append(d.found, diagnosis{level, about, fmt.Sprintf(format, args...), mend})
}

// Run examines everything and reports.
func (cmd *doctorCmd) Run(a *app) error {
	c, err := loadConfig(cmd.Config, a.env)
	if err != nil {
		return err
	}
	d := &doctor{app: a, c: c}
	if d.key, err = a.key(cmd.Key, c.operators); err != nil {
		return err
	}
	d.ledger()
	d.doors()
	d.policies()
	d.spool()
	if err := d.tools(cmd.Approve); err != nil {
		return err
	}
	d.gateway()
	return d.report()
}

// report writes what was found, the worst first.
func (d *doctor) report() error {
	unsafe := 0
	var sorted []diagnosis
	for _, level := range []string{levelUnsafe, levelWarning, levelUnknown, levelFine} {
		for _, f := range d.found {
			if f.Level == level {
				sorted = append(sorted, f)
			}
		}
		if level == levelUnsafe {
			unsafe = len(sorted)
		}
	}
	verdict := "safe"
	if unsafe > 0 {
		verdict = levelUnsafe
	}
	if d.json {
		if err := d.writeJSON(map[string]any{"verdict": verdict, "findings": sorted}); err != nil {
			return err
		}
	} else {
		for _, f := range sorted {
			fmt.Fprintf(d.stdout, "%-11s  %s: %s\n", f.Level, f.About, f.What)
			if f.Mend != "" {
				fmt.Fprintf(d.stdout, "%-11s    %s\n", "", f.Mend)
			}
		}
	}
	if unsafe > 0 {
		return &checkFailed{}
	}
	return nil
}

// doors: who can reach the listeners, and who can read what passes there. The gateway itself speaks no TLS.
func (d *doctor) doors() {
	for _, l := range []struct{ name, at string }{{"listen", d.c.listen}, {"admin", d.c.admin}} {
		if isLoopback(l.at) {
			d.say(levelFine, l.name, "", "%s is for this machine only", l.at)
			continue
		}
		_, port, _ := net.SplitHostPort(l.at)
		d.say(levelUnsafe, l.name, fmt.Sprintf("write %s: 127.0.0.1:%s and put TLS before it: caddy reverse-proxy --from gateway.example --to 127.0.0.1:%s",
			l.name, port, port), "secrets and calls reach %s unencrypted from other machines", l.at)
	}
	if len(d.c.principals) == 0 {
		d.say(levelWarning, "principals", `add principals: [{name: billing-agent, secret: "env:BILLING_AGENT_KEY", tenant: default, operations: ["invoice.*"]}]; `+
			"tenant default is that of all effects until now: another one does not find them, and their duplicates execute",
			"every program on this machine may call everything, as one tenant")
	}
	if len(d.c.operators) == 0 {
		d.say(levelWarning, "operators", `add operators: [{name: ops, secret: "env:OPS_KEY"}]`, "every program on this machine may settle doubts")
	}
	for _, p := range append(d.c.principals[:len(d.c.principals):len(d.c.principals)], d.c.operators...) {
		if len(p.Secret) < 16 {
			d.say(levelWarning, "secret of "+p.Name, "openssl rand -hex 32", "it has %d characters: it can be guessed", len(p.Secret))
		}
	}
	for _, name := range names(d.c.upstreams) {
		u := d.c.upstreams[name]
		to := u.URL
		if u.MCP != nil {
			to = u.MCP.URL
		}
		if to != nil && to.Scheme == "http" && !isLoopback(to.Host+":80") && !isLoopback(to.Host) && (len(u.Headers) > 0 || to.User != nil) {
			d.say(levelWarning, "upstream "+name, "write its url with https", "its secret goes to %s unencrypted", to.Host)
		}
	}
}

// policies: what they leave open, and what is probably not meant.
func (d *doctor) policies() {
	guarded, _ := byGuard(d.c.policy)
	switch {
	case len(guarded) == 0 && d.c.unmatched != "auto":
		d.say(levelUnsafe, "policies", "agentgw policy suggest drafts one from your tools", "no operation is guarded: nothing is done at most once")
	case d.c.unmatched == "pass":
		d.say(levelWarning, "unmatched", "write unmatched: reads, or auto", "calls that no policy matches are sent as often as they come")
	default:
		d.say(levelFine, "policies", "", "%s guarded; others: %s", count(len(guarded), "operation"), d.c.unmatched)
	}
	if open := withoutTTL(d.c.policy); len(open) > 0 {
		d.say(levelWarning, "policies", "write ttl: 7d there, or for how long the same call may still come again", "%s: no ttl: when a success is 24h old, the same call executes again",
			listed(open))
	}
	for _, f := range policy.Lint(d.c.policy) {
		d.say(levelWarning, fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Col), f.Remedy, "%s", f.Message)
	}
}

// withoutTTL are the operations whose successes answer for the default of a day, which nobody has said is enough.
func withoutTTL(p *policy.Policy) (names []string) {
	for _, o := range p.Operations {
		if o.Pattern == agentgw.Once && !o.Says("ttl") && !o.Says("tombstone") {
			names = append(names, o.Name)
		}
	}
	return names
}

// spool: outcomes that wait for the ledger.
func (d *doctor) spool() {
	dir := d.c.spool()
	waiting := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(name, ".outcome.json") {
			waiting++
		}
		return nil
	})
	switch {
	case err != nil:
		d.say(levelUnknown, "spool", "", "%v", err)
	case waiting > 0 && running(d.c.admin):
		d.say(levelWarning, "spool", "see why with agentgw effects list --state in_flight", "%d outcomes wait in %s until the ledger takes them", waiting, dir)
	case waiting > 0:
		d.say(levelUnsafe, "spool", "agentgw serve --config "+d.c.file, "%d outcomes wait in %s, and no gateway runs that writes them: their effects become doubts", waiting, dir)
	}
}

// ready asks a running gateway whether it serves.
func (d *doctor) ready() (bool, error) {
	if !running(d.c.admin) {
		d.say(levelUnknown, "gateway", "agentgw serve --config "+d.c.file, "none runs at %s: how long answers take is not known", d.c.admin)
		return false, nil
	}
	door, err := through("http://"+d.c.admin, d.key)
	if err != nil {
		return false, err
	}
	answer, err := door.do(d.ctx, http.MethodGet, "/readyz", nil)
	if err != nil {
		return false, err
	}
	if answer.status != http.StatusOK {
		d.say(levelUnsafe, "gateway", "mend what it says", "it refuses guarded calls: %s", strings.TrimSpace(string(answer.body)))
	}
	return true, nil
}
