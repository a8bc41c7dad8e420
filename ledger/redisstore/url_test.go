package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"agentgw/internal/redistest"
)

func TestURL(t *testing.T) {
	for url, want := range map[string]string{
		"redis://localhost":                 "tcp [localhost:6379] db 0",
		"redis://h:7000/2":                  "tcp [h:7000] db 2",
		"redis://[::1]":                     "tcp [[::1]:6379] db 0",
		"redis://[::1]:7000/":               "tcp [[::1]:7000] db 0",
		"redis://u:p%40ss@h?prefix=a:":      "tcp [h:6379] db 0 user u p@ss prefix a:",
		"redis://:secret@h?db=3":            "tcp [h:6379] db 3 user  secret",
		"rediss://h":                        "tcp [h:6379] db 0 tls",
		"redis+unix:///run/redis.sock?db=1": "unix [/run/redis.sock] db 1",
		"unix:///run/redis.sock":            "unix [/run/redis.sock] db 0",
		"redis-sentinel://a,b:2/main/4?sentinel_password=x&tls=true": "tcp [a:26379 b:2] db 4 primary main sentinel x tls",
		"redis-cluster://u:p@a,b:2,[::1]:3?tls=true":                 "tcp [a:6379 b:2 [::1]:3] db 0 cluster user u p tls",
	} {
		a, err := parseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := fmt.Sprintf("%s %v db %d", a.network, a.hosts, a.db)
		if a.primary != "" {
			got += " primary " + a.primary
		}
		if a.cluster {
			got += " cluster"
		}
		if a.username+a.password != "" {
			got += " user " + a.username + " " + a.password
		}
		if a.sentinelPassword != "" {
			got += " sentinel " + a.sentinelPassword
		}
		if a.prefix != "" {
			got += " prefix " + a.prefix
		}
		if a.tls != nil {
			got += " tls"
		}
		if got != want {
			t.Errorf("%s:\n got  %s\n want %s", url, got, want)
		}
	}
}

func TestBadURL(t *testing.T) {
	for url, says := range map[string]string{
		"localhost:6379":                        "begins with redis://",
		"http://h":                              "use redis, rediss",
		"redis://":                              "not a host",
		"redis://a,b":                           "redis-cluster://",
		"redis://h/one":                         "not a number",
		"redis://h/1/2":                         "more than a database number",
		"redis://h:port":                        "not a host or host:port",
		"redis://h?timeout=1":                   "not known after ?",
		"redis://h?prefix={x}":                  "prefix",
		"redis://h?ca=/no/such":                 "ca needs TLS",
		"rediss://h?ca=/no/such":                "no such file",
		"rediss://h?tls=false":                  "tls=true",
		"redis+unix://run/redis.sock":           "three slashes",
		"redis-sentinel://a,b":                  "name the primary",
		"redis-cluster://a,b/1":                 "no databases",
		"redis-cluster://a,b?db=1":              "no databases",
		"redis://user:hunter2%zz@h":             "escape special characters",
		"redis-sentinel://u:hunter2@a,b:x/main": "not a host",
	} {
		_, err := parseURL(url)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, expected %q", url, err, says)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// The commands that the package comment lists are all that a user needs.
func TestUsers(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{
		"gw on >p@ss/word ~agw.{agw:*}:* -@all +info +eval +evalsha +script|load +time +get +set +del +zadd +zrem +zremrangebyscore +scan +zscan +zcard +exists",
		"weak on >weak ~* -@all +info +eval +evalsha +script|load",
	}})
	at := strings.TrimPrefix(server.TCP, "redis://")
	s := open(t, "redis://gw:p%40ss%2Fword@"+at+"?prefix=agw.")
	if err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
	applied(t, s, claim(1))
	if found, _, err := s.Open(t.Context(), "", 10); err != nil || len(found) != 1 {
		t.Errorf("open: %v, %v", found, err)
	}
	if found, _, err := s.Scan(t.Context(), "", 1000); err != nil || len(found) != 1 {
		t.Errorf("scan: %v, %v", found, err)
	}
	refused(t, open(t, "redis://weak:weak@"+at), claim(1), "may not do what a ledger needs")
	wrong := open(t, "redis://gw:hunter2@"+at)
	refused(t, wrong, claim(1), "does not take this user and password")
	if err := wrong.Health(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "does not take this user and password") {
		t.Errorf("health: %v", err)
	}
}
