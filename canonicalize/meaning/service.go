package meaning

import (
	"context"
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
