package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"agentgw"
)

// maxInline is how much of an answer the doors put into JSON.
const maxInline = 32 << 20

// view is a decision as the native door writes it.
type view struct {
	Type   string `json:"type,omitempty"`  // RFC 9457, refusals only
	Title  string `json:"title,omitempty"` // "
	Status int    `json:"status,omitempty"`

	Decision  agentgw.Verdict `json:"decision,omitempty"`
	Outcome   agentgw.Outcome `json:"outcome,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Detail    string          `json:"detail,omitempty"`
	Operation string          `json:"operation,omitempty"`
	Effect    *effectView     `json:"effect,omitempty"`
	Fence     uint64          `json:"fence,omitempty"` // of a claim
	Lease     *time.Time      `json:"lease_expires,omitempty"`
	Result    *resultView     `json:"result,omitempty"`

	Fields      []string                      `json:"fields,omitempty"`
	Ignored     map[string][2]json.RawMessage `json:"ignored,omitempty"`
	Candidates  []candidateView               `json:"candidates,omitempty"`
	RepeatToken string                        `json:"repeat_token,omitempty"`
	Near        *nearView                     `json:"near,omitempty"` // of an effect that is looked at
}

type effectView struct {
	ID        string        `json:"id"`
	State     agentgw.State `json:"state"`
	Version   uint64        `json:"version"`
	Attempt   int           `json:"attempt"`
	FirstSeen *time.Time    `json:"first_seen,omitempty"`
	Expires   *time.Time    `json:"expires,omitempty"`
}

type candidateView struct {
	ID      string            `json:"id"`
	Text    map[string]string `json:"text,omitempty"`
	Differs []string          `json:"differs,omitempty"`
	Score   float64           `json:"score"`
}

// resultView is an answer of a tool. Body is JSON where the answer is JSON, else a string, in base64 where it is not UTF-8.
type resultView struct {
	Status   int              `json:"status"`
	Headers  map[string]lines `json:"headers,omitempty"`
	Body     json.RawMessage  `json:"body,omitempty"`
	Encoding string           `json:"encoding,omitempty"`
}

// lines is one header line as a string, or a list where there are several.
type lines []string

func (s lines) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

func newView(res Response) view {
	d := res.Decision
	v := view{Decision: d.Verdict, Outcome: d.Outcome, Reason: d.Reason, Operation: d.Operation, Fields: d.Fields, Ignored: d.Ignored,
		RepeatToken: d.Token, Effect: newEffectView(d.Effect)}
	if d.Verdict == agentgw.ClaimedForCaller && d.Effect != nil {
		v.Fence = d.Effect.Fence
		v.Lease = moment(d.Effect.Updated.Add(d.Effect.Lease))
	}
	if d.Outcome != agentgw.Succeeded || d.Detail != "" {
		v.Detail = detail(d)
	}
	for _, c := range d.Candidates {
		v.Candidates = append(v.Candidates, candidateView{c.ID.String(), c.Text, c.Differs, c.Score})
	}
	whole := true
	v.Result, whole = newResultView(d.Answer, res.Rest)
	if !whole {
		v.Detail = strings.TrimSpace(v.Detail + " The answer is too large to be shown here; ask for it through the proxy.")
	}
	return v
}

// problem adds the members of RFC 9457.
func (v *view) problem(d *agentgw.Decision, code int) {
	v.Type, v.Title, v.Status = "urn:agentgw:"+string(d.Verdict), table[d.Verdict].title, code
}

func newEffectView(e *agentgw.Effect) *effectView {
	if e == nil || e.ID.IsZero() {
		return nil
	}
	return &effectView{e.ID.String(), e.State, e.Version, e.Attempt, moment(e.FirstSeen), moment(e.Expires)}
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// newResultView shows an answer and what follows it; whole is false where that is too much, and then the body is left out.
func newResultView(a *agentgw.Answer, rest io.ReadCloser) (v *resultView, whole bool) {
	if a == nil {
		return nil, true
	}
	v = &resultView{Status: a.Status, Headers: make(map[string]lines, len(a.Header))}
	for _, h := range a.Header {
		v.Headers[h.Name] = append(v.Headers[h.Name], h.Value)
	}
	content := a.Body
	if rest != nil {
		defer rest.Close()
		more, err := io.ReadAll(io.LimitReader(rest, maxInline))
		if err != nil || len(more) == maxInline {
			return v, false
		}
		content = append(content[:len(content):len(content)], more...)
	}
	v.Body, v.Encoding = bodyView(content, one(a.Header, "Content-Type"))
	return v, true
}

// bodyView is a body as JSON.
func bodyView(b []byte, contentType string) (text json.RawMessage, encoding string) {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case len(b) == 0:
		return nil, ""
	case (kind == "application/json" || strings.HasSuffix(kind, "+json")) && json.Valid(b) && utf8.Valid(b):
		return b, ""
	case utf8.Valid(b):
		return quoted(string(b)), ""
	}
	return quoted(base64.StdEncoding.EncodeToString(b)), "base64"
}

func quoted(s string) json.RawMessage { return compact(s) }

// compact is v in JSON, without the escapes that encoding/json makes for HTML. v is of our own types, which can be encoded.
func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}
