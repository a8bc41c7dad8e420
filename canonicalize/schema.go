package canonicalize

import (
	"strconv"
	"strings"
)

// What a tool's schema may be at most: foreign servers send it, and it is read once a tool.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 24
	maxProperties  = 500
)

// Schema is what a tool's JSON Schema says about the arguments, as far as it tells values apart.
type Schema struct {
	Properties []Property
	Open       bool // members that the schema does not name may come: `additionalProperties` is not false
}

// Property is one argument as its schema describes it.
type Property struct {
	Name        string
	Kind        string // string, number, integer, boolean, array, object; "" where the schema does not say
	Description string
	Format      string // of JSON Schema: date, date-time, email, uri, uuid, …
	Enum        []string
	Default     *Value // from the schema, or from the words of its description ("Default is 12")
	Required    bool
	Items       *Property // of an array
	Properties  []Property
}

// ParseSchema reads a JSON Schema of an object. It follows `$ref` within the text only, takes what every branch of `anyOf` and `oneOf`
// but null says, and ignores what it does not know. A text that is too large or too deep is an error: the schema is unusable, and its tool is read without one.
func ParseSchema(raw []byte) (*Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, &Error{Reason: "the schema is larger than 256 KiB", Remedy: "declare the tool's fields in a policy"}
	}
	root, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	if root.Kind != Object {
		return nil, &Error{Reason: "the schema is " + root.Kind.String() + ", not an object", Remedy: `write {"type": "object", "properties": {…}}`}
	}
	r := schemaReader{root: root, left: maxProperties}
	p := r.property("", root, 0)
	if r.left < 0 {
		return nil, &Error{Reason: "the schema has more than 500 properties", Remedy: "declare the tool's fields in a policy"}
	}
	more, said := r.resolve(root, 0).Member("additionalProperties")
	return &Schema{Properties: p.Properties, Open: !said || more.Text != "false"}, nil
}

// schemaReader reads one schema.
type schemaReader struct {
	root Value
	left int // properties that may still come
}

func (r *schemaReader) property(name string, s Value, depth int) Property {
	p := Property{Name: name}
	if r.left--; r.left < 0 || depth > maxSchemaDepth {
		return p
	}
	s = r.resolve(s, depth)
	p.Kind = kindOf(s)
	p.Description = text(s, "description")
	if p.Description == "" {
		p.Description = text(s, "title")
	}
	p.Format = text(s, "format")
	if d, ok := s.Member("default"); ok && d.Kind != Null {
		p.Default = &d
	}
	p.Enum = enumOf(s)
	if items, ok := s.Member("items"); ok && items.Kind == Object {
		item := r.property("", items, depth+1)
		p.Items = &item
	}
	required := map[string]bool{}
	if names, ok := s.Member("required"); ok {
		for _, n := range names.Items {
			required[n.Text] = true
		}
	}
	if properties, ok := s.Member("properties"); ok {
		for _, m := range properties.Members {
			child := r.property(m.Name, m.Value, depth+1)
			child.Required = required[m.Name]
			p.Properties = append(p.Properties, child)
		}
	}
	if p.Kind == "" && p.Properties != nil {
		p.Kind = "object"
	}
	p.readDescription()
	return p
}

// resolve follows a local reference and merges the branches of a combination into one object.
func (r *schemaReader) resolve(s Value, depth int) Value {
	if depth > maxSchemaDepth || s.Kind != Object {
		return Value{}
	}
	if ref := text(s, "$ref"); ref != "" {
		target, ok := r.find(ref)
		if !ok {
			return s
		}
		return merge(s, r.resolve(target, depth+4))
	}
	for _, word := range [...]string{"allOf", "anyOf", "oneOf"} {
		branches, ok := s.Member(word)
		if !ok {
			continue
		}
		var real []Value
		for _, b := range branches.Items {
			if b = r.resolve(b, depth+4); b.Kind == Object && kindOf(b) != "null" {
				real = append(real, b)
			}
		}
		if word == "allOf" || len(real) == 1 {
			for _, b := range real {
				s = merge(s, b)
			}
		}
	}
	return s
}

// find returns what a reference within the schema points at. Nothing is ever fetched.
func (r *schemaReader) find(ref string) (Value, bool) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return Value{}, false
	}
	path, err := ParsePath("/" + pointer)
	if err != nil {
		return Value{}, false
	}
	return path.Find(r.root)
}

// merge adds to s the members of more that it lacks, and joins their properties and required names.
func merge(s, more Value) Value {
	out := Value{Kind: Object, Members: append([]Member(nil), s.Members...)}
	for _, m := range more.Members {
		own := out.member(m.Name)
		switch {
		case own == nil:
			out.Members = append(out.Members, m)
		case m.Name == "properties":
			*own = merge(*own, m.Value)
		case m.Name == "required":
			own.Items = append(append([]Value(nil), own.Items...), m.Value.Items...)
		}
	}
	return out
}

// kindOf is the schema's type; of a list of types, the one beside null.
func kindOf(s Value) string {
	t, _ := s.Member("type")
	if t.Kind == String {
		return t.Text
	}
	kind := ""
	for _, one := range t.Items {
		if one.Text == "null" {
			continue
		}
		if kind != "" {
			return ""
		}
		kind = one.Text
	}
	return kind
}

// enumOf lists the values of an enumeration; null does not count.
func enumOf(s Value) (out []string) {
	values, _ := s.Member("enum")
	if one, ok := s.Member("const"); ok {
		values = Value{Items: []Value{one}}
	}
	for _, v := range values.Items {
		if v.Kind != Null && v.Kind != List && v.Kind != Object {
			out = append(out, v.Text)
		}
	}
	return out
}

func text(s Value, name string) string {
	v, _ := s.Member(name)
	if v.Kind != String {
		return ""
	}
	return v.Text
}

// Fields is the reading of a tool's arguments that its schema gives: one field an argument, in the schema's order.
func (s *Schema) Fields() []FieldSpec {
	out := make([]FieldSpec, len(s.Properties))
	for i, p := range s.Properties {
		out[i] = p.Field()
	}
	return out
}

// Field is the reading of one argument. Nothing is ever missing: an absent argument is the default, or nothing.
func (p Property) Field() FieldSpec {
	name := p.Name
	if name == "" { // JSON allows it, policies do not
		name = "_"
	}
	return FieldSpec{Name: name, Type: p.Reading() + "?", Arg: []string{pointerTo(p.Name)}, Default: p.usableDefault()}
}

// usableDefault leaves out defaults that say nothing.
func (p Property) usableDefault() *Value {
	if p.Default == nil || (autoType{}).blank(p.Default) {
		return nil
	}
	return p.Default
}

// pointerTo is the path of a top-level member: the plain name, or a JSON Pointer where the name would read as a path.
func pointerTo(name string) string {
	if strings.ContainsAny(name, "./~") || name == "" {
		return "/" + escapeToken(name)
	}
	return name
}

// Reading is the type expression for one argument: auto with what the schema promises.
func (p Property) Reading() string {
	switch p.Kind {
	case "integer":
		return "auto(int)"
	case "number":
		return "auto(decimal)"
	case "boolean":
		return "auto(bool)"
	case "array":
		if inner := p.ItemReading(); inner != "" {
			return "auto(list|" + inner + ")"
		}
		return "auto(list)"
	case "object":
		if members := p.members(nil); members != "" {
			return "auto(object|" + members + ")"
		}
	case "string":
		return p.stringReading()
	}
	return "auto"
}

// ItemReading is the reading of an array's items without auto and its brackets: "id", "object|sku|quantity=1"; "" where nothing is known of them.
func (p Property) ItemReading() string {
	if p.Items == nil {
		return ""
	}
	inner, _ := strings.CutPrefix(p.Items.Reading(), "auto")
	return strings.TrimSuffix(strings.TrimPrefix(inner, "("), ")")
}

// members writes the members of an object for its reading, without those that skip names; "" where a name cannot stand in a type expression or the
// object may hold others.
func (p Property) members(skip func(Property) bool) string {
	var out []string
	for _, m := range p.Properties {
		if skip != nil && skip(m) {
			continue
		}
		word := m.Name
		if d := m.usableDefault(); d != nil && d.Kind != List && d.Kind != Object {
			word += "=" + d.Text
		}
		if strings.ContainsAny(word, "|()?") || strings.Contains(m.Name, "=") || strings.TrimSpace(word) != word {
			return ""
		}
		out = append(out, word)
	}
	return strings.Join(out, "|")
}

// ReadingWithout is Reading with the members left out that skip names: of an object, and of the objects in a list.
func (p Property) ReadingWithout(skip func(Property) bool) string {
	switch {
	case p.Kind == "object":
		if members := p.members(skip); members != "" {
			return "auto(object|" + members + ")"
		}
	case p.Kind == "array" && p.Items != nil && p.Items.Kind == "object":
		if members := p.Items.members(skip); members != "" {
			return "auto(list|object|" + members + ")"
		}
	}
	return p.Reading()
}

func (p Property) stringReading() string {
	switch {
	case len(p.Enum) > 0:
		return "auto(enum)"
	case p.Format == "date":
		return "auto(date)"
	case p.Format == "date-time" || p.Format == "time":
		return "auto(time)"
	case p.Format == "email":
		return "auto(email)"
	case p.Format == "uri" || p.Format == "url" || p.WordsEnd("url", "uri", "link", "website", "webpage"):
		return "auto(url)"
	case p.WordsEnd("email", "mail"):
		return "auto(email)"
	case p.Format == "uuid" || p.Reference():
		return "auto(id)"
	}
	if order, ok := p.dateOrder(); ok {
		if order == "" {
			return "auto(date)"
		}
		return "auto(date|" + order + ")"
	}
	if p.timeLike() {
		return "auto(time)"
	}
	return "auto(text)"
}

// Spec is the reading for a call that no policy knows: all arguments are identity, those that the schema does not name as they are.
func (s *Schema) Spec(d Defaults) (*Spec, error) {
	spec := &Spec{}
	for _, f := range s.Fields() {
		field, err := Compile(f, d)
		if err != nil {
			return nil, err
		}
		spec.Key = append(spec.Key, field)
	}
	if s.Open {
		spec.Key = append(spec.Key, s.rest())
	}
	return spec, nil
}

// rest is a field of all members that no other field reads.
func (s *Schema) rest() *Field {
	known := make(map[string]bool, len(s.Properties))
	for _, p := range s.Properties {
		known[p.Name] = true
	}
	name := "other"
	for n := 2; known[name]; n++ {
		name = "other" + strconv.Itoa(n)
	}
	return &Field{Name: name, Type: "auto?", Optional: true, kind: restType{known}, args: []Path{{tokens: []string{}}}}
}
