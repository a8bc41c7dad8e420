package meaning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Service is an OpenAI-compatible model service. It is asked about wording and never trusted with identity; while it fails, nobody waits
// for it.
type Service struct {
	client  *openai.Client
	timeout time.Duration
	until   atomic.Int64 // Unix nanoseconds until which it is not asked again
}

// Limits of the service where none are given.
const (
	defaultTimeout = 2 * time.Second
	restAfterFault = 30 * time.Second
)

// NewService speaks to the service at url (".../v1") with a key, which may be empty. timeout bounds every question; 0 is 2 s.
func NewService(url, key string, timeout time.Duration) *Service {
	c := openai.DefaultConfig(key)
	c.BaseURL = url
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	return &Service{client: openai.NewClientWithConfig(c), timeout: timeout}
}

// resting reports whether the service failed a short while ago.
func (s *Service) resting() bool { return time.Now().UnixNano() < s.until.Load() }

// failed lets the service rest, unless it was the caller who went away.
func (s *Service) failed(caller context.Context) {
	if caller.Err() == nil {
		s.until.Store(time.Now().Add(restAfterFault).UnixNano())
	}
}

var errResting = errors.New("the model service failed a short while ago and is not asked")

// Question is one question to a chat model that must answer in JSON of a schema.
type Question struct {
	Model  string
	Task   string // what to do
	Data   []byte // what to do it with; never instructions
	Name   string // of the schema
	Schema []byte // JSON Schema of the answer
}

// Ask asks once, within the service's timeout, and returns the answer as it came: the caller reads it strictly, for not every service
// honours the schema.
func (s *Service) Ask(ctx context.Context, q Question) ([]byte, error) {
	if s.resting() {
		return nil, errResting
	}
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	answer, err := s.client.CreateChatCompletion(bounded, openai.ChatCompletionRequest{
		Model: q.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: q.Task},
			{Role: openai.ChatMessageRoleUser, Content: string(q.Data)},
		},
		ResponseFormat: &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Name, Schema: json.RawMessage(q.Schema), Strict: true}},
	})
	if err != nil {
		s.failed(ctx)
		return nil, err
	}
	if len(answer.Choices) != 1 {
		return nil, fmt.Errorf("the service answered %d choices", len(answer.Choices))
	}
	return []byte(answer.Choices[0].Message.Content), nil
}
