package policy_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agentgw/policy"
)

var update = flag.Bool("update", false, "write what comes out into testdata/load/*.txtar")

// Each file is a policy (or several), and all that is wrong with it, or what lint says of it. An env.json beside them names the tools and
// upstreams of the configuration.
func TestLoadGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var env policy.Env
	var sources []policy.Source
	want := -1
	for i, f := range archive.Files {
		switch {
		case f.Name == "env.json":
			if err := json.Unmarshal(f.Data, &env); err != nil {
				t.Fatal(err)
			}
		case f.Name == "errors" || f.Name == "lint":
			want = i
		default:
			text := strings.NewReplacer("<TAB>", "\t", "<BEL>", "\a", "<BAD>", "\xff").Replace(string(f.Data))
			sources = append(sources, policy.Source{Name: f.Name, Text: []byte(text)})
		}
	}
	if want < 0 {
		t.Fatal("the file expects neither errors nor lint")
	}
	got := ""
	p, err := policy.Load(sources, env)
	if err != nil {
		got = err.Error() + "\n"
		if _, ok := err.(policy.Errors); !ok {
			t.Errorf("the error is a %T", err)
		}
	} else if archive.Files[want].Name == "lint" {
		for _, f := range policy.Lint(p) {
			got += f.String() + "\n"
		}
	}
	if *update {
		archive.Files[want].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if expected := string(archive.Files[want].Data); got != expected {
		t.Errorf("got:\n%s\nwant:\n%s", got, expected)
	}
}

// Whatever a file holds, reading it ends, and every complaint has a place within it.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Load([]policy.Source{{Name: "p.yaml", Text: text}}, policy.Env{})
		if err == nil {
			policy.Lint(p)
			return
		}
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + strings.Count(string(text), "\u2028") + strings.Count(string(text), "\u2029") + strings.Count(string(text), "\u0085") + 2
		for _, e := range err.(policy.Errors) {
			if e.Line < 0 || e.Line > lines || e.Col < 0 || e.Message == "" {
				t.Errorf("%s", e)
			}
		}
	})
}

func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a.yaml", "version: 1\nentities: {order: {states: [new, done], initial: new}}\n")
	b := write("b.yaml", "version: 1\noperations:\n  order.finish: {tools: [finish], pattern: transition, entity: {order: {id: id}}, from: [new], to: done}\n")
	write("b_test.yaml", "policy: b.yaml\ncases: []\n")
	write("README.md", "not a policy")

	p, err := policy.LoadFiles([]string{dir}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if o := p.Operation("order.finish"); o == nil || o.Initial != "new" || o.Place != b+":3:3" {
		t.Errorf("read %+v", o)
	}
	for name, paths := range map[string][]string{
		"no such file":           {filepath.Join(dir, "missing.yaml")},
		"there is no entity":     {b}, // the entity stands in the other file
		"no member \"policy\"":   {filepath.Join(dir, "b_test.yaml")},
		"the folder holds no po": {t.TempDir()},
	} {
		if _, err := policy.LoadFiles(paths, policy.Env{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: got %v, want %q", paths, err, name)
		}
	}
	write("c.yml", "version: 1\n")
	if _, err := policy.LoadFiles([]string{dir}, policy.Env{}); err == nil || !strings.Contains(err.Error(), "rename it to *.yaml") {
		t.Errorf("a .yml file was passed over: %v", err)
	}
}
