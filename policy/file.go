package policy

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"agentgw/canonicalize"
)

// File is a YAML file that is read as strictly as a policy, such as the gateway's configuration. Its readers collect what is wrong, with
// its place, and go on; Err tells it all at the end.
type File struct {
	Root *yaml.Node

	r     reader
	found []Finding
}

// Member is one member of a map.
type Member struct {
	Name       string
	Key, Value *yaml.Node
}

// OpenFile parses one YAML document. Its only error is Errors: then nothing more can be read.
func OpenFile(src Source) (*File, error) {
	root, err := document(src)
	if err != nil {
		return nil, err
	}
	f := &File{Root: root}
	f.r = reader{src: src, env: &Env{}, found: &f.found}
	if !f.r.strict(root) {
		return nil, f.Err()
	}
	return f, nil
}

// Err is everything that was found wrong, as Errors sorted by place; nil: nothing.
func (f *File) Err() error {
	if len(f.found) == 0 {
		return nil
	}
	return Errors(sorted(slices.Clone(f.found)))
}

// Fault notes what is wrong with n and what to do about it; remedy may be "".
func (f *File) Fault(n *yaml.Node, remedy, format string, args ...any) {
	f.r.fault(n, remedy, format, args...)
}

// Members are the members of a map with fixed names, by name; another name is a fault, and the nearest right one is proposed. example is
// how the map is written.
func (f *File) Members(n *yaml.Node, what, example string, known ...string) map[string]*yaml.Node {
	return f.r.members(n, what, example, known...)
}

// Pairs are the members of a map whose names are free, in their order.
func (f *File) Pairs(n *yaml.Node, what, example string) []Member {
	var found []Member
	for _, p := range f.r.pairs(n, what, example) {
		found = append(found, Member{p.name, p.key, p.value})
	}
	return found
}

// Text is a scalar as it is written; ok is false where it is none, or blank.
func (f *File) Text(n *yaml.Node, what, example string) (text string, ok bool) {
	return f.r.text(n, what, example)
}

// Texts are the scalars of a list, each once.
func (f *File) Texts(n *yaml.Node, what, example string) (texts []string, nodes []*yaml.Node) {
	return f.r.texts(n, what, example)
}

// Word is a scalar that is one of words; def where it is none of them.
func (f *File) Word(n *yaml.Node, what, def string, words ...string) string {
	return f.r.word(n, what, def, words...)
}

// Bool is true or false; false where it is neither.
func (f *File) Bool(n *yaml.Node, what string) bool { return f.r.boolean(n, what) }

// Duration is a duration as ParseDuration reads it, between two bounds; 0 where it is none.
func (f *File) Duration(n *yaml.Node, what string, least, most time.Duration) time.Duration {
	d, _ := f.r.duration(n, what, least, most)
	return d
}

// JSON is what the YAML below n says as JSON; numbers keep their digits.
func (f *File) JSON(n *yaml.Node) (v canonicalize.Value, ok bool) { return f.r.json(n, 0) }
