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

// Operations may stand in the test file itself, also once for several cases.
func TestLoadNode(t *testing.T) {
	var doc struct{ Shared, Entities, Operations yaml.Node }
	text := "shared: &ops\n  a: {tools: [a], kei: {x: id}, when: \"args.y == tol\"}\noperations: *ops\n"
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	_, err := policy.LoadNode(nil, &doc.Operations, "t.yaml", policy.Env{})
	errs, _ := err.(policy.Errors)
	if len(errs) != 3 || errs[0].Line != 2 || errs[1].Col != 19 || errs[2].Col != 39 {
		t.Errorf("got %v", err)
	}
	if p, err := policy.LoadNode(nil, nil, "t.yaml", policy.Env{}); err != nil || len(p.Operations) != 0 {
		t.Errorf("nothing: %+v, %v", p, err)
	}
}

func orNil(n *yaml.Node) *yaml.Node {
	if n.IsZero() {
		return nil
	}
	return n
}
