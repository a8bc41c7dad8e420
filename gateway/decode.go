package gateway

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"agentgw"
	"agentgw/canonicalize"
)

// callMembers are the members of the native body.
var callMembers = []string{"tool", "arguments", "idempotency_key", "repeat_token", "same_as", "context", "mode", "batch", "nonce"}

// decodeCall reads the native body. The bytes of arguments stay as they came.
func decodeCall(b []byte) (*agentgw.Call, error) {
	v, err := canonicalize.Parse(b)
	if err != nil {
		return nil, err
	}
	return callOf(v)
}

func callOf(v canonicalize.Value) (*agentgw.Call, error) {
	if err := onlyMembers(v, "", callMembers...); err != nil {
		return nil, err
	}
	call := &agentgw.Call{Arguments: []byte("{}")}
	mode := ""
	err := texts(v, "", map[string]*string{"tool": &call.Tool, "idempotency_key": &call.IdempotencyKey, "repeat_token": &call.RepeatToken,
		"same_as": &call.SameAs, "mode": &mode, "batch": &call.Batch, "nonce": &call.Nonce})
	if err != nil {
		return nil, err
	}
	if call.Tool == "" {
		return nil, unreadable("/tool", "is absent", "name the tool to call")
	}
	if call.Mode, err = modeOf(mode); err != nil {
		return nil, at(err, "/mode")
	}
	if args, ok := v.Member("arguments"); ok && args.Kind != canonicalize.Null {
		call.Arguments = []byte(args.Raw())
	}
	call.Context, err = contextOf(v)
	return call, err
}

func modeOf(s string) (agentgw.Mode, error) {
	switch m := agentgw.Mode(s); m {
	case "":
		return agentgw.Execute, nil
	case agentgw.Execute, agentgw.Check, agentgw.Redeliver:
		return m, nil
	}
	return "", unreadable("", "is "+strconv.Quote(s), "use execute, check or redeliver")
}

// contextOf reads the member "context" of v.
func contextOf(v canonicalize.Value) (agentgw.Context, error) {
	var about agentgw.Context
	m, ok := v.Member("context")
	if !ok || m.Kind == canonicalize.Null {
		return about, nil
	}
	if err := onlyMembers(m, "/context", "agent", "run", "task", "call_id"); err != nil {
		return about, err
	}
	return about, texts(m, "/context", map[string]*string{"agent": &about.Agent, "run": &about.Run, "task": &about.Task, "call_id": &about.CallID})
}

// settle is what a caller, or an operator, says about how something ended.
type settle struct {
	fence, version uint64
	outcome        agentgw.Outcome
	reason         string
	answer         *agentgw.Answer
}

// decodeSettle reads the members that are named; all but result and reason are needed.
func decodeSettle(b []byte, members ...string) (settle, error) {
	var s settle
	v, err := canonicalize.Parse(b)
	if err != nil {
		return s, err
	}
	if err := onlyMembers(v, "", members...); err != nil {
		return s, err
	}
	for _, name := range members {
		m, ok := v.Member(name)
		switch name {
		case "fence":
			s.fence, err = whole(m, "/fence", "send the fence of the claim")
		case "version":
			s.version, err = whole(m, "/version", "send the version of the effect that you looked at")
		case "outcome":
			s.outcome, err = outcomeOf(m, slices.Contains(members, "fence"))
		case "reason":
			err = texts(v, "", map[string]*string{"reason": &s.reason})
		case "result":
			if ok && m.Kind != canonicalize.Null {
				s.answer, err = answerOf(m)
			}
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// outcomeOf reads how something ended. Who did it (own) may not know; an operator's word settles a doubt, and cannot be one.
func outcomeOf(v canonicalize.Value, own bool) (agentgw.Outcome, error) {
	known, remedy := []agentgw.Outcome{agentgw.Succeeded, agentgw.Failed}, `send "succeeded" or "failed"`
	if own {
		known, remedy = append(known, agentgw.Indeterminate), `send "succeeded", "failed" or, where nobody knows, "indeterminate"`
	}
	if o := agentgw.Outcome(v.Text); v.Kind == canonicalize.String && slices.Contains(known, o) {
		return o, nil
	}
	return "", unreadable("/outcome", "is "+v.Raw(), remedy)
}

// answerOf reads an answer in the form in which the doors write one.
func answerOf(v canonicalize.Value) (*agentgw.Answer, error) {
	if err := onlyMembers(v, "/result", "status", "headers", "body", "encoding"); err != nil {
		return nil, err
	}
	a := &agentgw.Answer{Status: 200}
	if m, ok := v.Member("status"); ok {
		n, err := whole(m, "/result/status", "send an HTTP status")
		if err != nil || n < 200 || n > 599 {
			return nil, unreadable("/result/status", "is "+m.Raw(), "send an HTTP status from 200 to 599")
		}
		a.Status = int(n)
	}
	headers, _ := v.Member("headers")
	for _, m := range headers.Members {
		values := []canonicalize.Value{m.Value}
		if m.Value.Kind == canonicalize.List {
			values = m.Value.Items
		}
		for _, item := range values {
			if item.Kind != canonicalize.String || strings.ContainsAny(m.Name+item.Text, "\r\n\x00") || m.Name == "" {
				return nil, unreadable("/result/headers/"+m.Name, "is no header", "send one line of text, or a list of them")
			}
			a.Header = append(a.Header, agentgw.Header{Name: m.Name, Value: item.Text})
		}
	}
	var encoding string
	if err := texts(v, "/result", map[string]*string{"encoding": &encoding}); err != nil {
		return nil, err
	}
	return a, readAnswerBody(a, v, encoding)
}

func readAnswerBody(a *agentgw.Answer, v canonicalize.Value, encoding string) (err error) {
	b, ok := v.Member("body")
	kind := one(a.Header, "Content-Type")
	isText := b.Kind == canonicalize.String && !strings.Contains(kind, "json")
	switch {
	case !ok || b.Kind == canonicalize.Null:
		return nil
	case encoding == "base64":
		a.Body, err = base64.StdEncoding.DecodeString(b.Text)
	case encoding != "":
		return unreadable("/result/encoding", "is "+strconv.Quote(encoding), `leave it away, or send "base64"`)
	case isText:
		a.Body = []byte(b.Text)
	default:
		a.Body = []byte(b.Raw())
	}
	if kind == "" && encoding == "" {
		kind = "application/json"
		if isText {
			kind = "text/plain; charset=utf-8"
		}
		a.Header = append(a.Header, agentgw.Header{Name: "Content-Type", Value: kind})
	}
	if err != nil {
		return unreadable("/result/body", err.Error(), "send it in base64 (RFC 4648, section 4)")
	}
	return nil
}

// onlyMembers refuses what is no object, and members that are not known, with the nearest one that is.
func onlyMembers(v canonicalize.Value, place string, known ...string) error {
	if v.Kind != canonicalize.Object {
		return unreadable(place, "is "+v.Kind.String(), "send an object with "+strings.Join(known, ", "))
	}
	for _, m := range v.Members {
		if slices.Contains(known, m.Name) {
			continue
		}
		remedy := "known are " + strings.Join(known, ", ")
		if near := canonicalize.Nearest(m.Name, known); near != "" {
			remedy = "did you mean " + near + "?"
		}
		return unreadable(place+"/"+m.Name, "is not a member of this request", remedy)
	}
	return nil
}

// texts reads members that are strings; null is absent.
func texts(v canonicalize.Value, place string, into map[string]*string) error {
	for _, m := range v.Members {
		target, ok := into[m.Name]
		if !ok || m.Value.Kind == canonicalize.Null {
			continue
		}
		if m.Value.Kind != canonicalize.String {
			return unreadable(place+"/"+m.Name, "is "+m.Value.Kind.String(), "send a string")
		}
		*target = m.Value.Text
	}
	return nil
}

// whole reads an integer that is not negative; also as a string, for writers whose numbers end at 2^53.
func whole(v canonicalize.Value, place, remedy string) (uint64, error) {
	if v.Kind != canonicalize.Number && v.Kind != canonicalize.String {
		return 0, unreadable(place, "is absent or no number", remedy)
	}
	n, err := strconv.ParseUint(v.Text, 10, 64)
	if err != nil {
		return 0, unreadable(place, "is "+v.Raw(), remedy)
	}
	return n, nil
}
