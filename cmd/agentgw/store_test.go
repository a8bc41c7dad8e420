package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"agentgw/ledger"
)

type sickStore struct {
	ledger.Store
	err error
}

func (s *sickStore) Health(context.Context) error { return s.err }

// Each change of a ledger's health is one line, whatever it is asked for meanwhile; a check that was given up is none.
func TestHealthLog(t *testing.T) {
	var out strings.Builder
	sick := &sickStore{}
	s := &healthLog{Store: sick, log: slog.New(slog.NewTextHandler(&out, nil))}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{nil, errors.New("away"), errors.New("still away"), nil, nil} {
		sick.err = err
		if got := s.Health(t.Context()); got != err {
			t.Errorf("%v instead of %v", got, err)
		}
	}
	sick.err = gone.Err()
	s.Health(gone)
	if strings.Count(out.String(), "level=WARN") != 2 || !strings.Contains(out.String(), "error=away") || !strings.Contains(out.String(), "is back") {
		t.Error(out.String())
	}
}
