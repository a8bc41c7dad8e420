package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// MCPTools asks an MCP server for the definitions of its tools (tools/list, all pages), as they came. No tool is called. It takes at most
// 30 s; a list that cannot be had whole is an error.
func MCPTools(ctx context.Context, server *Upstream) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout) // leaving included
	defer cancel()
	m := NewMCP(MCPOptions{Upstreams: map[string]*Upstream{server.Name: server}})
	defer m.Close()
	s := m.servers[server.Name]
	if s == nil {
		return nil, fmt.Errorf("%s is no MCP server", server.Name)
	}
	defer s.client.leave(ctx)
	var tools []json.RawMessage
	err := s.eachPage(ctx, s.client.ask, nil, func(page *toolPage) {
		for _, t := range page.tools {
			tools = append(tools, t)
		}
	})
	if err != nil {
		return nil, err
	}
	return tools, nil
}

// leave ends the session with the server, where there is one. Whether the server hears of it does not matter.
func (c *mcpClient) leave(ctx context.Context) {
	c.mu.Lock()
	s := c.opened
	c.opened = nil
	c.mu.Unlock()
	if s == nil || s.id == "" {
		return
	}
	if res, err := c.server.wire.do(ctx, ownName, http.MethodDelete, s.header(""), nil); err == nil {
		res.Body.Close()
	}
}
