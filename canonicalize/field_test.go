package canonicalize

import (
	"errors"
	"strings"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	null, word := Value{}, Value{Kind: String, Text: "x"}
	for _, c := range []struct {
		spec FieldSpec
		want string
	}{
		{FieldSpec{Name: "a", Type: "emial"}, "did you mean email?"},
		{FieldSpec{Name: "a", Type: "zzzzzz"}, "the types are"},
		{FieldSpec{Name: "a", Type: ""}, "there is no type"},
		{FieldSpec{Name: "a", Type: "list(idd)"}, "did you mean id?"},
		{FieldSpec{Name: "a", Type: "list(id?)"}, "at the end of the whole type"},
		{FieldSpec{Name: "a", Type: "id?("}, "closing bracket"},
		{FieldSpec{Name: "a", Type: "set(list(id)"}, "closing bracket"},
		{FieldSpec{Name: "a", Type: "id(x)"}, `type "id(x)" takes no parameters`},
		{FieldSpec{Name: "a", Type: "code(zero)"}, "code takes zeros"},
		{FieldSpec{Name: "a", Type: "text(fold|)"}, "empty parameter"},
		{FieldSpec{Name: "a", Type: "text(folded)"}, "text takes fold and html"},
		{FieldSpec{Name: "a", Type: "enum(a|A)"}, "twice"},
		{FieldSpec{Name: "a", Type: "list(meaning)"}, "cannot be compared"},
		{FieldSpec{Name: "a", Type: "id", Aliases: map[string]string{"x": "y"}}, "only enums have aliases"},
		{FieldSpec{Name: "a", Type: "enum(std|gas)", Aliases: map[string]string{"x": "gass"}}, "did you mean gas?"},
		{FieldSpec{Name: "a", Type: "enum", Aliases: map[string]string{"x": "y", "y": "x"}}, "leads back to itself"},
		{FieldSpec{Name: "a", Type: "enum", Aliases: map[string]string{"x": "y", "X": "z"}}, "twice"},
		{FieldSpec{Name: "a", Type: "int", Default: &word}, "the default is not a plain decimal"},
		{FieldSpec{Name: "a", Type: "int", Default: &null}, "the default is null"},
		{FieldSpec{Name: "a", Type: "int", Arg: []string{"a..b"}}, "is not a path"},
		{FieldSpec{Name: "", Type: "int"}, "no name"},
	} {
		_, err := Compile(c.spec, Defaults{})
		if e, ok := err.(*Error); !ok || e.Field != c.spec.Name || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

func compileField(t testing.TB, spec FieldSpec) *Field {
	t.Helper()
	f, err := Compile(spec, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRead(t *testing.T) {
	def := Value{Kind: String, Text: "JPY"}
	for _, c := range []struct {
		spec                   FieldSpec
		args, raw, canon, fail string
		missing                bool
	}{
		{FieldSpec{Type: " set ( id ) "}, `{"x":[ 2, "1" ]}`, `[ 2, "1" ]`, `["1","2"]`, "", false},
		{FieldSpec{Type: "id"}, `{}`, "", "", `send "x"`, true},
		{FieldSpec{Type: "id"}, `{"x":null}`, "", "", "counts as missing", true},
		{FieldSpec{Type: "id"}, `{"x":" "}`, "", "", "is blank", false},
		{FieldSpec{Type: "id?"}, `{"x":null}`, "", "", "", false},
		{FieldSpec{Type: "id?"}, `{"x":" "}`, "", "", "is blank", false},
		{FieldSpec{Type: "enum", Default: &def}, `{}`, "", `"jpy"`, "", false},
		{FieldSpec{Type: "enum", Default: &def}, `{"x":null}`, "", `"jpy"`, "", false},
		{FieldSpec{Type: "enum", Default: &def}, `{"x":"usd"}`, `"usd"`, `"usd"`, "", false},
		{FieldSpec{Type: "id", Arg: []string{"a", "/b/c"}}, `{"b":{"c":7}}`, `7`, `"7"`, "", false},
		{FieldSpec{Type: "id", Arg: []string{"a", "/b/c"}}, `{"b":{"c":7},"a":6}`, `6`, `"6"`, "", false},
		{FieldSpec{Type: "id", Arg: []string{"a", "/b/c"}}, `{"b":{"c":[]}}`, "", "", "field x: /b/c: is a list", false},
		{FieldSpec{Type: "id", Arg: []string{"a", "/b/c"}}, `{}`, "", "", `send "a" or "/b/c"`, true},
		{FieldSpec{Type: "list(set(id))"}, `{"x":[[1],[2,true]]}`, "", "", "field x: /x/1/1: is a boolean", false},
	} {
		c.spec.Name = "x"
		f := compileField(t, c.spec)
		args, err := Parse([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Read(args)
		switch {
		case c.fail == "" && err != nil, c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)):
			t.Errorf("%+v of %s: %v, want %q", c.spec, c.args, err, c.fail)
		case errors.Is(err, ErrMissing) != c.missing:
			t.Errorf("%+v of %s: missing is %v", c.spec, c.args, !c.missing)
		case got.Raw != c.raw || got.Canon != c.canon || got.Name != "x":
			t.Errorf("%+v of %s: %+v", c.spec, c.args, got)
		}
	}
}

func TestOrdered(t *testing.T) {
	for _, expr := range []string{"int", "decimal?", "instant", "date(UTC)", "month", "year"} {
		if f := compileField(t, FieldSpec{Name: "x", Type: expr}); !f.Ordered() {
			t.Errorf("%s has no order", expr)
		}
	}
	for _, expr := range []string{"id", "text", "list(int)", "json"} {
		if f := compileField(t, FieldSpec{Name: "x", Type: expr}); f.Ordered() {
			t.Errorf("%s has an order", expr)
		}
	}
}
