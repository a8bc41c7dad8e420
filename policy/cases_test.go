package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"

	"agentgw/policy"
)

// The policies of all policy tests must load.
func TestLoadNodeCases(t *testing.T) {
	files, err := filepath.Glob("../simulate/testdata/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("found %d files of policy tests: %v", len(files), err)
	}
	loaded := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var suite struct {
			Entities, Operations yaml.Node
			Cases                []struct {
				Name                 string
				Dedups               bool `yaml:"upstream_dedups"`
				Entities, Operations yaml.Node
			}
		}
		if err := yaml.Unmarshal(text, &suite); err != nil {
			t.Fatal(err)
		}
		for _, c := range suite.Cases {
			env := policy.Env{AllowAll: true, Upstreams: map[string]policy.UpstreamFacts{"scripted": {IdempotencyHeader: c.Dedups}}}
			p, err := policy.LoadNode(orNil(&c.Entities), orNil(&c.Operations), file, env)
			if err != nil {
				t.Errorf("%s:\n%v", c.Name, err)
				continue
			}
			loaded += len(p.Operations)
		}
	}
	if loaded < 100 {
		t.Errorf("only %d operations were read", loaded)
	}
}

func orNil(n *yaml.Node) *yaml.Node {
	if n.IsZero() {
		return nil
	}
	return n
}
