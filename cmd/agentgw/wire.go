package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"agentgw"
	"agentgw/gateway"
	"agentgw/ledger"
)

// instance is one gateway, put together.
type instance struct {
	*gateway.Gateway
	config  *config
	metrics *gateway.Metrics
	http    *gateway.HTTP
	mcp     *gateway.MCP
	drain   *drain
	log     io.Closer // the decision log; nil without one
}

// open puts a gateway together from a configuration. stdout is where a decision log named stdout goes; warn may be nil.
func (c *config) open(stdout io.Writer, warn *slog.Logger) (*instance, error) {
	store, err := openStore(c.ledger, c.redis)
	if err != nil {
		return nil, err
	}
	return c.openOver(store, stdout, warn)
}

// openOver is open with a store that the configuration need not name. It closes the store where it fails.
func (c *config) openOver(store ledger.Store, stdout io.Writer, warn *slog.Logger) (*instance, error) {
	l := ledger.New(store)
	in := &instance{config: c, metrics: gateway.NewMetrics(l), http: gateway.NewHTTP(c.tools, c.upstreams)}
	in.mcp = gateway.NewMCP(gateway.MCPOptions{Upstreams: c.upstreams, Tools: c.tools, Policy: c.policy, Next: in.http, Log: warn, Approvals: c.approvals()})
	in.drain = newDrain(in.metrics.Time(in.mcp, c.tools))
	observers := gateway.Observers{in.metrics}
	if warn != nil {
		observers = append(observers, raised{warn})
	}
	switch c.log {
	case "":
	case "stdout":
		observers = append(observers, gateway.NewLog(stdout))
	default:
		file, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			l.Close()
			return nil, usage(err)
		}
		in.log = file
		observers = append(observers, gateway.NewLog(file))
	}
	var spool *gateway.Spool
	if c.ledger != "memory:" {
		spool = gateway.NewSpool(c.spool())
	}
	in.Gateway = gateway.New(gateway.Options{Spool: spool, Policy: c.policy, Ledger: l, Sender: in.drain, MCP: in.mcp, Tools: c.tools, Upstreams: c.upstreams,
		Unmatched: c.unmatched, Defaults: c.defaults, Allowed: c.principals.Allowed, Observe: observers, Wording: c.wording(warn), Judge: c.judge()})
	return in, nil
}

// spool is the folder of outcomes that the ledger could not take: beside the configuration, for it belongs to this gateway alone.
func (c *config) spool() string { return c.beside("agentgw.spool") }

// approvals is the folder of what was approved of MCP servers' tools: beside the configuration, for it belongs to it.
func (c *config) approvals() *gateway.Approvals {
	a := &gateway.Approvals{Folder: c.beside("agentgw.tools")}
	a.Mend = func(server string) string {
		if c.bare {
			return "rm " + a.File(server)
		}
		return "agentgw doctor --config " + c.file + " --approve-tools " + server
	}
	return a
}

// agents is the handler of the agents' listener.
func (in *instance) agents() http.Handler {
	return in.Doors(gateway.DoorConfig{Principals: in.config.principals})
}

// operators is the handler of the operators' listener.
func (in *instance) operators() http.Handler {
	return in.Admin(gateway.AdminConfig{Operators: in.config.operators, Metrics: in.metrics.Handler()})
}

// close lets go of everything. Nothing may be under way any more.
func (in *instance) close() error {
	in.mcp.Close()
	in.http.Close()
	err := in.Ledger.Close()
	if in.log != nil {
		in.log.Close()
	}
	return err
}

// raised tells operators what they should look at.
type raised struct{ log *slog.Logger }

// Decided implements gateway.Observer.
func (raised) Decided(*agentgw.Call, *agentgw.Decision, time.Duration) {}

// Raised implements gateway.Observer.
func (r raised) Raised(e *agentgw.Effect, what string) {
	r.log.Warn(what, "effect", e.ID.String(), "operation", e.Operation, "tenant", e.Tenant)
}

// drain is a sender whose attempts can all be given up at once. One that is given up may have had its effect: it is recorded as a doubt
// while the ledger is still there, instead of only when its lease runs out.
type drain struct {
	gateway.Sender
	over   context.Context
	giveUp context.CancelFunc
}

func newDrain(s gateway.Sender) *drain {
	over, giveUp := context.WithCancel(context.Background())
	return &drain{s, over, giveUp}
}

// Send implements gateway.Sender.
func (d *drain) Send(ctx context.Context, out *gateway.Outgoing) (*gateway.Incoming, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.over, cancel)
	end := func() { stop(); cancel() }
	in, err := d.Sender.Send(ctx, out)
	if in == nil || in.Rest == nil {
		end()
		return in, err
	}
	in.Rest = &ending{in.Rest, end}
	return in, err
}

// ending is the rest of a large answer, whose attempt ends when it is closed.
type ending struct {
	io.ReadCloser
	end func()
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
