package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agentgw/policy"
)

var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks are the fenced blocks of a document in one language.
func blocks(t *testing.T, file, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, b := range fenced.FindAllStringSubmatch(string(text), -1) {
		if b[1] == language {
			found = append(found, b[2])
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no %s", file, language)
	}
	return found
}

// TestPolicyDocs: every policy in docs/policies.md loads, and every member and type of the language is in it.
func TestPolicyDocs(t *testing.T) {
	for _, b := range blocks(t, "docs/policies.md", "yaml") {
		if _, err := policy.Load([]policy.Source{{Name: "docs/policies.md", Text: []byte(b)}}, policy.Env{AllowAll: true}); err != nil {
			t.Errorf("%v in\n%s", err, b)
		}
	}
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := policy.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Defs struct {
			Operation struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &s); err != nil || len(s.Defs.Operation.Properties) < 20 {
		t.Fatal(err, len(s.Defs.Operation.Properties))
	}
	for name := range s.Defs.Operation.Properties {
		if !regexp.MustCompile("(^|[^a-z_])" + name + "(`|:)").Match(text) {
			t.Errorf("docs/policies.md does not tell of %s", name)
		}
	}
}

// TestReadme: what README.md shows of commands is what they say. A line that begins with $ is a command, run in a folder that
// `agentgw init` has filled; the lines below it are its output.
func TestReadme(t *testing.T) {
	shows := blocks(t, "README.md", "console")
	t.Chdir(t.TempDir())
	var out, errs strings.Builder
	say := func(args ...string) int {
		out.Reset()
		errs.Reset()
		return run(t.Context(), args, strings.NewReader(""), &out, &errs, os.Environ())
	}
	if code := say("init"); code != 0 {
		t.Fatal(code, errs.String())
	}
	shown := 0
	for _, b := range shows {
		for _, part := range strings.Split("\n"+b, "\n$ agentgw ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			if code := say(shellWords(command)...); code != 0 {
				t.Errorf("%s ended with %d: %s", command, code, errs.String())
			}
			if got := strings.TrimSpace(out.String()); got != strings.TrimSpace(want) {
				t.Errorf("agentgw %s says\n%s\nand README.md shows\n%s", command, got, want)
			}
			shown++
		}
	}
	if shown < 2 {
		t.Errorf("README.md shows %d commands", shown)
	}
}

// shellWords splits a command line at spaces outside single quotes.
func shellWords(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
