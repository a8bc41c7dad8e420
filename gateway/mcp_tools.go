package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agentgw"
	"agentgw/policy"
)

const (
	maxSchema  = 256 << 10        // a longer definition of a tool is shown as it came, but its schema is not read
	relistable = 10 * time.Second // a server is asked for an unknown tool at most so often
)

// remoteTool is a tool of an MCP server.
type remoteTool struct {
	server *mcpServer
	name   string // at the server
	raw    []byte // its definition as it came
	sum    string // SHA-256 of its definition
	tool   *Tool  // under the name by which it is guarded
}

// toolNames finds remote tools by the names under which they are guarded, and by their plain names where only one has it.
type toolNames struct {
	mu     sync.RWMutex
	guards map[string]*remoteTool
	plain  map[string]map[string]*remoteTool // by the tool's own name, then by server
}

func (n *toolNames) find(name string) *remoteTool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if t := n.guards[name]; t != nil {
		return t
	}
	if len(n.plain[name]) == 1 {
		for _, t := range n.plain[name] {
			return t
		}
	}
	return nil
}

func (n *toolNames) add(t *remoteTool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.guards == nil {
		n.guards, n.plain = map[string]*remoteTool{}, map[string]map[string]*remoteTool{}
	}
	n.guards[t.tool.Name] = t
	if n.plain[t.name] == nil {
		n.plain[t.name] = map[string]*remoteTool{}
	}
	n.plain[t.name][t.server.name] = t
}

// clashes reports whether more than one server has a tool of that name.
func (n *toolNames) clashes(name string) bool { return len(n.servers(name)) > 1 }

// servers are those that have a tool of that name.
func (n *toolNames) servers(name string) []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Sorted(maps.Keys(n.plain[name]))
}

// vague says what is wrong with a policy that guards a tool by its own name where several servers have one: the same call to two of them
// would be one effect, and the second would be swallowed. nil: it is clear.
func (m *MCP) vague(t *Tool) *agentgw.Decision {
	if m == nil || t == nil || t.remote == "" || t.Name != t.remote {
		return nil
	}
	servers := m.names.servers(t.Name)
	if !slices.Contains(servers, t.Upstream) { // which does not list it, or has not been heard: it may have it all the same
		servers = append(servers, t.Upstream)
	}
	if len(servers) < 2 {
		return nil
	}
	return rejected("%s is a tool of %s, and the policy does not say whose it means. Nothing was sent; ask an operator to name it %[3]s_%[1]s in the policy, and that of each other server likewise.",
		t.Name, strings.Join(servers, " and of "), servers[0])
}

// guardName is the name under which a tool of a server is guarded. It hangs on the configuration and the policies alone, so that no
// server can take a guard away by what it offers: server_tool where a policy says so, tool where a policy says that or there is one
// server only, else server_tool.
func (m *MCP) guardName(s *mcpServer, tool string) string {
	long := s.name + "_" + tool
	own := m.Tools[tool] != nil
	switch {
	case guarded(m.Policy, long):
		return long
	case !own && (guarded(m.Policy, tool) || len(m.servers) == 1):
		return tool
	}
	return long
}

func guarded(p *policy.Policy, tool string) bool { return p != nil && len(guardsOf(p, tool)) > 0 }

// learn remembers the tools of a page, and returns their sums.
func (m *MCP) learn(s *mcpServer, page *toolPage) ToolSums {
	sums := make(ToolSums, len(page.tools))
	for _, raw := range page.tools {
		var def struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
			Annotations struct {
				ReadOnly bool `json:"readOnlyHint"`
			} `json:"annotations"`
		}
		if json.Unmarshal(raw, &def) != nil || def.Name == "" {
			continue
		}
		if old := s.tool(def.Name); old != nil && bytes.Equal(old.raw, raw) {
			sums.add(def.Name, old.sum)
			continue
		}
		if len(raw) > maxSchema {
			def.InputSchema = nil
		}
		t := &remoteTool{server: s, name: def.Name, raw: slices.Clone(raw), sum: toolSum(raw)}
		t.tool = &Tool{Name: m.guardName(s, def.Name), Upstream: s.name, Description: def.Description,
			Input: slices.Clone(def.InputSchema), ReadOnly: def.Annotations.ReadOnly, remote: def.Name}
		m.remember(t)
		sums.add(t.name, t.sum)
	}
	return sums
}

// remember keeps a tool that is new, or not as it was. A server that has no end of tools must not take all memory.
func (m *MCP) remember(t *remoteTool) {
	s := t.server
	s.mu.Lock()
	old := s.tools[t.name]
	size := s.size + len(t.raw)
	if old != nil {
		size -= len(old.raw)
	}
	fits := size <= maxMessage && (old != nil || len(s.tools) < maxTools)
	first := !fits && !s.full
	if fits {
		s.tools[t.name], s.size = t, size
	} else {
		s.full = true
	}
	s.mu.Unlock()
	if first {
		s.log.Warn("it offers more tools than are remembered: the others are guarded as tools that may do anything", "tools", maxTools, "bytes", maxMessage)
	}
	if fits {
		s.log.Info("tool", "tool", t.name, "guarded_as", t.tool.Name, "read_only", t.tool.ReadOnly, "sha256", t.sum)
		m.names.add(t)
	}
}

// tool is a known tool, nil where it is not known.
func (s *mcpServer) tool(name string) *remoteTool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[name]
}

// tools are the known tools of all servers, by server and name.
func (m *MCP) tools() (all []*Tool) {
	if m == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		s := m.servers[name]
		s.mu.Lock()
		for _, tool := range slices.Sorted(maps.Keys(s.tools)) {
			all = append(all, s.tools[tool].tool)
		}
		s.mu.Unlock()
	}
	return all
}

// definition is a tool's definition as it came.
func (s *mcpServer) definition(tool string) []byte { return s.tool(tool).raw }

// toolAt is the tool of a server, asked for through the caller's own session where it is not known yet. One that the server does not
// list is guarded as well: as a tool that may do anything.
func (m *MCP) toolAt(ctx context.Context, s *mcpServer, name string, t turn) *Tool {
	known := s.tool(name)
	if known == nil && s.askable() {
		m.listAs(ctx, s, t)
		known = s.tool(name)
	}
	if known == nil {
		return &Tool{Name: m.guardName(s, name), Upstream: s.name, remote: name}
	}
	return known.tool
}

// listAs asks for all tools through the session of a caller's request.
func (m *MCP) listAs(ctx context.Context, s *mcpServer, like turn) error {
	return m.list(context.WithoutCancel(ctx), s, func(ctx context.Context, message []byte) (*mcpReply, error) {
		t := turn{who: like.who, header: like.header.Clone(), body: message}
		t.header.Del("Mcp-Name")
		if t.header.Get("Mcp-Method") != "" {
			t.header.Set("Mcp-Method", "tools/list")
		}
		return s.exchange(ctx, t)
	}, like.body)
}

// list asks for all tools, learns them and reviews them. like is a message whose protocol _meta is used for the requests; nil for none.
func (m *MCP) list(ctx context.Context, s *mcpServer, ask asker, like []byte) error {
	sums := ToolSums{}
	err := s.eachPage(ctx, ask, like, func(page *toolPage) {
		for tool, sum := range m.learn(s, page) {
			sums.add(tool, sum)
		}
	})
	if err == nil || errors.Is(err, errEndless) {
		m.review(s, sums, err == nil)
	}
	return err
}

// Refresh asks every server for its tools through the gateway's own connections. What is not as it was approved is raised.
func (m *MCP) Refresh(ctx context.Context) {
	var all sync.WaitGroup
	for _, s := range m.servers {
		all.Go(func() {
			err := m.list(ctx, s, s.client.ask, nil)
			if err != nil {
				s.log.Warn("its tools cannot be listed", "error", err)
			}
			s.mu.Lock()
			s.unlisted = err
			s.mu.Unlock()
		})
	}
	all.Wait()
}

// find is a remote tool by name, asking the servers where it is not known. nil where there is none.
func (m *MCP) find(name string) *Tool {
	if m == nil || len(m.servers) == 0 {
		return nil
	}
	t := m.known(name)
	if t == nil && m.askable() {
		m.Refresh(context.Background())
		t = m.known(name)
	}
	if t == nil {
		return nil
	}
	return t.tool
}

// known is a remote tool by the name under which it is guarded, by its plain name where one server has it, or as server_tool.
func (m *MCP) known(name string) *remoteTool {
	if t := m.names.find(name); t != nil {
		return t
	}
	for _, s := range m.servers {
		if plain, ok := strings.CutPrefix(name, s.name+"_"); ok {
			if t := s.tool(plain); t != nil {
				return t
			}
		}
	}
	return nil
}

// askable reports whether some server was not asked for a while, and counts that as asking.
func (m *MCP) askable() (yes bool) {
	for _, s := range m.servers {
		yes = s.askable() || yes
	}
	return yes
}

// askable reports whether a server was not asked for all its tools for a while, and counts that as asking.
func (s *mcpServer) askable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.listed) < relistable {
		return false
	}
	s.listed = time.Now()
	return true
}
