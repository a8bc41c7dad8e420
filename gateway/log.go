package gateway

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"agentgw"
)

// Log writes every decision as a JSON line. It is an Observer. Its lines hold the calls' arguments, so that policies can be tried on
// them afterwards, and no credentials, headers or answers.
type Log struct {
	mu sync.Mutex
	w  io.Writer
	at func() time.Time
}

// NewLog makes a log that writes to w, each line in one Write.
func NewLog(w io.Writer) *Log { return &Log{w: w, at: time.Now} }

type logLine struct {
	Time      time.Time         `json:"time"`
	Tenant    string            `json:"tenant,omitempty"`
	Principal string            `json:"principal,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Request   string            `json:"request,omitempty"` // "POST /billing/invoices" of the proxy door
	Args      json.RawMessage   `json:"args,omitempty"`
	Task      string            `json:"task,omitempty"`
	Run       string            `json:"run,omitempty"`
	Agent     string            `json:"agent,omitempty"`
	ID        string            `json:"id,omitempty"` // the caller's call id
	Mode      agentgw.Mode      `json:"mode,omitempty"`
	Batch     string            `json:"batch,omitempty"`
	Key       string            `json:"idempotency_key,omitempty"`
	Decision  agentgw.Verdict   `json:"decision,omitempty"`
	Outcome   agentgw.Outcome   `json:"outcome,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Detail    string            `json:"detail,omitempty"`
	Operation string            `json:"operation,omitempty"`
	Effect    string            `json:"effect,omitempty"`
	Attempt   int               `json:"attempt,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"` // canonical
	Raised    string            `json:"raised,omitempty"` // what an operator should look at
	Millis    float64           `json:"ms,omitempty"`
}

// Decided implements Observer.
func (l *Log) Decided(call *agentgw.Call, d *agentgw.Decision, took time.Duration) {
	line := logLine{Tenant: call.Tenant, Principal: call.Principal, Tool: call.Tool, Task: call.Context.Task, Run: call.Context.Run,
		Agent: call.Context.Agent, ID: call.Context.CallID, Mode: call.Mode, Batch: call.Batch, Key: call.IdempotencyKey,
		Decision: d.Verdict, Outcome: d.Outcome, Reason: d.Reason, Detail: d.Detail, Operation: d.Operation,
		Millis: float64(took.Microseconds()) / 1000}
	if json.Valid(call.Arguments) {
		line.Args = call.Arguments
	}
	if r := call.Request; r != nil {
		line.Request = r.Method + " /" + r.Upstream + r.Path
	}
	if d.Effect != nil {
		line.Effect, line.Attempt = d.Effect.ID.String(), d.Effect.Attempt
	}
	for _, f := range d.Canonical {
		if line.Fields == nil {
			line.Fields = make(map[string]string, len(d.Canonical))
		}
		line.Fields[f.Name] = f.Canon
	}
	l.write(line)
}

// Raised implements Observer.
func (l *Log) Raised(e *agentgw.Effect, what string) {
	l.write(logLine{Tenant: e.Tenant, Principal: e.Principal, Operation: e.Operation, Effect: e.ID.String(), Attempt: e.Attempt, Raised: what})
}

// write appends a line. A log that cannot be written must not stop the calls: the ledger is what counts.
func (l *Log) write(line logLine) {
	line.Time = l.at().UTC()
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Write(append(b, '\n'))
}

// Observers tells several observers.
type Observers []Observer

// Decided implements Observer.
func (os Observers) Decided(call *agentgw.Call, d *agentgw.Decision, took time.Duration) {
	for _, o := range os {
		o.Decided(call, d, took)
	}
}

// Raised implements Observer.
func (os Observers) Raised(e *agentgw.Effect, what string) {
	for _, o := range os {
		o.Raised(e, what)
	}
}
