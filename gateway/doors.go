package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"agentgw"
	"agentgw/policy"

	"github.com/labstack/echo/v4"
)

const (
	defaultMaxBody = 8 << 20
	maxTrusted     = 64 << 10 // bytes of a body for which memory is taken before they have come
)

// DoorConfig is what the agents' listener needs beside the gateway.
type DoorConfig struct {
	Principals Principals // none: callers of this machine only, all of one tenant "default"
	MaxBody    int64      // bytes of a request; 0: 8 MiB
}

// flow is what the doors need of a Gateway.
type flow interface {
	Do(ctx context.Context, call *agentgw.Call) Response
	Begin(ctx context.Context, call *agentgw.Call) *agentgw.Decision
	Renew(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64) (*agentgw.Effect, error)
	Complete(ctx context.Context, tenant string, id agentgw.EffectID, fence uint64, res agentgw.Result) (*agentgw.Effect, error)
	Effect(ctx context.Context, tenant string, id agentgw.EffectID) (*agentgw.Effect, error)
}

// doors are the handlers of the agents' listener: thin skins over Do.
type doors struct {
	flow
	policy    *policy.Policy
	tools     map[string]*Tool
	upstreams map[string]*Upstream
	routes    map[string][]toolRoute // of the tools, by upstream
	keys      *keyring
	maxBody   int64
	unmatched string
	mcp       *MCP // nil: no MCP servers
	underway  underway
	carry     func(ctx context.Context, call *agentgw.Call, link *mcpLink) Response
}

// Doors is the agents' listener: native calls, begin and complete, the proxy, MCP, tool calls as models write them, and the
// list of tools.
func (g *Gateway) Doors(cfg DoorConfig) http.Handler {
	d := newDoors(g, g.Options, cfg)
	d.carry = g.carry
	return d.handler()
}

func newDoors(f flow, o Options, cfg DoorConfig) *doors {
	d := &doors{flow: f, policy: o.Policy, tools: o.Tools, upstreams: o.Upstreams, routes: toolRoutes(o.Tools),
		keys: newKeyring(cfg.Principals), maxBody: cfg.MaxBody, unmatched: o.Unmatched, mcp: o.MCP}
	if d.maxBody <= 0 {
		d.maxBody = defaultMaxBody
	}
	return d
}

func (d *doors) handler() http.Handler {
	e := newEcho()
	e.POST("/v1/calls", d.keys.as(d.call))
	e.POST("/v1/effects", d.keys.as(d.begin))
	e.GET("/v1/effects/:id", d.keys.as(d.effect))
	e.PUT("/v1/effects/:id/lease", d.keys.as(d.renew))
	e.PUT("/v1/effects/:id/outcome", d.keys.as(d.complete))
	e.POST("/v1/openai/tool_calls", d.keys.as(d.openAI))
	e.POST("/v1/anthropic/tool_uses", d.keys.as(d.anthropic))
	e.GET("/v1/tools", d.keys.as(d.listTools))
	e.Any("/mcp", d.asMCP(d.mcpDoor))
	e.Any("/mcp/:upstream", d.asMCP(d.mcpServerDoor))
	e.Any("/proxy/:upstream", d.keys.as(d.proxy))
	e.Any("/proxy/:upstream/*", d.keys.as(d.proxy))
	return e
}

// newEcho is a router whose own refusals look like ours.
func newEcho() *echo.Echo {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if c.Response().Committed {
			return
		}
		var routing *echo.HTTPError
		status := http.StatusInternalServerError
		if errors.As(err, &routing) {
			status = routing.Code
		}
		c.Response().Header().Set("x-should-retry", "false")
		writeJSON(c, status, "application/problem+json", view{Type: "about:blank", Title: http.StatusText(status), Status: status,
			Detail: "There is nothing under " + c.Request().Method + " " + c.Request().URL.Path + "."})
	}
	return e
}

// as finds out who calls before a handler runs.
func (k *keyring) as(h func(c echo.Context, who *Principal) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, refusal := k.identify(c.Request())
		if refusal != nil {
			return refuse(c, refusal)
		}
		return h(c, who)
	}
}

// body reads the request's body; the decision is a refusal, nil where there is none.
func body(c echo.Context, max int64) ([]byte, *agentgw.Decision) {
	r := c.Request()
	if r.ContentLength > max {
		return nil, tooLarge()
	}
	if n := r.ContentLength; 0 <= n && n <= maxTrusted {
		b := make([]byte, n)
		if _, err := io.ReadFull(r.Body, b); err != nil {
			return nil, brokeOff(err)
		}
		return b, nil
	}
	var buf bytes.Buffer
	buf.Grow(int(min(max, r.ContentLength+1, maxTrusted)) + bytes.MinRead) // -1 where the length is not known
	_, err := buf.ReadFrom(http.MaxBytesReader(c.Response(), r.Body, max))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge()
	case err != nil:
		return nil, brokeOff(err)
	}
	return buf.Bytes(), nil
}

func brokeOff(err error) *agentgw.Decision {
	return rejected("The body broke off: %v. Send it whole.", err)
}

func tooLarge() *agentgw.Decision {
	return &agentgw.Decision{Verdict: agentgw.Rejected, Reason: agentgw.ReasonTooLarge}
}

// refuse writes a decision that is not the tool's answer.
func refuse(c echo.Context, d *agentgw.Decision) error { return answer(c, Response{Decision: d}) }

// answer writes a decision in the native form.
func answer(c echo.Context, res Response) error {
	v := newView(res)
	code := status(res.Decision)
	kind := echo.MIMEApplicationJSON
	if isProblem(res.Decision) {
		kind = "application/problem+json"
		v.problem(res.Decision, code)
	}
	mark(c.Response().Header(), res.Decision, code)
	return writeJSON(c, code, kind, v)
}

// writeJSON writes v without the escapes that encoding/json makes for HTML.
func writeJSON(c echo.Context, code int, kind string, v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return c.Blob(code, kind, []byte(b.String()))
}
