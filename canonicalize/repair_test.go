package canonicalize

import (
	"strings"
	"testing"
)

func TestRepair(t *testing.T) {
	both := Repairs
	for _, c := range []struct {
		text  string
		kinds []string
		want  string // "" where nothing may change
	}{
		{`{"a":1,}`, both, `{"a":1}`},
		{`{"a":[1,2 , ] , }`, both, `{"a":[1,2  ]  }`},
		{`{"a":1,}<|call|>`, both, `{"a":1}`},
		{`{"a":1}<|im_end|></s>` + "\n", both, `{"a":1}`},
		{`{"a":",}"}<|eot_id|>`, both, `{"a":",}"}`},
		{`{"a":"\",}",}`, both, `{"a":"\",}"}`},
		{`{"a":1,}`, []string{modelEndTokens}, ""},
		{`{"a":1}</s>`, []string{trailingCommas}, ""},
		{`{"a":1}`, both, ""},
		{`{"a":"x<|call|>"}`, both, ""},
		{`{"a":1,,}`, both, ""},
		{`[,]`, both, ""},
		{`{,}`, both, ""},
		{`{"a":,}`, both, ""},
		{`{"a":"x`, both, ""},
		{`{"a":"x<|call|>`, both, ""},
		{`{"a":"x",`, both, ""},
		{`{"a":[1,`, both, ""},
		{`{"amount":"10,}`, both, ""},
		{`{"a":1,"a":2,}`, both, ""},
		{`<|call|>`, both, ""},
		{``, both, ""},
	} {
		got, changed := Repair([]byte(c.text), c.kinds)
		if want := max(c.want, c.text); changed != (c.want != "") || c.want == "" && string(got) != c.text || c.want != "" && string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.text, got, changed, want)
		}
	}
}

func TestDecode(t *testing.T) {
	v, _ := Parse([]byte(`{"a&amp;":"Salt &amp; Sons","b":["&lt;b&gt;",1,"AT&T","&amp;amp;","?x=1&copy=2","&nosuch;","&#x26;","&#0;","&notit;"]}`))
	want := `{"a&amp;":"Salt & Sons","b":["<b>",1,"AT&T","&amp;","?x=1&copy=2","&nosuch;","&","&#0;","&notit;"]}`
	if got := Decode(v, Decodings).Raw(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := Decode(v, nil).Raw(); got != v.Raw() {
		t.Errorf("undeclared, decoded to %s", got)
	}
}

func TestParseArguments(t *testing.T) {
	for _, c := range []struct{ text, forwarded, fail string }{
		{` {"a" : 1}`, ` {"a" : 1}`, ""},
		{`"{\"a\" : 1}"`, `{"a" : 1}`, ""},
		{`"\"{\\\"a\\\":1}\""`, `{"a":1}`, ""},
		{`"\"\\\"{}\\\"\""`, "", "more than twice"},
		{`"{\"a\":1,}"`, `{"a":1}`, ""},
		{`{"a":"&lt;",}</s>`, `{"a":"<"}`, ""},
		{`null`, "", "the arguments are null, not an object"},
		{`[]`, "", "a list, not an object"},
		{`7`, "", "a number, not an object"},
		{`"x"`, "", "no JSON value begins"},
		{`""`, "", "is empty"},
		{``, "", "is empty"},
		{`{"a":"&lt;`, "", "ends inside a string"},
	} {
		v, forwarded, err := ParseArguments([]byte(c.text), Repairs, Decodings)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: %v, want %q", c.text, err, c.fail)
			}
			continue
		}
		if err != nil || string(forwarded) != c.forwarded || v.Raw() != strings.TrimSpace(c.forwarded) {
			t.Errorf("%s: %s, %s, %v; want %s", c.text, forwarded, v.Raw(), err, c.forwarded)
		}
	}
}
