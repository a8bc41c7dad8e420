package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"agentgw/gateway"
	"agentgw/ledger/filestore"
	"agentgw/policy"
)

type mcpCmd struct {
	Config   string   `short:"c" help:"Configuration file; its MCP servers and tools are offered." placeholder:"FILE"`
	Upstream string   `help:"Offer this MCP server of the configuration as it is, instead of the tools of all." placeholder:"NAME"`
	As       string   `help:"The principal that the client is, where the configuration has principals." placeholder:"NAME"`
	Task     string   `help:"The task of all calls: with unmatched: auto, calls of different tasks are different." placeholder:"TEXT"`
	Ledger   string   `help:"Without a configuration: the ledger's URL instead of a file in the user's cache folder." placeholder:"URL"`
	Command  []string `arg:"" optional:"" passthrough:"" help:"A command that starts an MCP server, after --."`
}

// Help is shown by `agentgw mcp --help`.
func (mcpCmd) Help() string {
	return "Speaks MCP over stdin and stdout, for clients that start a command.\n\n" +
		"  agentgw mcp -- npx -y some-server       no configuration: calls that are not known to only read are guarded by all\n" +
		"                                          their arguments for ten minutes (unmatched: auto)\n" +
		"  agentgw mcp --config agentgw.yaml       by its policies, in front of all its MCP servers and tools\n\n" +
		"What the server says on stderr, and what an operator should know, goes to stderr."
}

// Run serves the client that started this process.
func (m *mcpCmd) Run(a *app) error {
	log := slog.New(slog.NewTextHandler(a.stderr, nil))
	c, path, err := m.config(a, log)
	if err != nil {
		return err
	}
	header, err := m.header(c)
	if err != nil {
		return err
	}
	in, err := m.open(a, c, path, log)
	if err != nil {
		return err
	}
	in.recover(a.ctx, log) // before the first call
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { in.Watch(watching, in.metrics.Doubts) })
	stdio := gateway.Stdio{Door: in.agents(), Path: path, Header: header, In: a.stdin, Out: a.stdout, GiveUp: in.drain.giveUp}
	err = stdio.Run(a.ctx)
	stop()
	watch.Wait()
	return errors.Join(err, in.close())
}

// config is the configuration, or one made of the command.
func (m *mcpCmd) config(a *app, log *slog.Logger) (c *config, path string, err error) {
	command := m.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	switch {
	case len(command) > 0 && m.Config != "":
		return nil, "", usagef("give either --config or a command after --; a server that is a command stands in the configuration as {mcp: [command, argument, …]}")
	case len(command) > 0 && m.Upstream != "":
		return nil, "", usagef("--upstream %s names a server of a configuration, and a command after -- has none: leave one of the two out", m.Upstream)
	case len(command) == 0 && m.Ledger != "":
		return nil, "", usagef("--ledger is for a command after --; a configuration names its own ledger")
	case len(command) > 0:
		c, err = m.configOf(command, a)
		return c, "/mcp/server", err
	case m.Config == "":
		m.Config = defaultConfig
	}
	if c, err = loadConfig(m.Config, a.env); err != nil {
		return nil, "", err
	}
	if m.Upstream == "" {
		return c, "/mcp", nil
	}
	if u := c.upstreams[m.Upstream]; u == nil || u.MCP == nil {
		return nil, "", usagef("--upstream: %s has no MCP server %q", m.Config, m.Upstream)
	}
	return c, "/mcp/" + m.Upstream, nil
}

// configOf is the configuration of a bare command: no policies, unmatched calls guarded.
func (m *mcpCmd) configOf(command []string, a *app) (*config, error) {
	c := &config{bare: true, ledger: m.Ledger, unmatched: "auto", tools: map[string]*gateway.Tool{}, upstreams: map[string]*gateway.Upstream{
		"server": {Name: "server", MCP: &gateway.MCPServer{Command: command}}}}
	var err error
	if c.file, err = cacheFile(command, a.env); err != nil {
		return nil, err
	}
	if c.ledger == "" {
		c.ledger = "file:" + c.file
	}
	c.policy, err = policy.Load(nil, policy.Env{})
	return c, err
}

// cacheFile is where a command's effects are remembered, and beside it what else is: one folder for each command and place where it is
// started, so that a client that restarts the server goes on where it was.
func cacheFile(command []string, env environment) (string, error) {
	root := env.get("XDG_CACHE_HOME")
	if root == "" {
		var err error
		if root, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("there is no folder for what is remembered (%w); name one with the variable XDG_CACHE_HOME", err)
		}
	}
	here, _ := os.Getwd()
	sum := sha256.Sum256([]byte(strings.Join(append([]string{here}, command...), "\x00")))
	dir := filepath.Join(root, "agentgw", "mcp", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("there is no folder for what is remembered (%w); name one with the variable XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "agentgw.db"), nil
}

// open opens the gateway. A ledger in the cache folder that another process holds belongs to another client of the same server: the two
// are different callers, and each is guarded on its own.
func (m *mcpCmd) open(a *app, c *config, path string, log *slog.Logger) (*instance, error) {
	in, err := c.open(a.stderr, log)
	if errors.Is(err, filestore.ErrInUse) && !c.bare {
		return nil, fmt.Errorf("%w.\nWhere that is `agentgw serve`, let the client use it: http://%s%s instead of this command", err, c.listen, path)
	}
	if err == nil || !c.bare || m.Ledger != "" {
		return in, err
	}
	log.Warn("the ledger of this command is in use or cannot be opened; this run remembers its own calls only, and only while it runs", "ledger", c.ledger, "error", err)
	c.ledger = "memory:"
	return c.open(a.stderr, log)
}

// header are the headers that say who the client is.
func (m *mcpCmd) header(c *config) (http.Header, error) {
	h := http.Header{}
	if m.Task != "" {
		h.Set("Agentgw-Task", m.Task)
	}
	switch {
	case len(c.principals) == 0 && m.As == "":
		return h, nil
	case len(c.principals) == 1 && m.As == "":
		h.Set("Agentgw-Key", string(c.principals[0].Secret))
		return h, nil
	}
	if len(c.principals) == 0 {
		return nil, usagef("--as: %s has no principals; leave it out", cmp.Or(m.Config, defaultConfig))
	}
	known := []string{}
	for _, p := range c.principals {
		if p.Name == m.As {
			h.Set("Agentgw-Key", string(p.Secret))
			return h, nil
		}
		known = append(known, p.Name)
	}
	return nil, usagef("say with --as which principal the client is: %s", strings.Join(known, ", "))
}
