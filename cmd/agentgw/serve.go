package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"agentgw/ledger"
	"agentgw/policy"
)

type serveCmd struct {
	Config string        `short:"c" default:"agentgw.yaml" help:"Configuration file." placeholder:"FILE"`
	Grace  time.Duration `default:"30s" help:"How long calls under way may take after a signal to stop; what is left is recorded as a doubt."`
}

// Help is shown by `agentgw serve --help`.
func (serveCmd) Help() string {
	return "Without a configuration, `agentgw init` writes one. SIGTERM or Ctrl-C stops: no new calls, and those under way are finished or recorded."
}

// Run serves both listeners until the context ends.
func (s *serveCmd) Run(a *app) error {
	c, err := loadConfig(s.Config, a.env)
	if err != nil {
		return err
	}
	store, err := openStore(c.ledger, c.redis)
	if err != nil {
		return err
	}
	return a.serve(c, store, s.Grace)
}

// serve runs a gateway over a store until the context ends.
func (a *app) serve(c *config, store ledger.Store, grace time.Duration) error {
	if a.env.get("GOGC") == "" {
		debug.SetGCPercent(400) // a gateway's heap is small and its garbage short-lived: a few more megabytes save a tenth of its CPU
	}
	log := slog.New(slog.NewTextHandler(a.stderr, nil))
	in, err := c.openOver(&healthLog{Store: store, log: log}, a.stdout, log)
	if err != nil {
		return err
	}
	agents, operators, err := listen(c)
	if err != nil {
		in.close()
		return err
	}
	recovered := in.recover(a.ctx, log) // before the first call
	a.announce(in, log, agents.Addr(), operators.Addr())
	return serve(a.ctx, in, log, recovered, agents, operators, grace)
}

// recover brings the outcomes of an earlier process, which the ledger could not take then, into it. It reports whether none is left:
// until then their effects are doubts.
func (in *instance) recover(ctx context.Context, log *slog.Logger) bool {
	written, err := in.Recover(ctx)
	if written > 0 {
		log.Info("outcomes of an earlier process were written to the ledger", "count", written)
	}
	if err != nil {
		log.Warn("outcomes of an earlier process wait for the ledger", "folder", in.config.spool(), "error", err)
	}
	return err == nil
}

func listen(c *config) (agents, operators net.Listener, err error) {
	if agents, err = net.Listen("tcp", c.listen); err != nil {
		return nil, nil, fmt.Errorf("listen: %w%s", err, taken(err, c.file, "listen"))
	}
	if operators, err = net.Listen("tcp", c.admin); err != nil {
		agents.Close()
		return nil, nil, fmt.Errorf("admin: %w%s", err, taken(err, c.file, "admin"))
	}
	return agents, operators, nil
}

// taken says what to do where another program has the port; "" for other errors.
func taken(err error, file, member string) string {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ""
	}
	return fmt.Sprintf("; stop what listens there, another agentgw perhaps, or choose another port with %s in %s", member, file)
}

// serve runs until ctx ends, or a listener breaks, and then lets what is under way end.
func serve(ctx context.Context, in *instance, log *slog.Logger, recovered bool, agents, operators net.Listener, grace time.Duration) error {
	watching, stopWatching := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { in.Watch(watching, in.metrics.Doubts) })
	watch.Go(func() { in.mcp.Refresh(watching) }) // so that a tool that changed meanwhile is raised before it is used
	watch.Go(func() {
		for pause := 5 * time.Second; !recovered && in.Clock.Sleep(watching, pause) == nil; pause = min(2*pause, 10*time.Minute) {
			recovered = in.recover(watching, log)
		}
	})

	servers := []*http.Server{newServer(in.agents(), log), newServer(in.operators(), log)}
	broken := make(chan error, len(servers))
	for i, l := range []net.Listener{agents, operators} {
		go func() {
			if err := servers[i].Serve(l); !errors.Is(err, http.ErrServerClosed) {
				broken <- err
			}
		}()
	}
	var err error
	select {
	case <-ctx.Done():
		log.Info("stopping: no new calls; those under way are finished", "grace", grace)
	case err = <-broken:
	}
	in.shutDown(servers, log, grace)
	stopWatching()
	watch.Wait()
	return errors.Join(err, in.close())
}

// shutDown finishes or records what is under way. http.Server counts a call as active until its handler ends, also when its caller
// has left.
func (in *instance) shutDown(servers []*http.Server, log *slog.Logger, grace time.Duration) {
	patient, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if shutDownAll(patient, servers) == nil {
		return
	}
	log.Warn("calls are still under way: they are given up and recorded as doubts", "after", grace)
	in.drain.giveUp()
	brief, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if shutDownAll(brief, servers) != nil {
		log.Error("some outcomes could not be recorded: they become doubts when their leases run out")
		for _, s := range servers {
			s.Close()
		}
	}
}

func shutDownAll(ctx context.Context, servers []*http.Server) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = s.Shutdown(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// newServer has no limit on how long an answer takes: a tool may work for minutes, and whoever waits for it is served.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 20,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
}

// announce says what runs, to people on stderr; with --json in one line on stdout.
func (a *app) announce(in *instance, log *slog.Logger, agents, operators net.Addr) {
	c := in.config
	if c.ledger == "memory:" {
		log.Warn(forgets)
	}
	guarded, passed := byGuard(c.policy)
	if a.json {
		a.writeJSON(struct {
			Listen     string   `json:"listen"`
			Admin      string   `json:"admin"`
			Ledger     string   `json:"ledger"`
			Operations []string `json:"operations"`
		}{agents.String(), operators.String(), shownLedger(c.ledger), append(guarded, passed...)})
		return
	}
	if len(guarded) == 0 {
		log.Warn("no policy guards any call", "unmatched", c.unmatched)
	}
	who := count(len(c.principals), "principal")
	if len(c.principals) == 0 {
		who = "anyone on this machine"
	}
	fmt.Fprintf(a.stderr, "agentgw serves %s\n  agents     http://%s (%s)\n  operators  http://%s\n  ledger     %s\n  guarded    %s\n",
		c.file, agents, who, operators, shownLedger(c.ledger), listed(guarded))
	if len(passed) > 0 {
		fmt.Fprintf(a.stderr, "  passed     %s\n", listed(passed))
	}
	fmt.Fprintf(a.stderr, "  others     %s\n", map[string]string{"reads": "reads pass, the rest is denied", "pass": "pass",
		"auto": "reads pass, the rest is guarded by all arguments", "deny": "are denied"}[c.unmatched])
}

// byGuard tells the operations that are guarded from those that only pass.
func byGuard(p *policy.Policy) (guarded, passed []string) {
	for _, o := range p.Operations {
		if o.Reads() {
			passed = append(passed, o.Name)
		} else {
			guarded = append(guarded, o.Name)
		}
	}
	return guarded, passed
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > 12 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:12], ", "), len(names)-12)
	}
	return strings.Join(names, ", ")
}
