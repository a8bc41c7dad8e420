package canonicalize

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestValues reads testdata/values/*.txtar: what one type takes for one value. The files of an archive are
//
//	agree TYPE    groups of spellings, a line each, that are one value; each group is headed by "= " and its canonical form
//	refuse TYPE   spellings, a line each, that are refused; after a tab a part of the message
//
// Two groups of one type never meet. A line that begins with "json " holds JSON, any other is the text of a string; \t, \n and \s are a
// tab, a line break and a space.
func TestValues(t *testing.T) {
	files, err := filepath.Glob("testdata/values/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.Fields(string(archive.Comment))) < 5 {
				t.Error("the archive does not say in its comment what it shows")
			}
			for _, f := range archive.Files {
				kind, expr, _ := strings.Cut(f.Name, " ")
				typ, err := compileType(expr, Defaults{})
				if err != nil {
					t.Fatal(f.Name, err)
				}
				lines := strings.Split(strings.TrimRight(string(f.Data), "\n"), "\n")
				switch kind {
				case "agree":
					agreeValues(t, typ, expr, lines)
				case "refuse":
					refuseValues(t, typ, expr, lines)
				default:
					t.Fatalf("unknown part %q", f.Name)
				}
			}
		})
	}
}

func agreeValues(t *testing.T, typ Type, expr string, lines []string) {
	want := ""
	seen := map[string]bool{}
	for _, line := range lines {
		if head, ok := strings.CutPrefix(line, "= "); ok {
			if want = head; seen[want] {
				t.Errorf("%s: two groups are %s", expr, want)
			}
			seen[want] = true
			again(t, typ, expr, want)
			continue
		}
		if line == "" {
			continue
		}
		got, err := typ.Canon(nil, lineValue(t, line), siblings)
		if err != nil {
			t.Errorf("%s: %s: %v", expr, line, err)
		} else if string(got) != want {
			t.Errorf("%s: %s is %s, want %s", expr, line, got, want)
		}
	}
}

// again checks that a canonical form reads as itself.
func again(t *testing.T, typ Type, expr, canon string) {
	t.Helper()
	v, err := Parse([]byte(canon))
	if err != nil {
		t.Fatalf("%s: %s: %v", expr, canon, err)
	}
	got, err := typ.Canon(nil, v, siblings)
	if err != nil || string(got) != canon {
		t.Errorf("%s: canon of %s is %s, %v", expr, canon, got, err)
	}
}

func refuseValues(t *testing.T, typ Type, expr string, lines []string) {
	for _, line := range lines {
		line, message, _ := strings.Cut(line, "\t")
		got, err := typ.Canon(nil, lineValue(t, line), siblings)
		if err == nil {
			t.Errorf("%s: %s is %s, want it refused", expr, line, got)
		} else if !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %s: the message is %q, want %q in it", expr, line, err, message)
		}
	}
}

// siblings are the other arguments of every line.
var siblings = func() Value {
	v, err := Parse([]byte(`{"currency": "eur", "none": null, "bad": "EURO!"}`))
	if err != nil {
		panic(err)
	}
	return v
}()

func lineValue(t *testing.T, line string) Value {
	if text, ok := strings.CutPrefix(line, "json "); ok {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(line, err)
		}
		return v
	}
	return Value{Kind: String, Text: strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\s`, " ").Replace(line)}
}
