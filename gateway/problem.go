package gateway

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentgw"
)

// The reasons that only doors give, beside those of package agentgw.
const (
	reasonUnauthenticated = "unauthenticated"
	reasonNotFound        = "not_found"
)

// neverSent stands in the table for an attempt that is known not to have left.
const neverSent = "never_sent"

// words is what every door says of a verdict.
type words struct {
	status int               // of the native door; the proxy's is the same but where the tool itself answers
	title  string            // RFC 9457 title: the same for every occurrence
	detail map[string]string // by reason, or by outcome where something was sent; "" is the default
}

// sent are the words for calls that left for the tool, by outcome.
var sent = map[string]string{
	string(agentgw.Succeeded): "It is done.",
	string(agentgw.Failed): "The tool refused this and nothing was done. Read its answer in result, correct the call, and send the corrected " +
		"call; or tell the user.",
	neverSent: "The tool could not be reached, so nothing was sent and nothing was done. Send the same call again later.",
	string(agentgw.Indeterminate): "This was sent, but whether it was done is not known. Do not try it another way: look up whether it was done, " +
		"or ask an operator to resolve it.",
	"": "Nothing was sent: this says what would be decided.",
}

// table is the one place that says what a verdict means to a caller. Statuses never invite a silent retry of a duplicate: 408, 429
// and 5xx do, so only `unavailable`, which is no duplicate, has one of them. No text suggests a new key.
var table = map[agentgw.Verdict]words{
	agentgw.Executed: {http.StatusOK, "Executed", sent},
	agentgw.Passed:   {http.StatusOK, "Passed", sent},
	agentgw.Replayed: {http.StatusOK, "Done before", map[string]string{
		"": "This was done before and is not done again: this is the answer it got then. Go on as if it had just been done.",
	}},
	agentgw.ClaimedForCaller: {http.StatusOK, "Claimed", map[string]string{
		"": "Go ahead and do it once, renew the lease while it takes, then report the outcome with this fence.",
	}},
	agentgw.InFlight: {http.StatusConflict, "Being worked on", map[string]string{
		"": "The same operation is being worked on right now. Wait, then send the same call again to get its answer.",
		agentgw.ReasonLocked: "Another operation on the same resource is being worked on right now. Wait, then send the same " +
			"call again.",
	}},
	agentgw.Conflict: {http.StatusUnprocessableEntity, "Conflicts with an earlier call", map[string]string{
		"": "The same operation was asked for before with other values. Find out which values are right: if the earlier ones, it " +
			"needs no call; if these, ask the user or an operator, because the earlier one stands.",
	}},
	agentgw.InDoubt: {http.StatusConflict, "Outcome unknown", map[string]string{
		"": "The same operation was sent before, and whether it was done is not known. Do not try it another way: look up whether it " +
			"was done, or ask an operator to resolve it.",
		agentgw.ReasonLocked: "An earlier operation on the same resource was sent, and whether it was done is not known. Ask an operator to " +
			"resolve it, then send the same call again.",
	}},
	agentgw.Blocked: {http.StatusConflict, "Blocked by a rule", map[string]string{
		"":                  "A rule forbids this now, so nothing was done. Tell the user.",
		agentgw.ReasonState: "The object is not in a state that allows this, so nothing was done. Look up its state before going on.",
		agentgw.ReasonStale: "A newer value was written already, so this older one was not. Read the current value before going on.",
		agentgw.ReasonLimit: "The limit for this operation is used up, so nothing was done. Tell the user; an operator can say when there is room again.",
	}},
	agentgw.Similar: {http.StatusConflict, "Worded like an earlier one", map[string]string{
		"": "An earlier operation is worded much like this one (see candidates). If it is that one, send this call again with same_as set to its " +
			"id; if it is another one, send it again with the repeat_token given here.",
	}},
	agentgw.Held: {http.StatusConflict, "Waits for approval", map[string]string{
		"": "This needs an operator's approval and nothing was done yet. Send exactly the same call again once it is approved.",
	}},
	agentgw.Denied: {http.StatusForbidden, "Not allowed", map[string]string{
		"":                    "You are not allowed to do this, and nothing was done. Do not try it another way; tell the user.",
		reasonUnauthenticated: "The request carries no valid secret. Send one as \"Authorization: Bearer …\", or as Agentgw-Key.",
	}},
	agentgw.Expired: {http.StatusGone, "Done before, answer no longer kept", map[string]string{
		"": "This was done before, but its answer is no longer kept. Do not do it again: look its result up.",
	}},
	agentgw.Rejected: {http.StatusBadRequest, "Cannot be read", map[string]string{
		"":                     "The call cannot be read, so nothing was done. Correct it and send it again.",
		agentgw.ReasonTooLarge: "The request is too large, so nothing was done. Send a smaller one.",
	}},
	agentgw.Unavailable: {http.StatusServiceUnavailable, "Cannot be decided now", map[string]string{
		"": "Whether this was done before cannot be checked right now, so nothing was sent. Send the same call again later.",
	}},
}

// status is the HTTP status of a decision at a door that does not show the tool's own status (the native one).
func status(d *agentgw.Decision) int {
	switch {
	case d.Reason == agentgw.ReasonTooLarge:
		return http.StatusRequestEntityTooLarge
	case d.Reason == reasonUnauthenticated:
		return http.StatusUnauthorized
	case d.Reason == reasonNotFound:
		return http.StatusNotFound
	case !d.Verdict.Sent() || d.Outcome == "" || d.Outcome == agentgw.Succeeded:
		return table[d.Verdict].status
	case d.Outcome == agentgw.Failed:
		return http.StatusFailedDependency
	}
	return http.StatusConflict
}

// proxyStatus is the HTTP status of a decision at the proxy door where the tool has not answered.
func proxyStatus(d *agentgw.Decision) int {
	switch {
	case d.Verdict.Sent() && d.Outcome == agentgw.Failed:
		return http.StatusBadGateway // known never to have been sent: a robot may retry it
	case d.Verdict.Sent() && d.Outcome == agentgw.Indeterminate:
		return http.StatusConflict
	}
	return status(d)
}

// detail is the decision's own words, or the table's for its reason or outcome.
func detail(d *agentgw.Decision) string {
	if d.Detail != "" {
		return d.Detail
	}
	reason := d.Reason
	if d.Verdict.Sent() {
		reason = string(d.Outcome)
		if d.NeverSent {
			reason = neverSent
		}
	}
	w := table[d.Verdict].detail
	text := w[reason]
	if text == "" {
		text = w[""]
	}
	if len(d.Fields) > 0 && d.Verdict == agentgw.Conflict {
		text += " Different: " + strings.Join(d.Fields, ", ") + "."
	}
	if d.Verdict == agentgw.Replayed && d.Token != "" {
		text += " Only if it is meant to happen once more, send the call again with the repeat_token given here."
	}
	return text
}

// detailOf says what became of an attempt without an answer; why is what went wrong.
func detailOf(d *agentgw.Decision, why string) string {
	switch {
	case d.NeverSent:
		return fmt.Sprintf("The tool could not be reached (%s); nothing was sent. Make this same call again later.", why)
	case d.Verdict == agentgw.Passed:
		return fmt.Sprintf("The tool's answer was lost (%s).", why)
	}
	return fmt.Sprintf("The call was sent and its answer was lost (%s). It may have had its effect: do not try another way; make this same call again, or ask an operator.", why)
}

// isProblem reports whether the native door answers with application/problem+json: nothing was sent, and it is not done.
func isProblem(d *agentgw.Decision) bool {
	return status(d) >= 400 && !d.Verdict.Sent()
}

// rejected is a refusal of what cannot be read.
func rejected(format string, args ...any) *agentgw.Decision {
	text := fmt.Sprintf(format, args...)
	if strings.HasSuffix(text, "?.") { // "did you mean tool?" ends the sentence itself
		text = text[:len(text)-1]
	}
	return &agentgw.Decision{Verdict: agentgw.Rejected, Detail: text}
}

// mark writes the headers that every door's answer to a call carries.
func mark(h http.Header, d *agentgw.Decision, status int) {
	h.Set("Agentgw-Decision", string(d.Verdict))
	if d.Operation != "" {
		h.Set("Agentgw-Operation", d.Operation)
	}
	if d.Effect != nil && !d.Effect.ID.IsZero() {
		h.Set("Agentgw-Effect", d.Effect.ID.String())
	}
	if d.Verdict == agentgw.Replayed {
		h.Set("Idempotent-Replayed", "true")
		if d.Detail != "" { // the body is the first answer's
			h.Set("Agentgw-Detail", headerText(d.Detail))
		}
	}
	if status < 400 {
		return
	}
	if after := retryAfter(d); after > 0 {
		h.Set("Retry-After", strconv.Itoa(after))
	} else {
		h.Set("x-should-retry", "false") // read by the clients of several model vendors, which else repeat a 409 by themselves
	}
	if d.Reason == reasonUnauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="agentgw"`)
	}
}

// retryAfter is the Retry-After of a refusal in whole seconds, rounded up; 0 where there is none.
func retryAfter(d *agentgw.Decision) int {
	after := d.RetryAfter
	if after <= 0 && d.Verdict == agentgw.InFlight {
		after = time.Second
	}
	return int(math.Ceil(after.Seconds()))
}
