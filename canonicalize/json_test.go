package canonicalize

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	many := "{"
	for i := range 40 {
		many += fmt.Sprintf(`"name%d":1,`, i)
	}
	for _, c := range []struct{ text, place, reason string }{
		{``, "byte 1", "is empty"},
		{" \n", "byte 3", "is empty"},
		{"\ufeff{}", "byte 1", "byte order mark"},
		{`{"a":1}{"b":2}`, "byte 8", "follows"},
		{`{"a":1}<|call|>`, "byte 8", "follows"},
		{`{"a":1,}`, "byte 8", "comma"},
		{`[1,]`, "byte 4", "comma"},
		{`{'a':1}`, "byte 2", "name is missing"},
		{`'a'`, "byte 1", "single quotes"},
		{`{"a" 1}`, "byte 6", "colon"},
		{`{"a":1 "b":2}`, "byte 8", "comma or }"},
		{`{"a":{"b":"c`, "byte 13", "ends inside a string"},
		{`{"a":[1,2`, "byte 10", "ends before"},
		{`{"a":`, "byte 6", "middle"},
		{`{"a":1,"a":2}`, "/a", "twice"},
		{`{"a":[{"b":1},{"Amount":1,"amount":2}]}`, "/a/1/amount", `also as "Amount"`},
		{`{"K":1,"` + "\u212a" + `":2}`, "/\u212a", "twice"}, // the Kelvin sign folds to k
		{`{"ſ":1,"S":2}`, "/S", "twice"},
		{many + `"NAME7":2}`, "/NAME7", `also as "name7"`},
		{`{"a/b":{"~":NaN}}`, "/a~1b/~0", "NaN"},
		{`[0,-Infinity]`, "/1", "NaN"},
		{`[Infinity]`, "/0", "NaN"},
		{`{"a":"` + "\xff" + `"}`, "/a", "UTF-8"},
		{`{"a":"\n` + "\xc3" + `"}`, "/a", "UTF-8"},
		{"\xff", "byte 1", "UTF-8"},
		{`{"a":"\ud800"}`, "/a", "surrogate"},
		{`{"a":"\udc00\ud800"}`, "/a", "surrogate"},
		{`{"a":"\ud800\u0041"}`, "/a", "surrogate"},
		{`{"a":"\x"}`, "byte 7", "escape"},
		{`{"a":"\u12"}`, "byte 7", "escape"},
		{"{\"a\":\"\n\"}", "byte 7", "control"},
		{`[01]`, "byte 4", "begins with a zero"},
		{`[1.]`, "byte 4", "digit"},
		{`[.5]`, "byte 2", "no JSON value"},
		{`[+1]`, "byte 2", "no JSON value"},
		{`[1e]`, "byte 4", "digit"},
		{`[1e10000]`, "/0", "exponent"},
		{`[1e-99999999999999999999]`, "/0", "exponent"},
		{`[` + strings.Repeat("1", maxDigits+1) + `]`, "/0", "1000 characters"},
		{`[True]`, "byte 2", "no JSON value"},
		{`[nul]`, "byte 2", "no JSON value"},
		{deep, strings.Repeat("/0", MaxDepth), "deeper"},
		{`[` + strings.Repeat("0,", maxValues) + `0]`, fmt.Sprintf("/%d", maxValues-1), "million"},
		{`"` + strings.Repeat(" ", MaxBytes) + `"`, "", "larger"},
	} {
		_, err := Parse([]byte(c.text))
		e, ok := err.(*Error)
		short := c.text[:min(len(c.text), 60)]
		switch {
		case !ok:
			t.Errorf("%s: %v is no *Error", short, err)
		case e.Place != c.place || !strings.Contains(e.Reason, c.reason) || e.Remedy == "":
			t.Errorf("%s: got %+v, want place %q and reason %q", short, e, c.place, c.reason)
		}
	}
}

func TestParseReads(t *testing.T) {
	for _, c := range []struct{ text, compact, canonical string }{
		{`null`, `null`, `null`},
		{` {"b" : [ ] , "a" : { } } `, `{"b":[],"a":{}}`, `{"a":{},"b":[]}`},
		{`{"b":[1,{"d":true,"c":false}],"a":"x"}`, `{"b":[1,{"d":true,"c":false}],"a":"x"}`, `{"a":"x","b":[1,{"c":false,"d":true}]}`},
		{`"\u00e9\ud83d\ude00\/\b\f\n\r\t\u001f\"\\"`, `"é😀/\b\f\n\r\t\u001f\"\\"`, `"é😀/\b\f\n\r\t\u001f\"\\"`},
		{"\"\u2028<&>\"", "\"\u2028<&>\"", "\"\u2028<&>\""},
		{`[9007199254740993,1.0,-0.0,1E+2,1.50e-3]`, `[9007199254740993,1.0,-0.0,1E+2,1.50e-3]`, `[9007199254740993,1,0,100,0.0015]`},
		{`[1e30,1e31,1e-31,1e-32,12345e-2,-120e-1]`, `[1e30,1e31,1e-31,1e-32,12345e-2,-120e-1]`,
			`[1000000000000000000000000000000,1e31,0.0000000000000000000000000000001,1e-32,123.45,-12]`},
		{`{"":1,"é":2,"e":3}`, `{"":1,"é":2,"e":3}`, `{"":1,"e":3,"é":2}`},
	} {
		v, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := string(v.AppendJSON(nil)); got != c.compact {
			t.Errorf("AppendJSON of %s = %s, want %s", c.text, got, c.compact)
		}
		if got := string(v.AppendCanonical(nil)); got != c.canonical {
			t.Errorf("AppendCanonical of %s = %s, want %s", c.text, got, c.canonical)
		}
		if v.Raw() != strings.TrimSpace(c.text) {
			t.Errorf("Raw of %s = %s", c.text, v.Raw())
		}
	}
	if raw := (Value{Kind: List, Items: []Value{{}}}).Raw(); raw != "[null]" {
		t.Errorf("Raw of a made value = %s", raw)
	}
}

// plainValue is v as encoding/json would have decoded it.
func plainValue(v Value) any {
	switch v.Kind {
	case Bool:
		return v.Text == "true"
	case Number:
		return json.Number(v.Text)
	case String:
		return v.Text
	case List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = plainValue(item)
		}
		return list
	case Object:
		object := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			object[m.Name] = plainValue(m.Value)
		}
		return object
	}
	return nil
}

// FuzzParse: what is accepted, encoding/json accepts too and reads as the same value; and the written forms read back as the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.50,-0,1e3,{"b":null}],"c":"\ud83d\ude00é"}`, `"\u0000"`, `[[[]]]`, `{"a":1,"A":2}`, "\xff", `1e9999`, `{"a":1}x`, `"\ud800"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Reason == "" || e.Remedy == "" {
				t.Fatalf("%q: %#v is no whole *Error", b, err)
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil || !json.Valid(b) {
			t.Fatalf("%q: accepted, but encoding/json says %v", b, err)
		}
		if got := plainValue(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: read as %v, encoding/json reads %v", b, got, want)
		}
		compact, canonical := v.AppendJSON(nil), v.AppendCanonical(nil)
		again, err := Parse(compact)
		if err != nil || !reflect.DeepEqual(plainValue(again), want) {
			t.Fatalf("%q: written as %q, which reads as %v, %v", b, compact, again, err)
		}
		if again, err = Parse(canonical); err != nil || string(again.AppendCanonical(nil)) != string(canonical) {
			t.Fatalf("%q: canonical %q is not the canonical form of itself (%v)", b, canonical, err)
		}
	})
}
