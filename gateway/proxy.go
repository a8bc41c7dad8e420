package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agentgw"
	"agentgw/policy"

	"github.com/labstack/echo/v4"
)

// proxy is ANY /proxy/{upstream}/{path…}.
func (d *doors) proxy(c echo.Context, who *Principal) error {
	call, refusal := d.proxyCall(c, who)
	if refusal != nil {
		return writeProxied(c, Response{Decision: refusal})
	}
	res := d.Do(c.Request().Context(), call)
	if call.Mode == agentgw.Check {
		return answer(c, res)
	}
	return writeProxied(c, res)
}

// proxyCall makes a call of a proxied request.
func (d *doors) proxyCall(c echo.Context, who *Principal) (*agentgw.Call, *agentgw.Decision) {
	r := c.Request()
	upstream, path, refusal := d.destination(r)
	if refusal != nil {
		return nil, refusal
	}
	if why := smuggles(r, path); why != "" {
		return nil, rejected("%s.", why)
	}
	b, refusal := body(c, d.maxBody)
	if refusal != nil {
		return nil, refusal
	}
	call := &agentgw.Call{Tenant: who.Tenant, Principal: who.Name, Request: &agentgw.Request{Upstream: upstream, Method: r.Method,
		Path: path, Query: r.URL.RawQuery, Header: d.forwarded(r), Body: b}}
	if err := readCallHeaders(r.Header, call); err != nil {
		return nil, rejected("%v.", err)
	}
	if err := d.readArguments(call); err != nil {
		return nil, rejected("%v.", err)
	}
	return call, nil
}

// destination is the upstream and the escaped path below it.
func (d *doors) destination(r *http.Request) (upstream, path string, refusal *agentgw.Decision) {
	upstream, path, _ = strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/proxy/"), "/")
	if u := d.upstreams[upstream]; u == nil || u.URL == nil {
		return "", "", &agentgw.Decision{Verdict: agentgw.Rejected, Reason: reasonNotFound,
			Detail: fmt.Sprintf("There is no HTTP upstream %q: the path begins with /proxy/ and the name of one.", upstream)}
	}
	return upstream, "/" + path, nil
}

// smuggles says what in a request could be read differently by the upstream than by a guard; "" where nothing is.
func smuggles(r *http.Request, path string) string {
	switch r.Method {
	case http.MethodTrace, http.MethodConnect:
		return "The proxy does not carry " + r.Method // TRACE would show the upstream's secret
	}
	if climbs(path) {
		return "The path has a dot segment or a control character: send it as it is meant, without . and .."
	}
	if twiceEscaped.MatchString(path) {
		return "The path has a slash that is escaped twice: send it as it is meant"
	}
	for name, values := range r.Header {
		switch plain := plainName(name); plain {
		case "X-Http-Method-Override", "X-Http-Method", "X-Method-Override":
			if slices.ContainsFunc(values, func(other string) bool { return other != "" && other != r.Method }) {
				return plain + " asks for another method: send the request with the method that is meant"
			}
		}
	}
	if up := r.Header.Get("Upgrade"); up != "" && !strings.EqualFold(up, "h2c") { // h2c is only an offer (RFC 9110, 7.8)
		return "The proxy does not change protocols: send the request without Upgrade"
	}
	return ""
}

// plainName is the name under which careless servers (CGI, WSGI) look for a header: to them _ and - are one.
func plainName(name string) string {
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// twiceEscaped finds a slash or backslash that appears when a path is decoded twice, as chains of servers do.
var twiceEscaped = regexp.MustCompile(`(?i)%(25)+(2f|5c)`)

// forwarded are the headers that the upstream gets: without those of this connection, those that are for us, and our secrets.
func (d *doors) forwarded(r *http.Request) []agentgw.Header {
	lines := make([]agentgw.Header, 0, len(r.Header)+3)
	lines = headerLines(lines, r.Header, func(name string) bool {
		switch name {
		case "Expect", "Content-Length", "Forwarded":
			return true
		case "Accept-Encoding":
			return r.Method != http.MethodGet && r.Method != http.MethodHead // the answer is kept for callers who accept something else
		case "Authorization":
			return slices.ContainsFunc(r.Header[name], func(auth string) bool { return d.keys.bySecret(bearer(auth)) != nil })
		}
		plain := plainName(name)
		return hopByHop(r.Header, name) || strings.HasPrefix(plain, "Agentgw-") || strings.HasPrefix(plain, "X-Forwarded-") ||
			plain == "X-Original-Url" || plain == "X-Rewrite-Url" // some servers take the path from these
	})
	proto := "http"
	if r.TLS != nil {
		proto = "https"
	}
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		peer = "unknown"
	}
	return append(lines, agentgw.Header{Name: "X-Forwarded-For", Value: peer}, agentgw.Header{Name: "X-Forwarded-Host", Value: r.Host},
		agentgw.Header{Name: "X-Forwarded-Proto", Value: proto})
}

// readCallHeaders reads what a caller says about the call itself.
func readCallHeaders(h http.Header, call *agentgw.Call) error {
	mode := ""
	for _, about := range [...]struct {
		name string
		to   *string
	}{{"Idempotency-Key", &call.IdempotencyKey}, {"Agentgw-Task", &call.Context.Task}, {"Agentgw-Run", &call.Context.Run},
		{"Agentgw-Agent", &call.Context.Agent}, {"Agentgw-Call-Id", &call.Context.CallID}, {"Agentgw-Repeat-Token", &call.RepeatToken},
		{"Agentgw-Same-As", &call.SameAs}, {"Agentgw-Mode", &mode}, {"Agentgw-Batch", &call.Batch}} {
		switch values := h[about.name]; len(values) {
		case 0:
		case 1:
			*about.to = values[0]
		default:
			return unreadable(about.name, "is given twice", "send it once")
		}
	}
	var err error
	if call.Mode, err = modeOf(mode); err != nil {
		return at(err, "Agentgw-Mode")
	}
	return nil
}

// readArguments finds who guards a proxied request and reads its arguments. Where nobody does, a body that cannot be read is no matter.
func (d *doors) readArguments(call *agentgw.Call) error {
	req := call.Request
	guards, params, err := d.policy.MatchRoute(req.Method, req.Upstream, req.Path)
	if err != nil {
		return err
	}
	tool, toolParams, err := d.toolOf(req)
	if err != nil && len(guards) == 0 {
		return err
	}
	call.Tool = tool
	if len(guards) == 0 {
		params = toolParams
	}
	call.Arguments, err = Arguments(req, params)
	if err != nil && len(guards) == 0 && tool == "" {
		call.Arguments, err = opaque(req), nil
	}
	return err
}

// toolRoute is the own route of a tool.
type toolRoute struct {
	tool    string
	method  string
	pattern policy.Pattern
}

func toolRoutes(tools map[string]*Tool) map[string][]toolRoute {
	routes := make(map[string][]toolRoute)
	for name, t := range tools {
		path, _, _ := strings.Cut(t.Path, "?")
		if pattern, err := policy.ParsePattern(path); err == nil && path != "" {
			routes[t.Upstream] = append(routes[t.Upstream], toolRoute{name, t.method(), pattern})
		}
	}
	return routes
}

// toolOf finds the tool whose own route a request takes, so that what guards the tool guards the route too. The route with the fewest
// parameters wins; two alike are an error.
func (d *doors) toolOf(req *agentgw.Request) (name string, params map[string]string, err error) {
	least := -1
	for _, route := range d.routes[req.Upstream] {
		if route.method != req.Method {
			continue
		}
		found, ok := route.pattern.Match(req.Path)
		switch holes := len(route.pattern.Params()); {
		case !ok || least >= 0 && holes > least:
		case holes == least:
			err = unreadable(req.Path, "is the route of more than one tool, "+name+" and "+route.tool, "call the one that is meant by its name")
		default:
			name, params, least, err = route.tool, found, holes, nil
		}
	}
	if err != nil {
		return "", nil, err
	}
	return name, params, nil
}

// writeProxied writes the tool's answer as it came, or a refusal.
func writeProxied(c echo.Context, res Response) error {
	d := res.Decision
	h := c.Response().Header()
	switch {
	case d.Answer != nil && (d.Verdict.Sent() || d.Verdict == agentgw.Replayed):
		return writeAnswer(c, res)
	case d.Verdict == agentgw.Replayed:
		mark(h, d, http.StatusOK)
		h.Set("Agentgw-Answer", "none")
		return c.NoContent(http.StatusOK)
	}
	code := proxyStatus(d)
	v := newView(res)
	v.problem(d, code)
	mark(h, d, code)
	return writeJSON(c, code, "application/problem+json", v)
}

func writeAnswer(c echo.Context, res Response) error {
	a, w := res.Answer, c.Response()
	h := w.Header()
	h["Content-Type"] = nil // net/http would guess one
	addLines(h, a.Header)
	addLines(h, res.Live)
	mark(h, res.Decision, 0)
	for _, line := range a.Trailer {
		h.Add(http.TrailerPrefix+line.Name, line.Value)
	}
	head := c.Request().Method == http.MethodHead
	if res.Rest == nil && !head && a.Status != http.StatusNotModified && a.Status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	if len(a.Trailer) > 0 {
		h.Del("Content-Length")
	}
	w.WriteHeader(a.Status)
	if res.Rest != nil {
		defer res.Rest.Close()
	}
	if head || a.Status == http.StatusNotModified || a.Status == http.StatusNoContent {
		return nil
	}
	if _, err := w.Write(a.Body); err != nil || res.Rest == nil {
		return nil // the caller has left; the outcome is on record
	}
	copyRest(w, res.Rest)
	return nil
}

// addLines adds lines to a header. The values of names that it does not have yet are parts of one slice.
func addLines(h http.Header, lines []agentgw.Header) {
	values := make([]string, 0, len(lines))
	for _, line := range lines {
		name := http.CanonicalHeaderKey(line.Name)
		if there := h[name]; len(there) > 0 {
			h[name] = append(there, line.Value)
			continue
		}
		values = append(values, line.Value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
}

// copyRest passes on what follows a large answer, or events as they come. If it breaks off, so does the connection to the caller, who
// could not tell a cut answer from a whole one otherwise.
func copyRest(w *echo.Response, rest io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := rest.Read(buf)
		if n > 0 {
			if _, gone := w.Write(buf[:n]); gone != nil {
				return
			}
			w.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
