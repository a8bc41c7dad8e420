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
		m.out.fail(m.id, http.StatusBadGateway, &rpcError{code: codeInternal, message: "The MCP server " + s.name + " does not answer. Try again later."})
		return
	}
	m.out.stream = m.out.stream || reply.streamed()
	if reply.result == nil {
		m.out.show(m.id, reply)
		return
	}
	d.mcp.learnPage(m, s, t, reply.result)
	result, changed := d.usable(m.who, s, reply.result)
	if nextCursor(reply.result) == nil && d.offersCall(s, m.who) {
		result, changed = appendTool(result, callToolDefinition()), true
	}
	if !changed {
		m.out.answer(reply.status, reply.eventID, reply.body)
		return
	}
	m.out.answer(reply.status, reply.eventID, respondRPC(m.id, "result", result))
}

// learnPage learns and reviews what a client was shown. The tools of a server that gives them in pages are asked for as a whole once, so
// that there is something to compare pages with.
func (m *MCP) learnPage(r *mcpRequest, s *mcpServer, t turn, result []byte) {
	sums := m.learn(s, result)
	cursor, _ := r.params.Member("cursor")
	if cursor.Kind == canonicalize.Null && nextCursor(result) == nil {
		m.review(s, sums, true)
		return
	}
	if approved, err := m.Approvals.Of(s.name); approved == nil && err == nil && s.askable() {
		m.listAs(r.http.Context(), s, t)
	}
	m.review(s, sums, false)
}

// usable is a result of tools/list without the tools that a principal may not use. Where it may use all, it is the result as it came.
func (d *doors) usable(who *Principal, s *mcpServer, result []byte) (usable []byte, changed bool) {
	items, err := itemsOf(memberOf(result, "tools"))
	if err != nil || len(who.Operations) == 0 {
		return result, false
	}
	kept := slices.DeleteFunc(slices.Clone(items), func(raw []byte) bool {
		var name string
		return json.Unmarshal(memberOf(raw, "name"), &name) == nil && !d.mayUse(who, &Tool{Name: d.mcp.guardName(s, name)})
	})
	if len(kept) == len(items) {
		return result, false
	}
	return setMember(result, "tools", slices.Concat([]byte("["), bytes.Join(kept, []byte(",")), []byte("]"))), true
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

func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(v) // of our own types, which can be encoded
	return bytes.TrimSpace(b.Bytes())
}

// appendTool puts a definition behind the others of a result of tools/list.
func appendTool(result, definition []byte) []byte {
	list := memberOf(result, "tools")
	if list == nil {
		return result
	}
	if items, err := itemsOf(list); err != nil {
		return result
	} else if len(items) > 0 {
		definition = append([]byte(","), definition...)
	}
	end := len(list) - 1
	return setMember(result, "tools", splice(list, end, end, definition))
}
