package redisstore

import (
	"testing"
	"time"

	"agentgw/internal/redistest"
)

func TestFacts(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Config: []string{"appendonly yes", "appendfsync always", "maxmemory 100mb", "maxmemory-policy allkeys-lru"},
		Users: []string{"default on nopass ~* +@all", "small on >secret ~* +@all -config"}})
	s, err := Open(server.TCP, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.Facts(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(err)
	}
	f := all[0]
	if f.Eviction != "allkeys-lru" || !f.AOF || f.Fsync != "always" || !f.SaveRead || f.Save != "" || f.Replicas != 0 || f.Max != 100<<20 || f.Used == 0 {
		t.Errorf("%+v", f)
	}
	if f.Skew.Abs() > time.Second || f.Within > time.Second {
		t.Errorf("the clock of this machine differs from itself: %+v", f)
	}
	small, err := Open("redis://small:secret@"+server.Addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	if all, err = small.Facts(t.Context()); err != nil || all[0].SaveRead || all[0].Fsync != "" || !all[0].AOF {
		t.Errorf("a user who may not run CONFIG: %+v, %v", all, err)
	}
}

func TestFactsOfCluster(t *testing.T) {
	s, err := Open(redistest.StartCluster(t).URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if all, err := s.Facts(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}
