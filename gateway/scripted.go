package gateway

import (
	"net/http"

	"agentgw"

	"github.com/labstack/echo/v4"
)

// What a simulation shares with the doors and with the HTTP sender, so that a tested policy meets the same readings as a served one.

// ReadRequest makes a call of a request to /proxy/{upstream}/… as the proxy door does. The decision is a refusal, nil where there is none.
func (g *Gateway) ReadRequest(r *http.Request, who *Principal) (*agentgw.Call, *agentgw.Decision) {
	d := newDoors(g, g.Options, DoorConfig{})
	return d.proxyCall(echo.New().NewContext(r, nil), who)
}

// ReadAnswer reads a tool's answer as the HTTP sender does: what is kept of it, what is for the caller alone, and what follows the first
// maxBytes.
func ReadAnswer(res *http.Response, maxBytes int64) (*Incoming, error) {
	return incoming(res, maxBytes)
}
