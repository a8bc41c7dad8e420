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
	embeddings string
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
		r.Fault(n, "leave it out", "model: judge is not yet supported")
	}
	for _, needed := range []string{"url", "embeddings"} {
		if m[needed] == nil {
			r.Fault(n, "write it as "+example, "model has no %s", needed)
		}
	}
}

// wording is what compares free text: the model's embeddings where one is configured, else, and whenever it does not answer, our own
// lexical measure. log may be nil.
func (c *config) wording(log *slog.Logger) gateway.Wording {
	if c.model == nil {
		return &meaning.Lexical{}
	}
	e := &meaning.Embedded{Service: meaning.NewService(c.model.url, string(c.model.key), c.model.timeout), Model: c.model.embeddings}
	if log != nil {
		e.Fell = func(err error) { log.Warn("wording is compared without the model", "error", err) }
	}
	return e
}
