package agentgw_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// house is the import table of ARCHITECTURE.md: every package, and which of ours it may import. A new package needs a line here, and
// there.
var house = map[string][]string{
	".":                    nil,
	"canonicalize":         {"."},
	"canonicalize/meaning": {"."},
	"policy":               {".", "canonicalize"},
	"ledger":               {"."},
	"ledger/memstore":      {".", "ledger"},
	"ledger/filestore":     {".", "ledger"},
	"ledger/redisstore":    {".", "ledger"},
	"ledger/storetest":     {".", "ledger"},
	"gateway":              {".", "canonicalize", "policy", "ledger"},
	"simulate":             {".", "canonicalize", "canonicalize/meaning", "policy", "ledger", "ledger/memstore", "gateway"},
	"cmd/agentgw": {".", "canonicalize", "canonicalize/meaning", "policy", "ledger", "ledger/memstore", "ledger/filestore",
		"ledger/redisstore", "gateway", "simulate"},
	"chaos":                   nil,
	"examples/agents/refunds": nil,
	"internal/redistest":      nil,
	"internal/mutants":        nil,
}

// homes says where each library lives: a folder, or files of it. Who asks "where is Redis?" finds one place. A library that is not here
// has no home yet: give it one, and say in docs/design.md what it beats.
var homes = map[string][]string{
	"cel.dev/cel-go":                      {"policy"},
	"github.com/alecthomas/kong":          {"cmd/agentgw"},
	"github.com/anishathalye/porcupine":   {"ledger/storetest"},
	"github.com/beevik/etree":             {"gateway/xml.go", "gateway/request.go"},
	"github.com/bojanz/currency":          {"canonicalize"},
	"github.com/cespare/xxhash/v2":        {".", "canonicalize/meaning", "ledger/redisstore"},
	"github.com/klauspost/compress":       {"ledger"},
	"github.com/labstack/echo/v4":         {"gateway"},
	"github.com/nyaruka/phonenumbers":     {"canonicalize"},
	"github.com/prometheus/client_golang": {"gateway/metrics.go"},
	"github.com/redis/go-redis/v9":        {"ledger/redisstore"},
	"github.com/sashabaranov/go-openai":   {"canonicalize/meaning", "examples/agents/refunds"},
	"go.etcd.io/bbolt":                    {"ledger/filestore"},
	"go.yaml.in/yaml/v4":                  {"policy", "simulate", "cmd/agentgw"},
	"golang.org/x/net/html/charset":       {"gateway/charset.go"},
	"golang.org/x/net/http/httpguts":      {"cmd/agentgw"},
	"golang.org/x/net/idna":               {"canonicalize"},
	"golang.org/x/text/encoding":          {"gateway/charset.go"},
	"golang.org/x/text":                   {"canonicalize", "canonicalize/meaning"},
}

// source is one file that is no test.
type source struct {
	name, folder string
	file         *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || base == "bench" || base == "node_modules" || strings.HasPrefix(base, ".") && base != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		all = append(all, source{filepath.ToSlash(name), filepath.ToSlash(filepath.Dir(name)), file})
		return err
	})
	if err != nil || len(all) < 50 {
		t.Fatalf("found %d files: %v", len(all), err)
	}
	return all
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		allowed, known := house[s.folder]
		if !known {
			t.Errorf("%s: the package %s is in no room of the house: add it to the import table here and in ARCHITECTURE.md", s.name, s.folder)
			continue
		}
		for _, spec := range s.file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			ours, isOurs := strings.CutPrefix(name, "agentgw/")
			if name == "agentgw" {
				ours, isOurs = ".", true
			}
			switch {
			case isOurs && !slices.Contains(allowed, ours):
				t.Errorf("%s may not import %s", s.name, name)
			case !isOurs && strings.Contains(strings.Split(name, "/")[0], "."):
				checkHome(t, s, name)
			case s.folder == "." && slices.Contains([]string{"context", "os", "io", "net"}, strings.Split(name, "/")[0]):
				t.Errorf("%s imports %s: the root is pure", s.name, name)
			}
		}
	}
}

// checkHome finds the library with the longest name that the import belongs to.
func checkHome(t *testing.T, s source, name string) {
	for library := name; library != "."; library = path.Dir(library) {
		if rooms, ok := homes[library]; ok {
			if !slices.Contains(rooms, s.folder) && !slices.Contains(rooms, s.name) {
				t.Errorf("%s imports %s, whose home is %s", s.name, name, strings.Join(rooms, ", "))
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no home", s.name, name)
}

// TestPackageComments: every package says in one sentence what it is, in one place.
func TestPackageComments(t *testing.T) {
	said := map[string][]string{}
	for _, s := range sources(t) {
		said[s.folder] = append(said[s.folder], "")
		if s.file.Doc == nil {
			continue
		}
		text := strings.Join(strings.Fields(s.file.Doc.Text()), " ")
		begin := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			begin = "Command " + path.Base(s.folder) + " "
		}
		if !strings.HasPrefix(text, begin) || !strings.ContainsAny(text, ".:") {
			t.Errorf("%s: the package comment must be a sentence that begins with %q", s.name, begin)
		}
		said[s.folder][len(said[s.folder])-1] = s.name
	}
	for folder, files := range said {
		files = slices.DeleteFunc(files, func(s string) bool { return s == "" })
		if len(files) != 1 {
			t.Errorf("%s has %d package comments (%s) instead of one", folder, len(files), strings.Join(files, ", "))
		}
	}
}

// TestHouseIsLivedIn: the tables name nothing that is not there any more.
func TestHouseIsLivedIn(t *testing.T) {
	there, used := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		there[s.folder] = true
		for _, spec := range s.file.Imports {
			for library := strings.Trim(spec.Path.Value, `"`); library != "."; library = path.Dir(library) {
				used[library] = true
			}
		}
	}
	for library := range homes {
		if !used[library] {
			t.Errorf("%s has a home and is not used", library)
		}
	}
	for folder := range house {
		if !there[folder] {
			t.Errorf("%s is in the import table and has no Go files", folder)
		}
	}
}
