package main

import (
	"log/slog"
	"time"

	"go.yaml.in/yaml/v4"

	"agentgw/canonicalize/meaning"
	"agentgw/gateway"
)

// model is an OpenAI-compatible service that is asked about wording.
type model struct {
	url        string
	key        gateway.Secret
	embeddings string // "": wording is compared without a model
	judge      string // "": the caller itself is asked
	timeout    time.Duration
}

func (r *configReader) model(n *yaml.Node) {
	const example = `{url: https://api.openai.com/v1, api_key: "env:OPENAI_API_KEY", embeddings: text-embedding-3-small}`
	m := r.Members(n, "model", example, "url", "api_key", "embeddings", "judge", "timeout")
	if len(m) == 0 {
		return
	}
	r.c.model = &model{}
	if n := m["url"]; n != nil {
		if u := r.url(n, "url"); u != nil {
			r.c.model.url = u.String()
		}
	}
	if n := m["api_key"]; n != nil {
		key, _ := r.secret(n, "api_key", "env:OPENAI_API_KEY")
		r.c.model.key = gateway.Secret(key)
	}
	if n := m["embeddings"]; n != nil {
		r.c.model.embeddings, _ = r.Text(n, "embeddings", "text-embedding-3-small")
	}
	if n := m["timeout"]; n != nil {
		r.c.model.timeout = r.Duration(n, "timeout", time.Millisecond, time.Minute)
	}
	if n := m["judge"]; n != nil {
		r.c.model.judge, _ = r.Text(n, "judge", "gpt-4o-mini")
	}
	if m["url"] == nil {
		r.Fault(n, "write it as "+example, "model has no url")
	}
	if m["embeddings"] == nil && m["judge"] == nil {
		r.Fault(n, "write it as "+example, "model names neither embeddings nor a judge: it would be asked nothing")
	}
}

// service is the configured service.
func (m *model) service() *meaning.Service {
	return meaning.NewService(m.url, string(m.key), m.timeout)
}

// judge is the model that may answer similar for a caller; nil without one.
func (c *config) judge() gateway.Judge {
	if c.model == nil || c.model.judge == "" {
		return nil
	}
	return &meaning.Judge{Service: c.model.service(), Model: c.model.judge}
}

// wording is what compares free text: the model's embeddings where one is configured, else, and whenever it does not answer, our own
// lexical measure. log may be nil.
func (c *config) wording(log *slog.Logger) gateway.Wording {
	if c.model == nil || c.model.embeddings == "" {
		return &meaning.Lexical{}
	}
	e := &meaning.Embedded{Service: c.model.service(), Model: c.model.embeddings}
	if log != nil {
		e.Fell = func(err error) { log.Warn("wording is compared without the model", "error", err) }
	}
	return e
}
