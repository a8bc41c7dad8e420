package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const surveyTimeout = 30 * time.Second

// MCPTools asks an MCP server for the definitions of its tools (tools/list, all pages), as they came. No tool is called. It takes at most
// 30 s; a list that cannot be had whole is an error.
func MCPTools(ctx context.Context, server *Upstream) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	m := NewMCP(MCPOptions{Upstreams: map[string]*Upstream{server.Name: server}})
	defer m.Close()
	s := m.servers[server.Name]
	if s == nil {
		return nil, fmt.Errorf("%s is no MCP server", server.Name)
	}
	defer s.client.leave(ctx)
	var tools []json.RawMessage
	cursor := []byte(nil)
	for range maxPages {
		page, err := s.client.toolsPage(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, t := range page.tools {
			tools = append(tools, t)
		}
		if cursor = page.next; cursor == nil {
			return tools, nil
		}
		if len(tools) > maxTools {
			break
		}
	}
	return nil, fmt.Errorf("its list of tools has no end: %d so far", len(tools))
}

// toolsPage is one page of tools/list.
func (c *mcpClient) toolsPage(ctx context.Context, cursor []byte) (page *toolPage, err error) {
	params := []byte("{}")
	if cursor != nil {
		params = setMember(params, "cursor", cursor)
	}
	reply, err := c.ask(ctx, setMember([]byte(`{"jsonrpc":"2.0","id":`+newID()+`,"method":"tools/list"}`), "params", params))
	switch {
	case err != nil:
		return nil, err
	case reply.failure != nil:
		return nil, fmt.Errorf("tools/list is refused: %s", c.server.said(reply.failure))
	case reply.result == nil:
		return nil, fmt.Errorf("tools/list is answered with status %d: %s", reply.status, c.server.said(reply.body))
	}
	if page = readToolPage(reply.result); page == nil {
		return nil, errors.New("the result of tools/list has no list of tools")
	}
	return page, nil
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
