package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"agentgw/canonicalize/meaning"
	"agentgw/gateway"
	"agentgw/policy"
)

// adviceTimeout is how long a model may think about one tool. Nobody waits for a call meanwhile.
const adviceTimeout = time.Minute

// adviser is the model that is asked for a draft, as --model or --config name it; nil without one.
func (c *policySuggestCmd) adviser(a *app) (policy.Adviser, error) {
	m, err := c.model(a)
	if m == nil || err != nil {
		return nil, err
	}
	s := &suggesting{app: a, service: meaning.NewService(m.url, string(m.key), adviceTimeout), model: m.judge}
	return s.advise, nil
}

// model is the service and, as its judge, the model to ask.
func (c *policySuggestCmd) model(a *app) (*model, error) {
	switch {
	case c.Model != "" && c.Config != "":
		return nil, usagef("give either --model or --config")
	case c.Model == "" && c.Config == "":
		if c.ModelName+c.APIKey != "" {
			return nil, usagef("--model-name and --api-key say nothing without --model URL")
		}
		return nil, nil
	case c.Config != "" && c.APIKey != "":
		return nil, usagef("--config has a key of its own; leave --api-key out")
	}
	m := &model{url: c.Model, judge: c.ModelName}
	if c.Config != "" {
		conf, err := loadConfig(c.Config, a.env)
		if err != nil {
			return nil, err
		}
		if conf.model == nil {
			return nil, usagef("%s has no model: add one, or leave --config out", c.Config)
		}
		m = &model{url: conf.model.url, key: conf.model.key, judge: cmp.Or(c.ModelName, conf.model.judge)}
	} else {
		if _, err := through(c.Model, ""); err != nil {
			return nil, usagef("--model: %q is not the URL of a model service; write it as https://api.openai.com/v1", c.Model)
		}
		key, err := a.fromEnv(c.APIKey)
		if err != nil {
			return nil, err
		}
		m.key = gateway.Secret(key)
	}
	if m.judge == "" {
		return nil, usagef("say which model is asked: --model-name NAME")
	}
	return m, nil
}

// suggesting asks a model about one tool after the other. Its failures cost its advice, never the draft.
type suggesting struct {
	app     *app
	service *meaning.Service
	model   string
	down    bool // the service failed: the rest of the draft is made without it
}

// advise implements policy.Adviser. It fails only where the user gives up.
func (s *suggesting) advise(t policy.ToolFacts, op policy.DraftOperation) (map[string]policy.Advice, error) {
	data, schema, ok := policy.AdviceQuestion(t, op)
	if !ok || s.down {
		return nil, nil
	}
	answer, err := s.service.Ask(s.app.ctx, meaning.Question{Model: s.model, Task: policy.AdviceTask, Data: data, Name: "advice", Schema: schema})
	if gone := s.app.ctx.Err(); gone != nil {
		return nil, gone
	}
	if err != nil {
		s.down = true
		s.say("the model service failed at tool %q, and the rest of the draft is made without it: %v", t.Name, err)
		return nil, nil
	}
	advice, err := policy.ReadAdvice(answer, schema)
	if err != nil {
		s.say("tool %q is drafted without the model: %v", t.Name, err)
		return nil, nil
	}
	return advice, nil
}

func (s *suggesting) say(format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") // what a service says is one line
	fmt.Fprintln(s.app.stderr, "agentgw:", shorten(text, 400))
}
