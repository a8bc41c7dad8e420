package gateway

import (
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"agentgw"
	"agentgw/canonicalize"

	"github.com/labstack/echo/v4"
)

// The MCP door carries messages, not types: what it does not have to read passes byte for byte. It reads tools/call, which is judged
// like a call at any other door, and tools/list, from which it learns what the tools are.

// mcpRequest is one message of a client, with who sent it and how it wants its answer.
type mcpRequest struct {
	*rpc
	who      *Principal
	http     *http.Request
	out      *mcpWriter
	revision string // as the message says, or its header; "" where neither does
}

// mcpServerDoor is ANY /mcp/{upstream}: one server, as it is.
func (d *doors) mcpServerDoor(c echo.Context, who *Principal) error {
	var s *mcpServer
	if d.mcp != nil {
		s = d.mcp.servers[c.Param("upstream")]
	}
	if s == nil {
		return refuse(c, &agentgw.Decision{Verdict: agentgw.Rejected, Reason: reasonNotFound,
			Detail: "There is no MCP upstream " + strconv.Quote(c.Param("upstream")) + "."})
	}
	switch c.Request().Method {
	case http.MethodDelete:
		if d.endsLater(c.Response(), c.Request(), s, who) {
			return nil
		}
		return d.relay(c, s, who, nil)
	case http.MethodGet:
		return d.relay(c, s, who, nil)
	case http.MethodPost:
	default:
		return notAllowed(c, "GET, POST, DELETE")
	}
	m, ok := d.readMCP(c, who)
	if !ok {
		return nil
	}
	session := sessionOf(s, who, c.Request().Header)
	switch {
	case m.request() && m.method == "tools/call":
		d.callServer(m, s)
		return nil
	case m.request() && m.method == "tools/list":
		d.listServer(m, s)
		return nil
	case m.request():
		defer d.underway.stoppable(requestKey{session, m.id})()
	case m.method == "notifications/cancelled" && !d.underway.mayStop(requestKey{session, m.cancels()}):
		return c.NoContent(http.StatusAccepted)
	}
	return d.relay(c, s, who, m.raw)
}

// cancels is the id of the request that a message cancels, as JSON text.
func (m *rpc) cancels() string {
	id, _ := m.params.Member("requestId")
	return id.Raw()
}

// notAllowed refuses a method where only these are to be had.
func notAllowed(c echo.Context, methods string) error {
	c.Response().Header().Set("Allow", methods)
	return c.NoContent(http.StatusMethodNotAllowed)
}

// readMCP reads a message; where it cannot be taken, that is answered and ok is false.
func (d *doors) readMCP(c echo.Context, who *Principal) (m *mcpRequest, ok bool) {
	out := newMCPWriter(c.Response(), c.Request())
	b, refusal := body(c, d.maxBody)
	if refusal != nil {
		out.fail("", http.StatusRequestEntityTooLarge, &rpcError{code: codeInvalidRequest, message: detail(refusal)})
		return nil, false
	}
	msg, err := readRPC(b)
	var wrong *rpcError
	if errors.As(err, &wrong) {
		out.fail("", http.StatusBadRequest, wrong)
		return nil, false
	}
	m = &mcpRequest{rpc: msg, who: who, http: c.Request(), out: out}
	m.revision = m.meta(metaVersion)
	if m.revision == "" {
		m.revision = c.Request().Header.Get("Mcp-Protocol-Version")
	}
	if d.tellsSecret(msg) {
		out.fail(m.id, http.StatusBadRequest, &rpcError{code: codeInvalidParams, message: "params._meta holds a principal's secret: send it as Authorization or Agentgw-Key, and nowhere else."})
		return nil, false
	}
	if err := m.agrees(); err != nil {
		out.fail(m.id, http.StatusBadRequest, err)
		return nil, false
	}
	return m, true
}

// agrees checks that the headers say what the message says: who looks at one of them only must not be misled (MCP 2026-07-28,
// Streamable HTTP). Revisions before that have no such headers; where they come all the same, they must be right too.
func (m *mcpRequest) agrees() *rpcError {
	h := m.http.Header
	needed := m.revision == revisionStateless && m.method != ""
	for _, it := range []struct {
		header, body string
		needed       bool
	}{
		{"Mcp-Protocol-Version", m.meta(metaVersion), needed && m.meta(metaVersion) != ""},
		{"Mcp-Method", m.method, needed},
		{"Mcp-Name", m.subject(), needed && m.subject() != ""},
	} {
		values := h.Values(it.header)
		if len(values) == 0 && !it.needed || it.body == "" {
			continue
		}
		if len(values) != 1 || plainHeader(values[0]) != it.body {
			return &rpcError{code: codeHeaderMismatch, message: "The header " + it.header + " does not say what the message says."}
		}
	}
	return nil
}

// subject is what Mcp-Name repeats.
func (m *rpc) subject() string {
	name := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.method]
	v, _ := m.params.Member(name)
	if v.Kind != canonicalize.String {
		return ""
	}
	return v.Text
}

// plainHeader decodes =?base64?…?=, the form of texts that cannot stand in a header.
func plainHeader(value string) string {
	text, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text, "?="))
	if err != nil {
		return value
	}
	return string(b)
}

// headerText is the counterpart of plainHeader.
func headerText(text string) string {
	odd := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if odd || text != strings.TrimSpace(text) || strings.HasPrefix(text, "=?base64?") {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
	}
	return text
}

// asMCP finds out who calls, and keeps out pages that had their name re-bound to this machine (DNS rebinding; MCP demands the check of
// Origin).
func (d *doors) asMCP(h func(c echo.Context, who *Principal) error) echo.HandlerFunc {
	checked := d.keys.as(h)
	return func(c echo.Context) error {
		if why := rebound(c.Request()); why != "" {
			return c.JSON(http.StatusForbidden, map[string]any{"jsonrpc": "2.0", "id": nil,
				"error": map[string]any{"code": codeInvalidRequest, "message": why}})
		}
		return checked(c)
	}
}

// rebound says why a request may come from a page that should not reach this door; "" where it may not.
func rebound(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil {
		if host, _, err := net.SplitHostPort(local.String()); err == nil && loopback(host) && !loopback(hostname(r.Host)) {
			return "The Host header must name this machine (127.0.0.1 or localhost)."
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return ""
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Hostname(), hostname(r.Host)) && !(loopback(u.Hostname()) && loopback(hostname(r.Host))) {
		return "Pages of other origins may not call."
	}
	return ""
}

// header are the headers for a server: the caller's, without what is for the gateway.
func (d *doors) header(r *http.Request) http.Header {
	h := http.Header{}
	for _, line := range d.forwarded(r) {
		h[line.Name] = append(h[line.Name], line.Value)
	}
	return h
}

// relay passes a request to a server and its answer back, as they come.
func (d *doors) relay(c echo.Context, s *mcpServer, who *Principal, message []byte) error {
	r := c.Request()
	res, err := s.wire.do(r.Context(), label(who), r.Method, d.header(r), message)
	if err != nil {
		s.log.Warn("the server cannot be reached", "error", err)
		if id := memberOf(message, "id"); id != nil && memberOf(message, "method") != nil { // clients show the words of such an answer only
			newMCPWriter(c.Response(), r).fail(string(id), http.StatusOK, &rpcError{code: codeInternal, message: s.away(err)})
			return nil
		}
		return refuse(c, &agentgw.Decision{Verdict: agentgw.Unavailable, Detail: s.away(err)})
	}
	defer res.Body.Close()
	kept, live := endToEnd(res.Header)
	h := c.Response().Header()
	h["Content-Type"] = nil
	for _, line := range append(kept, live...) {
		h[line.Name] = append(h[line.Name], line.Value)
	}
	c.Response().WriteHeader(res.StatusCode)
	c.Response().Flush()
	copyRest(c.Response(), res.Body)
	return nil
}

func label(who *Principal) string { return who.Tenant + "/" + who.Name }
