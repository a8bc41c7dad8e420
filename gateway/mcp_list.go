package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// listServer is tools/list at the door of one server: its definitions, byte for byte, and callTool behind the last one where some of the
// tools can be repeated or be similar.
func (d *doors) listServer(m *mcpRequest, s *mcpServer) {
	reply, err := s.exchange(m.http.Context(), turn{who: label(m.who), header: d.header(m.http), body: m.raw, emit: m.out.emit})
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
	d.mcp.learn(s, reply.result)
	last := memberOf(reply.result, "nextCursor")
	if (last == nil || string(last) == "null") && d.offersCall(s) {
		m.out.answer(reply.status, reply.eventID, respondRPC(m.id, "result", appendTool(reply.result, callToolDefinition())))
		return
	}
	m.out.answer(reply.status, reply.eventID, reply.body)
}

// offersCall reports whether some tool of a server can be repeated or be similar, and none has callTool's name.
func (d *doors) offersCall(s *mcpServer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools[callTool] != nil {
		return false
	}
	for _, t := range s.tools {
		if d.repeats(t.tool) {
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
