package canonicalize

import (
	"strings"
	"testing"

	"agentgw"
)

const hotelSchema = `{"type":"object","additionalProperties":false,"required":["hotel","from"],"$defs":{"Guest":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":30}}}},
"properties":{
 "hotel":{"type":"string","description":"The hotel."},
 "from":{"type":"string","description":"Check-in day, MM/DD/YYYY."},
 "nights":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":1},
 "room":{"type":"string","description":"The room. Can be 'single' or 'double'. Default is 'double'."},
 "breakfast":{"type":"boolean","description":"Default is false"},
 "booking_code":{"type":"string"},
 "guests":{"type":"array","items":{"$ref":"#/$defs/Guest"}},
 "contact":{"type":["string","null"],"format":"email"}}}`

func TestSchemaReadings(t *testing.T) {
	s, err := ParseSchema([]byte(hotelSchema))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"hotel": "auto(text)?", "from": "auto(date|mdy)?", "nights": "auto(int)? 1", "room": "auto(enum)? double", "breakfast": "auto(bool)? false",
		"booking_code": "auto(id)?", "guests": "auto(list|object|name|age=30)?", "contact": "auto(email)?"}
	for _, f := range s.Fields() {
		got := f.Type
		if f.Default != nil {
			got += " " + f.Default.Text
		}
		if got != want[f.Name] {
			t.Errorf("%s is read as %s, want %s", f.Name, got, want[f.Name])
		}
	}
	if s.Open {
		t.Error("additionalProperties: false is open")
	}
}

func TestSchemaSpec(t *testing.T) {
	s, err := ParseSchema([]byte(strings.Replace(hotelSchema, `"additionalProperties":false,`, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.Spec(Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	key := func(args string) agentgw.EffectID {
		v, err := Parse([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		op, err := spec.Operation(&agentgw.Rule{Name: "book"}, &agentgw.Call{Arguments: []byte(args)}, v)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return op.ID
	}
	first := key(`{"hotel":"Ritz","from":"05/20/2026"}`)
	for _, same := range []string{
		`{"from":"2026-05-20","hotel":" ritz "}`,
		`{"hotel":"Ritz","from":"May 20, 2026","nights":1.0,"room":"Double","breakfast":"false","guests":[],"contact":null,"booking_code":""}`,
		`{"hotel":"Ritz","from":"05/20/2026","nights":"1","unheard_of":null}`,
	} {
		if key(same) != first {
			t.Errorf("%s has another key", same)
		}
	}
	for _, other := range []string{
		`{"hotel":"Ritz","from":"05/21/2026"}`,
		`{"hotel":"Ritz","from":"05/20/2026","nights":2}`,
		`{"hotel":"Ritz","from":"05/20/2026","breakfast":true}`,
		`{"hotel":"Ritz","from":"05/20/2026","unheard_of":"x"}`,
		`{"hotel":"Ritz","from":"05/20/2026","guests":[{"name":"A"}]}`,
		`{"hotel":"Ritz"}`,
	} {
		if key(other) == first {
			t.Errorf("%s has the key of the first call", other)
		}
	}
	if key(`{"hotel":"R","from":"05/20/2026","guests":[{"name":"A","age":"30","seat":9}]}`) != key(`{"hotel":"R","from":"05/20/2026","guests":[{"name":"a"}]}`) {
		t.Error("defaults and unknown members of a list's objects count")
	}
}

func TestSchemaRefuses(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	if _, err := ParseSchema([]byte(deep)); err != nil {
		t.Errorf("a deep schema is read as far as it goes: %v", err)
	}
	loop := `{"$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"https://example.com/y"},"z":{"allOf":[{"$ref":"#/properties/z"},{"type":"string"}]}}}`
	if s, err := ParseSchema([]byte(loop)); err != nil || len(s.Properties) != 3 {
		t.Errorf("references that lead nowhere: %v", err)
	}
	var many strings.Builder
	for i := range 600 {
		many.WriteString(`,"p` + strings.Repeat("x", i) + `":{}`)
	}
	for name, raw := range map[string]string{"too many": `{"properties":{` + many.String()[1:] + `}}`, "a list": `[]`, "no JSON": `{`,
		"too large": `{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`} {
		if _, err := ParseSchema([]byte(raw)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestDescriptions(t *testing.T) {
	for description, want := range map[string]struct {
		deflt string
		enum  int
	}{
		"Preferred time. Default is 'morning'.":                           {"morning", 0},
		`Type of plot. Can be "bar", "line" or "pie"`:                     {"", 3},
		"Choices are 'a' or 'b'. Default is 'a'.":                         {"a", 2},
		"The mode. [Enum]: [\"on\", \"off\"]":                             {"", 2},
		"A format such as 'HH:MM' or 'HH:MM AM'.":                         {"", 0},
		"Either pick one. For example, 'x' or 'y'":                        {"", 0},
		"The date, such as '2026-01-01'. By default it is not set at all": {"", 0},
		"Additional services. Default is not use it if not specified.":    {"", 0},
	} {
		p := Property{Kind: "string", Description: description}
		p.readDescription()
		deflt := ""
		if p.Default != nil {
			deflt = p.Default.Text
		}
		if deflt != want.deflt || len(p.Enum) != want.enum {
			t.Errorf("%s: default %q, %d values; want %q, %d", description, deflt, len(p.Enum), want.deflt, want.enum)
		}
	}
}
