package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentgw"
	"agentgw/canonicalize"
	"agentgw/ledger"

	"github.com/labstack/echo/v4"
)

const maxPage = 1000

// AdminConfig is what the operators' listener needs beside the ledger.
type AdminConfig struct {
	Operators Principals   // none: this machine only
	Metrics   http.Handler // what GET /metrics answers; nil: nothing
	MaxBody   int64        // bytes of a request; 0: 8 MiB
}

// admin are the handlers of the operators' listener.
type admin struct {
	ledger  *ledger.Ledger
	keys    *keyring
	maxBody int64
}

// Admin is the operators' listener: effects and what operators say about them, metrics, health.
func (g *Gateway) Admin(cfg AdminConfig) http.Handler {
	a := &admin{g.Ledger, newKeyring(cfg.Operators), cfg.MaxBody}
	if a.maxBody <= 0 {
		a.maxBody = defaultMaxBody
	}
	e := newEcho()
	e.GET("/v1/effects", a.keys.as(a.list))
	e.GET("/v1/effects/:id", a.keys.as(a.show))
	e.POST("/v1/effects/:id/resolve", a.keys.as(a.resolve))
	e.POST("/v1/effects/:id/void", a.keys.as(a.void))
	if cfg.Metrics != nil {
		e.GET("/metrics", a.keys.as(func(c echo.Context, _ *Principal) error {
			cfg.Metrics.ServeHTTP(c.Response(), c.Request())
			return nil
		}))
	}
	e.GET("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", a.ready)
	return e
}

// ready is GET /readyz: 503 with the reason while guarded calls would be `unavailable`.
func (a *admin) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), 5*time.Second)
	defer cancel()
	if err := a.ledger.Health(ctx); err != nil {
		return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
	}
	return c.String(http.StatusOK, "ok\n")
}

// list is GET /v1/effects.
func (a *admin) list(c echo.Context, _ *Principal) error {
	f, err := filterOf(c.QueryParams())
	if err != nil {
		return refuse(c, rejected("%v.", err))
	}
	found, next, err := a.ledger.List(c.Request().Context(), f)
	if errors.Is(err, ledger.ErrCursor) {
		return refuse(c, rejected("cursor: is none of this list. Send the cursor of the page before, with the same state, or leave it out."))
	}
	if err != nil {
		return refuse(c, refusalOf(err))
	}
	page := struct {
		Effects []fullView `json:"effects"`
		Cursor  string     `json:"cursor,omitempty"` // of the next page
	}{[]fullView{}, next}
	for _, e := range found {
		page.Effects = append(page.Effects, newFullView(e, nil))
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, page)
}

var (
	filters = []string{"state", "operation", "tenant", "q", "limit", "cursor"}
	states  = []string{"claimed", "in_flight", "succeeded", "failed", "indeterminate", "voided", "held", "approved", "denied"}
)

// filterOf reads which effects are wanted. What is misspelt is refused: who watches for doubts must not be told that there are none.
func filterOf(query url.Values) (ledger.Filter, error) {
	f := ledger.Filter{Limit: 50}
	for name, values := range query {
		value := values[0]
		switch {
		case !slices.Contains(filters, name):
			return f, unreadable(name, "is not known here", instead(name, filters))
		case len(values) > 1:
			return f, unreadable(name, "is given twice", "send it once")
		case name == "state" && value != "" && !slices.Contains(states, value):
			return f, unreadable("state", "is "+strconv.Quote(value), instead(value, states))
		case name == "limit" && value != "":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxPage {
				return f, unreadable("limit", "is "+strconv.Quote(value), "send a number from 1 to "+strconv.Itoa(maxPage))
			}
			f.Limit = n
		}
	}
	f.Tenant, f.State, f.Operation = query.Get("tenant"), agentgw.State(query.Get("state")), query.Get("operation")
	f.Text, f.Cursor = query.Get("q"), query.Get("cursor")
	return f, nil
}

// instead names what could have been meant, and all that there is.
func instead(name string, known []string) string {
	all := "known are " + strings.Join(known, ", ")
	if near := canonicalize.Nearest(name, known); near != "" {
		return "did you mean " + near + "? " + strings.ToUpper(all[:1]) + all[1:]
	}
	return all
}

// show is GET /v1/effects/{id}.
func (a *admin) show(c echo.Context, _ *Principal) error {
	id, err := agentgw.ParseEffectID(c.Param("id"))
	if err != nil {
		return refuse(c, refusalOf(ledger.ErrNotFound))
	}
	e, err := a.ledger.Get(c.Request().Context(), id)
	return a.written(c, e, err)
}

// resolve is POST /v1/effects/{id}/resolve.
func (a *admin) resolve(c echo.Context, who *Principal) error {
	id, in, refusal := readSettle(c, a.maxBody, "outcome", "version", "reason", "result")
	if refusal != nil {
		return refuse(c, refusal)
	}
	e, err := a.ledger.Resolve(c.Request().Context(), id, in.version, in.outcome, in.answer, operatorName(who), in.reason)
	return a.written(c, e, err)
}

// void is POST /v1/effects/{id}/void.
func (a *admin) void(c echo.Context, who *Principal) error {
	id, in, refusal := readSettle(c, a.maxBody, "version", "reason")
	if refusal != nil {
		return refuse(c, refusal)
	}
	e, err := a.ledger.Void(c.Request().Context(), id, in.version, operatorName(who), in.reason)
	return a.written(c, e, err)
}

// written answers with an effect as it is now.
func (a *admin) written(c echo.Context, e *agentgw.Effect, err error) error {
	if err != nil {
		return refuse(c, refusalOf(err))
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, newFullView(e, func(id agentgw.EffectID) (*agentgw.Effect, error) {
		return a.ledger.Get(c.Request().Context(), id)
	}))
}

func operatorName(who *Principal) string {
	if who.Name == "" {
		return "an operator"
	}
	return who.Name
}

// fullView is an effect as operators see it.
type fullView struct {
	effectView
	Operation string           `json:"operation"`
	Tenant    string           `json:"tenant"`
	Principal string           `json:"principal,omitempty"`
	Context   *agentgw.Context `json:"context,omitempty"`
	Why       string           `json:"why,omitempty"`
	Updated   *time.Time       `json:"updated,omitempty"`
	Claimed   *time.Time       `json:"claimed,omitempty"`
	Settled   *time.Time       `json:"settled,omitempty"`
	Lease     *time.Time       `json:"lease_expires,omitempty"`
	Fence     uint64           `json:"fence,omitempty"`
	Ordinal   int              `json:"ordinal,omitempty"` // 2 for the first deliberate repeat
	Fields    []fieldView      `json:"fields,omitempty"`
	Arguments json.RawMessage  `json:"arguments,omitempty"`
	Result    *resultView      `json:"result,omitempty"`
	Evidence  []string         `json:"evidence,omitempty"`
	Holds     []string         `json:"holds,omitempty"` // what else its attempt holds
	Near      *nearView        `json:"near,omitempty"`
}

type fieldView struct {
	Name  string `json:"name"`
	Raw   string `json:"raw,omitempty"`
	Canon string `json:"canonical,omitempty"`
}

// newFullView is an effect; nearer reads the one that came nearest to it, nil where nobody asks for its values.
func newFullView(e *agentgw.Effect, nearer func(agentgw.EffectID) (*agentgw.Effect, error)) fullView {
	v := fullView{effectView: *newEffectView(e), Operation: e.Operation, Tenant: e.Tenant, Principal: e.Principal, Why: e.Why,
		Updated: moment(e.Updated), Claimed: moment(e.Claimed), Settled: moment(e.Settled), Fence: e.Fence, Ordinal: e.Ordinal,
		Evidence: e.Evidence, Near: newNearView(e, nearer)}
	if e.Context != (agentgw.Context{}) {
		v.Context = &e.Context
	}
	if e.State == agentgw.StateInFlight || e.State == agentgw.StateClaimed {
		v.Lease = moment(e.Updated.Add(e.Lease))
	}
	for _, f := range e.Fields {
		v.Fields = append(v.Fields, fieldView{f.Name, f.Raw, f.Canon})
	}
	for _, h := range e.Holds {
		v.Holds = append(v.Holds, h.Of)
	}
	if json.Valid(e.Arguments) {
		v.Arguments = e.Arguments
	}
	v.Result, _ = newResultView(e.Answer, nil)
	return v
}
