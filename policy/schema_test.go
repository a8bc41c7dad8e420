package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"agentgw/policy"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := policy.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is fetched
	if err := c.AddResource("policy.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The schema accepts whatever loads, as far as the policy tests know.
func TestSchemaAccepts(t *testing.T) {
	s := compiled(t)
	files, _ := filepath.Glob("../simulate/testdata/*.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var suite struct{ Cases []map[string]any }
		if err := yaml.Unmarshal(text, &suite); err != nil {
			t.Fatal(err)
		}
		for _, c := range suite.Cases {
			doc := map[string]any{"version": 1, "operations": c["operations"]}
			if c["entities"] != nil {
				doc["entities"] = c["entities"]
			}
			if err := s.Validate(asJSON(t, doc)); err != nil {
				t.Errorf("%v: %v", c["name"], err)
			}
		}
	}
}

// The schema refuses what an editor should underline.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	fine := `{tools: [a], key: {x: id}, ttl: 7d, outcomes: {"503": failed}, must_match: all}`
	for _, operation := range []string{
		`{key: {x: id}}`, `{tools: [], key: {x: id}}`, `{tools: [a], keys: {x: id}}`, `{tools: [a], key: {x: idd}}`, `{tools: [a], key: {}}`,
		`{tools: [a], pattern: onse}`, `{tools: [a], ttl: 7 days}`, `{tools: [a], ttl: 7}`, `{tools: [a], outcomes: {"603": failed}}`,
		`{tools: [a], outcomes: {"503": fail}}`, `{tools: [a], attempts: {count: 0, per: 1m}}`, `{tools: [a], must_match: some}`,
		`{tools: [a], probe: {}}`, `{tools: [a], sliding: "true"}`, `{tools: [a], key: {x: {arg: y}}}`,
	} {
		var op any
		if err := yaml.Unmarshal([]byte(operation), &op); err != nil {
			t.Fatal(err)
		}
		if s.Validate(asJSON(t, map[string]any{"version": 1, "operations": map[string]any{"a": op}})) == nil {
			t.Errorf("%s is accepted", operation)
		}
	}
	var op any
	if err := yaml.Unmarshal([]byte(fine), &op); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(asJSON(t, map[string]any{"version": 1, "operations": map[string]any{"a": op}})); err != nil {
		t.Error(err)
	}
}
