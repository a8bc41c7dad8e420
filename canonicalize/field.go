package canonicalize

import (
	"slices"
	"strconv"
	"strings"

	"agentgw"
)

// FieldSpec is a field as a policy declares it; the short form `customer: id` is {Name: "customer", Type: "id"}.
type FieldSpec struct {
	Name    string
	Type    string            // type expression, "set(id)", "int?"
	Arg     []string          // paths of which the first present counts; the name where empty
	Default *Value            // what an absent value means; nil: nothing
	Aliases map[string]string // enum: other words for a value
}

// Field is one compiled field: where its value stands and how it is read.
type Field struct {
	Name     string
	Type     string // as it was written
	Optional bool   // absent and null are the same, and neither is missing
	Meaning  bool   // free text compared with earlier effects

	kind    Type
	args    []Path
	deflt   *Value
	ordered bool
}

// Compile reads a field's declaration. The error is an *Error with the field's name.
func Compile(spec FieldSpec, d Defaults) (*Field, error) {
	f, err := compile(spec, d)
	if err != nil {
		e := asError(err)
		e.Field = spec.Name
		return nil, e
	}
	return f, nil
}

func compile(spec FieldSpec, d Defaults) (*Field, error) {
	f := &Field{Name: spec.Name, Type: strings.TrimSpace(spec.Type)}
	if f.Name == "" {
		return nil, &Error{Reason: "the field has no name"}
	}
	expr, optional := strings.CutSuffix(f.Type, "?")
	f.Optional = optional
	var err error
	if f.kind, err = compileType(expr, d); err != nil {
		return nil, err
	}
	if f.kind, err = withAliases(f.kind, spec.Aliases); err != nil {
		return nil, err
	}
	f.Meaning = isMeaning(f.kind)
	base, _, _ := strings.Cut(expr, "(")
	f.ordered = slices.Contains(ordered, strings.TrimSpace(base))
	paths := spec.Arg
	if len(paths) == 0 {
		paths = []string{spec.Name}
	}
	for _, s := range paths {
		p, err := ParsePath(s)
		if err != nil {
			return nil, err
		}
		f.args = append(f.args, p)
	}
	return f, f.setDefault(spec.Default)
}

// setDefault checks a default as far as it can be read without a call.
func (f *Field) setDefault(v *Value) error {
	if v == nil {
		return nil
	}
	if v.Kind == Null {
		return &Error{Reason: "the default is null", Remedy: "leave it out and write ? after the type"}
	}
	if _, needs := f.kind.(sibling); !needs {
		if _, err := f.kind.Canon(nil, *v, Value{}); err != nil {
			e := asError(err)
			e.Reason = "the default " + e.Reason
			return e
		}
	}
	f.deflt = v
	return nil
}

// withAliases gives an enum, or a list of one, its aliases.
func withAliases(t Type, aliases map[string]string) (Type, error) {
	if len(aliases) == 0 {
		return t, nil
	}
	switch t := t.(type) {
	case enumType:
		return t.withAliases(aliases)
	case listType:
		of, err := withAliases(t.of, aliases)
		t.of = of
		return t, err
	}
	return nil, &Error{Reason: "only enums have aliases", Remedy: "leave them out, or declare the type enum"}
}

// Ordered reports whether the field's values can be older and newer than each other, as `newer` needs.
func (f *Field) Ordered() bool { return f.ordered }

// Args are the paths at which the field looks for its value, in order.
func (f *Field) Args() []Path { return f.args }

// Siblings are the paths of other arguments that the field's type reads, such as the currency of a money(currency).
func (f *Field) Siblings() []Path {
	if s, ok := f.kind.(sibling); ok {
		return s.siblings()
	}
	return nil
}

// Read reads the field from the arguments of a call. The error is an *Error; errors.Is finds ErrMissing in it where the value is absent
// or null and the field is neither optional nor has a default. The field's Role is left to the caller.
func (f *Field) Read(args Value) (agentgw.Field, error) {
	b, raw, err := f.read(nil, &args)
	return agentgw.Field{Name: f.Name, Raw: raw, Canon: string(b)}, err
}

// read appends the canonical text, nothing where there is no value, and returns the text it came from.
func (f *Field) read(dst []byte, args *Value) ([]byte, string, error) {
	v, path := f.find(args, nil)
	raw := ""
	switch {
	case v != nil && v.Kind != Null && !f.blank(v):
		raw = v.Raw()
	case f.deflt != nil:
		v = f.deflt
	case f.Optional:
		return dst, "", nil
	default:
		return dst, "", f.missing(v != nil)
	}
	out, err := f.kind.Canon(dst, *v, *args)
	if err != nil {
		e := asError(err)
		e.Field = f.Name
		if !strings.HasPrefix(e.Place, "byte ") {
			e.Place = path.pointer() + e.Place
		}
		return dst, "", e
	}
	return out, raw, nil
}

// blank reports whether the type takes a value for nothing at all.
func (f *Field) blank(v *Value) bool {
	t, ok := f.kind.(interface{ blank(*Value) bool })
	return ok && t.blank(v)
}

// isMeaning reports whether values of the type are compared with earlier ones.
func isMeaning(t Type) bool {
	switch t := t.(type) {
	case meaningType:
		return true
	case autoType:
		return t.compared
	}
	return false
}

// find returns the first value present and its path. A null counts only where no other path has a value.
func (f *Field) find(args *Value, at *[]string) (*Value, *Path) {
	var null *Value
	for i := range f.args {
		if v := f.args[i].find(args, at); v != nil && v.Kind != Null {
			return v, &f.args[i]
		} else if v != nil {
			null = v
		}
		if at != nil {
			*at = (*at)[:0]
		}
	}
	return null, &f.args[0]
}

func (f *Field) missing(isNull bool) *Error {
	e := &Error{Place: f.args[0].pointer(), Field: f.Name, Reason: "is missing", Err: ErrMissing}
	if isNull {
		e.Reason = "is null, which counts as missing"
	}
	names := make([]string, len(f.args))
	for i, p := range f.args {
		names[i] = strconv.Quote(p.text)
	}
	e.Remedy = "send " + strings.Join(names, " or ") + ", or declare the type " + f.Type + "?"
	return e
}
