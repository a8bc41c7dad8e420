package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"agentgw/ledger"
	"agentgw/ledger/redisstore"
)

type verifyCmd struct {
	Ledger  string   `help:"Ledger to prove: file:PATH, redis://… or env:NAME. Without it, the one of --config; where there is none, a file of its own." placeholder:"URL"`
	Config  string   `short:"c" default:"agentgw.yaml" help:"Configuration file." placeholder:"FILE"`
	Without bool     `help:"Let the same faults hit the bare tool, too, so that the difference can be seen."`
	Only    []string `help:"Only these faults; names may have * and ?." placeholder:"NAME"`
	Times   int      `default:"3" help:"How often each fault hits."`
	List    bool     `help:"Say which faults there are."`
}

// Help is shown by `agentgw verify --help`.
func (verifyCmd) Help() string {
	return `Runs this program as a gateway on your ledger, in front of a tool that counts what really happens, and lets everything go wrong: lost
answers, kill -9, pauses, a ledger that is cut off. It works under a tenant of its own, never calls your tools, and what it leaves in the
ledger expires within ten minutes; a run that is interrupted may also leave doubts under that tenant, which effects list --tenant shows. A
file ledger must not be in use. The clock of a Redis is left alone: for the jump of a clock it starts one of its own, with libfaketime.

The exit code is 1 where an effect happened twice, did not happen, was refused without a reason, or is in doubt though it can be known, and
where the run was interrupted; 2 where it cannot begin.`
}

// battery is one run of faults.
type battery struct {
	ctx     context.Context
	env     environment
	ledger  string
	dir     string
	tenant  string
	secret  string
	times   int
	witness *witness

	shared target // the plain gateway, kept between faults
	refs   int
}

// Run lets the faults hit.
func (c *verifyCmd) Run(a *app) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	if c.List {
		for _, f := range chosen {
			fmt.Fprintf(a.stdout, "%-24s %s\n", f.name, f.about)
		}
		return nil
	}
	if c.Times < 1 || c.Times > 1000 {
		return usagef("--times goes from 1 to 1000")
	}
	dir, err := os.MkdirTemp("", "agentgw-verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &battery{ctx: a.ctx, env: a.env, dir: dir, times: c.Times, tenant: "verify-" + random(), secret: random()}
	if b.ledger, err = c.ledger(a, dir); err != nil {
		return err
	}
	if err := b.usable(); err != nil {
		return usage(err)
	}
	if b.witness, err = startWitness(); err != nil {
		return usage(err)
	}
	defer b.witness.close()
	defer b.closeShared()
	return a.runBattery(b, chosen, c.Without)
}

func random() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// chosen are the faults to run.
func (c *verifyCmd) chosen() ([]*fault, error) {
	if len(c.Only) == 0 {
		return faults, nil
	}
	var chosen []*fault
	for _, pattern := range c.Only {
		n := len(chosen)
		for _, f := range faults {
			if ok, err := path.Match(pattern, f.name); err != nil {
				return nil, usagef("--only %s: %v", pattern, err)
			} else if ok {
				chosen = append(chosen, f)
			}
		}
		if len(chosen) == n {
			return nil, usagef("--only %s: there is no such fault; --list names them", pattern)
		}
	}
	return chosen, nil
}

// ledger is the URL of the ledger to prove. A path is made absolute, because the gateways run elsewhere.
func (c *verifyCmd) ledger(a *app, dir string) (string, error) {
	at, err := a.fromEnv(c.Ledger)
	if err != nil {
		return "", err
	}
	if at == "" {
		if _, err := os.Stat(c.Config); errors.Is(err, os.ErrNotExist) && c.Config == defaultConfig {
			return "file:" + filepath.Join(dir, "ledger.db"), nil
		}
		config, err := loadConfig(c.Config, a.env)
		if err != nil {
			return "", err
		}
		at = config.ledger
	}
	if err := checkLedgerURL(at); err != nil {
		return "", usagef("--ledger: %v", err)
	}
	if name, ok := strings.CutPrefix(at, "file:"); ok {
		if name, err = filepath.Abs(name); err != nil {
			return "", usage(err)
		}
		at = "file:" + name
	}
	return at, nil
}

// kind is the scheme of the ledger: memory, file, redis, …
func (b *battery) kind() string {
	scheme, _, _ := strings.Cut(b.ledger, ":")
	return scheme
}

// many reports whether several gateways can share the ledger.
func (b *battery) many() bool { return b.kind() != "memory" && b.kind() != "file" }

// usable opens the ledger once, so that what is wrong with it is said before anything else.
func (b *battery) usable() error {
	store, err := openStore(b.ledger, redisstore.Options{})
	if err != nil {
		if b.kind() == "file" {
			err = fmt.Errorf("%w; a file ledger can be proved only while no gateway uses it", err)
		}
		return err
	}
	l := ledger.New(store)
	return errors.Join(l.Health(b.ctx), l.Close())
}

// closeShared ends the gateway that is kept between faults.
func (b *battery) closeShared() {
	if b.shared != nil {
		b.shared.close()
		b.shared = nil
	}
}

// trial is one fault that hits.
type trial struct {
	b       *battery
	ctx     context.Context
	name    string
	bare    bool
	intents []*intent
	closing []func() error
}

// try lets one fault hit the gateway, or the bare tool.
func (b *battery) try(f *fault, bare bool) (*trial, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Minute)
	defer cancel()
	t := &trial{b: b, ctx: ctx, name: f.name, bare: bare}
	if bare {
		t.name = "bare/" + f.name
	}
	err := f.run(t)
	b.witness.idle(ctx)
	for i := len(t.closing) - 1; i >= 0; i-- {
		err = errors.Join(err, t.closing[i]())
	}
	return t, err
}

// judge counts at the witness, and says what that means.
func (t *trial) judge() *tally {
	for _, in := range t.intents {
		in.happened = t.b.witness.count(in.mark)
	}
	return judge(t.intents)
}

// plain is the gateway with nothing special about it, or the bare tool.
func (t *trial) plain() (target, error) {
	if t.bare {
		return newBareTool(t.b.witness.url), nil
	}
	if t.b.shared == nil {
		g, err := t.b.newGate(gateOptions{})
		if err != nil {
			return nil, err
		}
		t.b.shared = g
	}
	return t.b.shared, nil
}

// another is a gateway for this fault alone, or the bare tool. A file has room for one.
func (t *trial) another(o gateOptions) (target, error) {
	if t.bare {
		bare := newBareTool(t.b.witness.url)
		return bare, bare.start(o.upstream)
	}
	if !t.b.many() {
		t.b.closeShared()
	}
	g, err := t.b.newGate(o)
	if err != nil {
		return nil, err
	}
	t.closing = append(t.closing, g.close)
	return g, nil
}

// settle lets an operator say what the witness has of each doubt, and makes the call once more.
func (t *trial) settle(to target) error {
	t.b.witness.idle(t.ctx)
	errs := make(chan error, len(t.intents))
	each(t.intents, func(in *intent) {
		in.mu.Lock()
		doubt := in.doubt
		in.doubt, in.known = nil, in.known || doubt != nil
		in.mu.Unlock()
		if doubt == nil {
			return
		}
		if err := to.resolve(t.ctx, doubt, t.b.witness.count(in.mark) > 0); err != nil {
			errs <- fmt.Errorf("%s: the doubt %s cannot be resolved: %w", in.mark, doubt.effect, err)
			return
		}
		persist(t.ctx, to, in, patient)
	})
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}
