package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"agentgw/canonicalize"
)

// listServer is tools/list at the door of one server: its definitions, byte for byte, without those that the principal may not use, and
// callTool behind the last one where some of the others can be repeated or be similar.
func (d *doors) listServer(m *mcpRequest, s *mcpServer) {
	t := turn{who: label(m.who), header: d.header(m.http), body: m.raw, emit: m.out.emit}
	reply, err := s.exchange(m.http.Context(), t)
	if err != nil {
		s.log.Warn("its tools cannot be listed", "error", err)
		m.out.fail(m.id, http.StatusOK, &rpcError{code: codeInternal, message: s.away(err)})
		return
	}
	m.out.stream = m.out.stream || reply.streamed()
	if reply.result == nil {
		m.out.show(m.id, reply)
		return
	}
	page := readToolPage(reply.result)
	if page == nil {
		m.out.show(m.id, reply)
		return
	}
	d.mcp.learnPage(m, s, t, page)
	result := d.usable(m.who, s, page)
	if page.next == nil && d.offersCall(s, m.who) {
		result = page.with(result, callToolDefinition())
	}
	if result == nil {
		m.out.answer(reply.status, reply.eventID, reply.body)
		return
	}
	m.out.answer(reply.status, reply.eventID, respondRPC(m.id, "result", result))
}

// learnPage learns and reviews what a client was shown. The tools of a server that gives them in pages are asked for as a whole once, so
// that there is something to compare pages with.
func (m *MCP) learnPage(r *mcpRequest, s *mcpServer, t turn, page *toolPage) {
	sums := m.learn(s, page)
	cursor, _ := r.params.Member("cursor")
	if cursor.Kind == canonicalize.Null && page.next == nil {
		m.review(s, sums, true)
		return
	}
	if approved, err := m.Approvals.Of(s.name); approved == nil && err == nil && s.askable() {
		m.listAs(r.http.Context(), s, t)
	}
	m.review(s, sums, false)
}

// usable takes the tools that a principal may not use out of a page. nil: it may use all.
func (d *doors) usable(who *Principal, s *mcpServer, page *toolPage) (result []byte) {
	if len(who.Operations) == 0 {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(page.tools), func(raw []byte) bool {
		var name string
		return json.Unmarshal(memberOf(raw, "name"), &name) == nil && !d.mayUse(who, &Tool{Name: d.mcp.guardName(s, name)})
	})
	if len(kept) == len(page.tools) {
		return nil
	}
	list := slices.Concat([]byte("["), bytes.Join(kept, []byte(",")), []byte("]"))
	result = splice(page.result, page.start, page.end, list)
	page.tools, page.end = kept, page.start+len(list)
	return result
}

// offersCall reports whether some tool of a server that a principal may use can be repeated or be similar, and none has callTool's name.
func (d *doors) offersCall(s *mcpServer, who *Principal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools[callTool] != nil {
		return false
	}
	for _, t := range s.tools {
		if d.mayUse(who, t.tool) && d.repeats(t.tool) {
			return true
		}
	}
	return false
}

func callToolDefinition() []byte {
	return compact(formats["mcp"](&Tool{Name: callTool, Description: callToolDescription}, callToolInput))
}
