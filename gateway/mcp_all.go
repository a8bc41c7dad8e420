package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"agentgw/canonicalize"

	"github.com/labstack/echo/v4"
)

// mcpDoor is ANY /mcp: a server of the gateway's own, with the tools of the configuration and of all MCP servers. It speaks every
// revision, whatever the servers behind it speak. What is not tools (prompts, resources, sampling) is to be had at /mcp/{upstream}.
func (d *doors) mcpDoor(c echo.Context, who *Principal) error {
	if c.Request().Method != http.MethodPost {
		return notAllowed(c, "POST") // no session to resume or to end
	}
	m, ok := d.readMCP(c, who)
	if !ok {
		return nil
	}
	if !m.request() {
		return c.NoContent(http.StatusAccepted)
	}
	if err := m.known(); err != nil {
		m.out.fail(m.id, http.StatusBadRequest, err)
		return nil
	}
	switch {
	case m.method == "tools/call":
		d.callAny(m)
	case m.method == "tools/list":
		d.listAny(m)
	case m.method == "server/discover" && m.stateless():
		m.result(map[string]any{"supportedVersions": append([]string{revisionStateless}, olderRevisions...), "capabilities": toolsOnly, "instructions": instructions})
	case m.method == "initialize" && !m.stateless():
		m.result(map[string]any{"protocolVersion": m.agree(), "capabilities": toolsOnly, "serverInfo": json.RawMessage(clientInfo), "instructions": instructions})
	case m.method == "ping" && !m.stateless():
		m.result(map[string]any{})
	default:
		status := http.StatusOK
		if m.stateless() {
			status = http.StatusNotFound
		}
		m.out.fail(m.id, status, &rpcError{code: codeNoMethod, message: "There is no method " + m.method + " here; what a server offers beside tools is to be had at /mcp/{upstream}."})
	}
	return nil
}

const instructions = "Calls with side effects happen once: a repeated call gets the first answer. A refused call says what to do next."

var toolsOnly = map[string]any{"tools": map[string]any{}}

func (m *mcpRequest) stateless() bool { return m.revision == revisionStateless }

// known refuses revisions that are not spoken here, and stateless requests that do not say what they must (2026-07-28, Requests).
func (m *mcpRequest) known() *rpcError {
	switch {
	case m.method == "initialize" && !m.stateless() || m.revision == "" || slices.Contains(olderRevisions, m.revision):
		return nil
	case !m.stateless():
		data, _ := json.Marshal(map[string]any{"supported": append([]string{revisionStateless}, olderRevisions...), "requested": m.revision})
		return &rpcError{code: codeVersion, message: "This revision of MCP is not spoken here.", data: string(data)}
	}
	meta, _ := m.params.Member("_meta")
	if can, ok := meta.Member(metaCapabilities); m.meta(metaVersion) == "" || !ok || can.Kind != canonicalize.Object {
		return &rpcError{code: codeInvalidParams, message: "params._meta must hold " + metaVersion + " and " + metaCapabilities + "."}
	}
	return nil
}

// agree is the revision of a session: the client's where it is known here, else the latest.
func (m *mcpRequest) agree() string {
	v, _ := m.params.Member("protocolVersion")
	if slices.Contains(olderRevisions, v.Text) {
		return v.Text
	}
	return revisionSessions
}

// result writes a result of the gateway's own.
func (m *mcpRequest) result(v map[string]any) {
	if m.stateless() {
		v["resultType"] = "complete"
		meta, _ := v["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/serverInfo"] = json.RawMessage(clientInfo)
		v["_meta"] = meta
		if m.method != "tools/call" {
			v["ttlMs"], v["cacheScope"] = 0, "private"
		}
	}
	m.out.answer(http.StatusOK, "", respondRPC(m.id, "result", compact(v)))
}

// callAny is tools/call at the door of all servers.
func (d *doors) callAny(m *mcpRequest) {
	call, link, wrong := d.readToolCall(m)
	if wrong != nil {
		m.out.fail(m.id, http.StatusBadRequest, wrong)
		return
	}
	link.turn = turn{emit: m.out.emit}
	link.meta = callersMeta(link.meta)
	if call.Tool == callTool && d.tools[callTool] == nil {
		d.callNatively(m, nil, call, link)
		return
	}
	if link.tool = d.toolNamed(call.Tool); link.tool == nil {
		m.out.fail(m.id, http.StatusOK, &rpcError{code: codeInvalidParams, message: noTool(call.Tool, d.shownNames(m.who), d.mcp)})
		return
	}
	call.Tool = link.tool.Name
	d.finishCall(m, link, call.Mode, d.carry(m.http.Context(), call, link))
}

// callersMeta is a _meta without what belongs to the protocol between the caller and this gateway.
func callersMeta(meta []byte) []byte {
	all, err := membersOf(meta)
	if err != nil {
		return nil
	}
	out := []byte("{}")
	for _, m := range slices.Backward(all) {
		if !slices.Contains([]string{metaVersion, metaCapabilities, metaClient, "io.modelcontextprotocol/logLevel"}, m.name) {
			out = setMember(out, m.name, meta[m.start:m.end])
		}
	}
	return out
}

// toolNamed is a tool by one of its names at the door of all servers.
func (d *doors) toolNamed(name string) *Tool {
	if t := d.tools[name]; t != nil {
		return t
	}
	return d.mcp.find(name)
}

// listAll are the definitions of all tools, each server's as they came but for a name that clashes.
func (d *doors) listAll(m *mcpRequest) []json.RawMessage {
	if d.mcp != nil {
		d.mcp.Refresh(context.WithoutCancel(m.http.Context()))
	}
	list := []json.RawMessage{}
	for _, t := range d.offered(m.who) {
		if t.remote == "" {
			list = append(list, compact(formats["mcp"](t, schemaOf(t))))
			continue
		}
		raw := d.mcp.servers[t.Upstream].definition(t.remote)
		if shown := d.mcp.shownName(t); shown != t.remote {
			raw = setMember(raw, "name", quoted(shown))
		}
		list = append(list, raw)
	}
	return list
}

// shownNames are the names of the tools that a principal is shown at the door of all servers.
func (d *doors) shownNames(who *Principal) (names []string) {
	for _, t := range d.offered(who) {
		if t.remote == "" {
			names = append(names, t.Name)
		} else {
			names = append(names, d.mcp.shownName(t))
		}
	}
	return names
}

// shownName is a tool's name at the door of all servers: its own, or server_tool on a clash.
func (m *MCP) shownName(t *Tool) string {
	if m.Tools[t.remote] != nil || t.remote == callTool || m.names.clashes(t.remote) {
		return t.Upstream + "_" + t.remote
	}
	return t.remote
}
