package gateway

import (
	"errors"
	"net/http"

	"agentgw"
	"agentgw/ledger"

	"github.com/labstack/echo/v4"
)

// call is POST /v1/calls.
func (d *doors) call(c echo.Context, who *Principal) error {
	call, refusal := d.readCall(c, who)
	if refusal != nil {
		return refuse(c, refusal)
	}
	return answer(c, d.Do(c.Request().Context(), call))
}

// begin is POST /v1/effects: a claim for an action that no proxy sees.
func (d *doors) begin(c echo.Context, who *Principal) error {
	call, refusal := d.readCall(c, who)
	if refusal == nil && call.Nonce == "" {
		refusal = rejected("nonce: is absent; choose a text that names this claim, and send the same one when asking again.")
	}
	if refusal != nil {
		return refuse(c, refusal)
	}
	return refuse(c, d.Begin(c.Request().Context(), call))
}

// effect is GET /v1/effects/{id}. Another tenant's effect is answered like one that never was.
func (d *doors) effect(c echo.Context, who *Principal) error {
	id, err := agentgw.ParseEffectID(c.Param("id"))
	if err != nil {
		return refuse(c, refusalOf(ledger.ErrNotFound))
	}
	e, err := d.Effect(c.Request().Context(), who.Tenant, id)
	if err != nil {
		return refuse(c, refusalOf(err))
	}
	v := viewOf(e)
	v.Near = newNearView(e, func(id agentgw.EffectID) (*agentgw.Effect, error) {
		return d.Effect(c.Request().Context(), who.Tenant, id)
	})
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, v)
}

// renew is PUT /v1/effects/{id}/lease.
func (d *doors) renew(c echo.Context, who *Principal) error {
	id, in, refusal := readSettle(c, d.maxBody, "fence")
	if refusal != nil {
		return refuse(c, refusal)
	}
	e, err := d.Renew(c.Request().Context(), who.Tenant, id, in.fence)
	if err != nil {
		return refuse(c, refusalOf(err))
	}
	return writeEffect(c, e, true)
}

// complete is PUT /v1/effects/{id}/outcome.
func (d *doors) complete(c echo.Context, who *Principal) error {
	id, in, refusal := readSettle(c, d.maxBody, "fence", "outcome", "result")
	if refusal != nil {
		return refuse(c, refusal)
	}
	e, err := d.Complete(c.Request().Context(), who.Tenant, id, in.fence, agentgw.Result{Outcome: in.outcome, Answer: in.answer})
	if err != nil {
		return refuse(c, refusalOf(err))
	}
	return writeEffect(c, e, false)
}

// readCall reads the native body.
func (d *doors) readCall(c echo.Context, who *Principal) (*agentgw.Call, *agentgw.Decision) {
	b, refusal := body(c, d.maxBody)
	if refusal != nil {
		return nil, refusal
	}
	call, err := decodeCall(b)
	if err != nil {
		return nil, rejected("%v.", err)
	}
	call.Tenant, call.Principal = who.Tenant, who.Name
	if refusal := readKeyHeader(c.Request().Header, call); refusal != nil {
		return nil, refusal
	}
	return call, nil
}

// readKeyHeader takes the caller's key from the header, where clients and their libraries put it. It must not contradict the body.
func readKeyHeader(h http.Header, call *agentgw.Call) *agentgw.Decision {
	for _, key := range h["Idempotency-Key"] {
		switch call.IdempotencyKey {
		case "", key:
			call.IdempotencyKey = key
		default:
			return rejected("The call carries two idempotency keys, %q and %q (header Idempotency-Key, member idempotency_key). Send one.", call.IdempotencyKey, key)
		}
	}
	return nil
}

func readSettle(c echo.Context, maxBody int64, members ...string) (agentgw.EffectID, settle, *agentgw.Decision) {
	id, err := agentgw.ParseEffectID(c.Param("id"))
	if err != nil {
		return id, settle{}, refusalOf(ledger.ErrNotFound)
	}
	b, refusal := body(c, maxBody)
	if refusal != nil {
		return id, settle{}, refusal
	}
	in, err := decodeSettle(b, members...)
	if err != nil {
		return id, in, rejected("%v.", err)
	}
	return id, in, nil
}

// viewOf is an effect as it is now.
func viewOf(e *agentgw.Effect) view {
	v := view{Operation: e.Operation, Effect: newEffectView(e)}
	v.Result, _ = newResultView(e.Answer, nil)
	return v
}

// writeEffect shows an effect after a change.
func writeEffect(c echo.Context, e *agentgw.Effect, claim bool) error {
	v := viewOf(e)
	if claim {
		v.Fence, v.Lease = e.Fence, moment(e.Updated.Add(e.Lease))
	}
	return writeJSON(c, http.StatusOK, echo.MIMEApplicationJSON, v)
}

// refusalOf says what an error of the ledger means to a caller.
func refusalOf(err error) *agentgw.Decision {
	var refused *ledger.Refused
	switch {
	case errors.As(err, &refused):
		return &agentgw.Decision{Verdict: agentgw.Blocked, Reason: agentgw.ReasonState, Detail: refused.Why + "."}
	case errors.Is(err, ledger.ErrNotFound):
		return &agentgw.Decision{Verdict: agentgw.Rejected, Reason: reasonNotFound,
			Detail: "There is no such effect. Use the id from an earlier answer."}
	case errors.Is(err, ledger.ErrStale):
		return &agentgw.Decision{Verdict: agentgw.Blocked, Reason: agentgw.ReasonStale,
			Detail: "The effect has moved on since: what you hold is no longer its latest. Look at the effect as it is now before doing anything."}
	}
	return &agentgw.Decision{Verdict: agentgw.Unavailable, Detail: "The ledger does not answer: " + err.Error() + ". Send the same request again later."}
}
