package policy_test

import (
	"testing"
	"time"

	"agentgw/policy"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "24h": 24 * time.Hour, "7d": 168 * time.Hour, "400d": 9600 * time.Hour, "90m": 90 * time.Minute,
		"1m30s": 90 * time.Second, "1h30m": 90 * time.Minute, "0.02s": 20 * time.Millisecond, "20.1h": 72360 * time.Second,
		"250ms": 250 * time.Millisecond, "1d12h": 36 * time.Hour, "1513h": 1513 * time.Hour,
	} {
		if got, err := policy.ParseDuration(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "90", "1", "-1s", "1w", "1y", "1 h", "h", "30m1h", "1h1h", "1µs", "１h", "1e3s", "40000d", "99999999h", "1H", "1,5h", ".5h"} {
		if got, err := policy.ParseDuration(s); err == nil {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}
