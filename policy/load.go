package policy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"agentgw/canonicalize"
)

// Env is what a policy is read against. The zero Env knows of no tools and upstreams and does not check their names.
type Env struct {
	Defaults     canonicalize.Defaults
	Upstreams    map[string]UpstreamFacts // by name; nil: not known
	Tools        map[string]bool          // names of all tools; nil: not known
	Routes       map[string]Route         // a tool's own route, where it is known (POST where it names no method): calling by name and by route are one thing
	Replicated   bool                     // the configuration has all claims replicated
	Unreplicated string                   // a ledger without replicas, as it stands in messages; "": it may have some
	AllowAll     bool                     // names are not checked, and an unknown upstream may have an idempotency_header: lint and tests
}

// UpstreamFacts is what policies depend on of an upstream.
type UpstreamFacts struct {
	IdempotencyHeader bool // it dedups by a key that we send
}

// Load reads policy files into one Policy. Its only error is Errors: all that is wrong, not the first of it.
func Load(sources []Source, env Env) (*Policy, error) {
	l := newLoader(env)
	for _, src := range sources {
		root, err := document(src)
		if err != nil {
			l.found = append(l.found, err.(Errors)...)
			continue
		}
		l.file(src, root)
	}
	return l.finish()
}

// LoadNode reads entities and operations that stand inside another file, such as a policy test; either may be nil. Positions are those
// of the nodes.
func LoadNode(entities, operations *yaml.Node, file string, env Env) (*Policy, error) {
	l := newLoader(env)
	r := &reader{src: Source{Name: file}, env: &l.env, found: &l.found}
	l.parts(r, target(entities), target(operations))
	return l.finish()
}

// target is the node that an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// LoadFiles reads policies from files, and from the *.yaml files of folders; policy tests (with `cases`) in a folder are passed over.
func LoadFiles(paths []string, env Env) (*Policy, error) {
	var sources []Source
	var found Errors
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			found = append(found, Finding{File: path, Message: err.Error()})
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			switch {
			case err != nil:
				found = append(found, Finding{File: name, Message: reasonOf(err)})
			case name != path && isTest(text):
			default:
				sources = append(sources, Source{name, text})
			}
		}
		if err == nil && len(files) == 0 {
			found = append(found, Finding{File: path, Message: "the folder holds no policy", Remedy: "policies are files *.yaml"})
		}
	}
	p, err := Load(sources, env)
	if errs, ok := err.(Errors); ok {
		found = append(found, errs...)
	}
	if len(found) > 0 {
		return nil, Errors(sorted(found))
	}
	return p, err
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s", reasonOf(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("%s", reasonOf(err))
	}
	var files []string
	for _, e := range entries {
		switch ext := filepath.Ext(e.Name()); {
		case e.IsDir() || strings.HasPrefix(e.Name(), "."):
		case ext == ".yaml":
			files = append(files, filepath.Join(path, e.Name()))
		case ext == ".yml": // passing over a guard in silence would let its calls through
			return nil, fmt.Errorf("%s would not be read; rename it to *.yaml", e.Name())
		}
	}
	return files, nil
}

func reasonOf(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// isTest reports whether a file is a policy test. What cannot be read is none: it shall be complained about.
func isTest(text []byte) bool {
	root, err := document(Source{Text: text})
	return err == nil && root.Kind == yaml.MappingNode && slices.ContainsFunc(root.Content, func(n *yaml.Node) bool {
		return n.Kind == yaml.ScalarNode && n.Value == "cases"
	})
}

// loader brings the parts of several files together.
type loader struct {
	env        Env
	found      []Finding
	entities   map[string]*EntityType
	places     map[string]mark // where an entity or operation was named first
	entityList []string
	pending    []pending
	operations []*operationReader
}

// pending is an operation that waits until all entities are known.
type pending struct {
	r *reader
	pair
}

func newLoader(env Env) *loader {
	routes := make(map[string]Route, len(env.Routes))
	for tool, r := range env.Routes {
		r.Method = cmp.Or(r.Method, "POST")
		routes[tool] = r
	}
	env.Routes = routes
	return &loader{env: env, entities: map[string]*EntityType{}, places: map[string]mark{}}
}

// file reads one file's members.
func (l *loader) file(src Source, root *yaml.Node) {
	r := &reader{src: src, env: &l.env, found: &l.found}
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		r.faultAt(0, 0, "write version: 1 and operations", "the file holds no policy")
		return
	}
	if !r.strict(root) {
		return
	}
	m := r.members(root, "a policy", "version: 1, entities: {…}, operations: {…}", "version", "entities", "operations")
	if len(root.Content) == 0 || root.Kind != yaml.MappingNode {
		return
	}
	switch version := m["version"]; {
	case version == nil:
		r.fault(root, "begin it with version: 1", "the policy does not say its version")
	case version.Kind != yaml.ScalarNode || version.Value != "1":
		r.fault(version, "write version: 1", "version cannot be %s", kindOf(version))
	}
	if m["operations"] == nil && m["entities"] == nil {
		r.fault(root, "add operations: {name: {tools: […], key: {…}}}", "the policy has no operations")
	}
	l.parts(r, m["entities"], m["operations"])
}

// parts reads entities at once and puts operations aside: an entity may stand in a later file.
func (l *loader) parts(r *reader, entities, operations *yaml.Node) {
	if entities != nil && (r.src.Text != nil || r.strict(entities)) {
		for _, p := range r.pairs(entities, "entities", "{order: {states: [pending, shipped], initial: pending}}") {
			if l.isNew(r, "entity", p) {
				l.entityList = append(l.entityList, p.name)
				l.entities[p.name] = r.entityType(p)
			}
		}
	}
	if operations != nil && (r.src.Text != nil || r.strict(operations)) {
		for _, p := range r.pairs(operations, "operations", "{invoice.issue: {tools: [create_invoice], key: {order: id}}}") {
			if l.isNew(r, "operation", p) {
				l.pending = append(l.pending, pending{r, p})
			}
		}
	}
}

// isNew refuses a second entity or operation of one name, and names that no message could show clearly.
func (l *loader) isNew(r *reader, what string, p pair) bool {
	if !isName(p.name) {
		r.fault(p.key, "use letters, digits, dots, dashes and underscores", "%q cannot name an %s", p.name, what)
	}
	at := what + " " + p.name
	if first, ok := l.places[at]; ok {
		if first.file != r.src.Name { // in one file it is a duplicate key, and has been said
			r.fault(p.key, "rename one of them", "%s is already defined at %s", at, first)
		}
		return false
	}
	l.places[at] = r.mark(p.key)
	return true
}

// finish reads the operations and what holds between them.
func (l *loader) finish() (*Policy, error) {
	p := &Policy{Entities: l.entities}
	for _, next := range l.pending {
		o := next.r.operation(next.pair, l.entities, l.entityList)
		l.operations = append(l.operations, o)
		p.Operations = append(p.Operations, o.op)
	}
	l.overlaps()
	if len(l.found) > 0 {
		return nil, Errors(sorted(l.found))
	}
	p.index = newIndex(p.Operations, l.env.Routes)
	return p, nil
}
