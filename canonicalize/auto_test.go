package canonicalize

import "testing"

// autoRead reads one argument `v`, given as JSON; other holds further members.
func autoRead(t *testing.T, typ, v, other string) string {
	t.Helper()
	f, err := Compile(FieldSpec{Name: "v", Type: typ + "?"}, Defaults{})
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	args, err := Parse([]byte(`{"v":` + v + other + `}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Read(args)
	if err != nil {
		t.Fatalf("%s refuses %s: %v", typ, v, err)
	}
	return got.Canon
}

func TestAutoAgrees(t *testing.T) {
	for typ, groups := range map[string][][]string{
		"auto": {
			{`{"b":1,"a":[1,2]}`, `{"a":[1.0,2],"b":"1"}`, `"{\"a\":[1,2],\"b\":1}"`, `"{'a': [1, 2], 'b': 1}"`, `{"a":[1,2],"b":1,"c":null,"d":""}`},
			{`null`, `""`, `" "`, `[]`, `{}`, `"[]"`, `{"a":null}`},
			{`"True"`, `true`},
		},
		"auto(decimal)": {{`4`, `4.0`, `"4"`, `" 4.00 "`, `[4]`}, {`"four"`, `"Four"`}, {`null`, `""`}},
		"auto(int)":     {{`7`, `7.0`, `"7"`}},
		"auto(bool)":    {{`true`, `"true"`, `"True"`, `"yes"`, `1`}, {`false`, `"no"`}},
		"auto(text)":    {{`"Front end"`, `"front-end"`, `"Front  End."`, `"ｆｒｏｎｔ＿ｅｎｄ"`, `["Front end"]`}, {`"O’Brien"`, `"O'Brien"`}},
		"auto(enum)":    {{`"round_trip"`, `"Round trip"`}},
		"auto(id)":      {{`"INV-1"`, `" INV-1 "`, `"ＩＮＶ－1"`}, {`42`, `"42"`}, {`"dir C:\\"`, `"dir C:\\\\"`}},
		"auto(email)":   {{`"A@Example.com"`, `"a@example.com"`}, {`"nobody"`}},
		"auto(url)":     {{`"www.example.com"`, `"http://www.example.com"`, `"http://www.example.com/"`}},
		"auto(date)":    {{`"2026-05-20"`, `"May 20, 2026"`, `"May.20,2026"`, `"2026/5/20"`}, {`"someday"`, `"Someday"`}, {`"03/04/2026"`}},
		"auto(date|mdy)": {
			{`"03/04/2026"`, `"2026-03-04"`},
		},
		"auto(time)":  {{`"2026-05-20 17:00"`, `"2026-05-20T17:00:00"`, `"2026-05-20 5:00 PM"`}, {`"17:30"`, `"5:30 pm"`}, {`"2026-05-20T17:00:00+09:00"`, `"2026-05-20T08:00:00Z"`}},
		"auto(place)": {{`"Paris"`, `"Paris, France"`, `"paris"`}},
		"auto(set|text)": {
			{`["a","B"]`, `["b","A","a"]`, `"['b', 'a']"`, `"[\"a\", \"b\"]"`}, {`"a"`, `["a"]`}, {`[]`, `null`, `[null]`},
		},
		"auto(bag|id)":  {{`["x","y","x"]`, `["x","x","y"]`}, {`["x","y"]`}},
		"auto(list|id)": {{`["x","y"]`}, {`["y","x"]`}},
		"auto(object|size=medium|note)": {
			{`{"size":"medium"}`, `{"size":"Medium","other":5}`, `{"note":""}`, `{"note":null,"x":1}`}, {`{"size":"large"}`}, {`{"note":"hot"}`, `{"size":"medium","note":"Hot"}`},
		},
		"auto(bag|object|n)":        {{`[{"n":1},{"n":2}]`, `[{"n":2,"price":9},{"n":"1"}]`}},
		"auto(meaning)":             {{`"The printer is jammed."`, `"the printer is  jammed"`}},
		"auto(meaning|date)":        {{`"2026-05-20"`, `"20 May 2026"`}},
		"auto(meaning|set|text)":    {{`["a","b"]`, `["B","a"]`}},
		"auto(list|object|a|b=x y)": {{`[{"a":1}]`, `[{"a":1,"b":"X Y"}]`}},
		"auto(set|email)":           {{`["A@x.com","b@x.com"]`, `["b@x.com","a@x.com","a@x.com"]`}},
	} {
		seen := map[string]int{}
		for i, group := range groups {
			first := autoRead(t, typ, group[0], "")
			for _, v := range group[1:] {
				if got := autoRead(t, typ, v, ""); got != first {
					t.Errorf("%s: %s is %s, %s is %s", typ, group[0], first, v, got)
				}
			}
			if j, ok := seen[first]; ok {
				t.Errorf("%s: groups %d and %d are one: %s", typ, j, i, first)
			}
			seen[first] = i
			if first == "" {
				continue
			}
			if again := autoRead(t, typ, first, ""); again != first {
				t.Errorf("%s: canon of canon is %s, not %s", typ, again, first)
			}
		}
	}
}

func TestAutoKeepsApart(t *testing.T) {
	for typ, values := range map[string][]string{
		"auto":          {`"4.10"`, `"4.1"`, `"007"`, `7`, `"1e3"`, `1000`, `[1,2]`, `[2,1]`, `9007199254740993`, `9007199254740992`},
		"auto(text)":    {`"10-12"`, `"1012"`, `"10 12"`, `"a.b"`, `"ab"`, `"wait..."`, `"wait"`},
		"auto(id)":      {`"dQw4"`, `"dqw4"`, `"007"`, `7`, `"a b"`, `"ab"`, `"a-b"`},
		"auto(decimal)": {`4`, `4.01`, `"4,0"`, `-4`},
		"auto(date)":    {`"03/04/2026"`, `"04/03/2026"`, `"2026-03-04"`, `"2026-03-04 10:00"`},
		"auto(time)":    {`"17:00"`, `"05:00"`, `"17:00:01"`, `"2026-05-20 17:00"`, `"2026-05-20T17:00:00Z"`},
		"auto(bag|id)":  {`["x","x"]`, `["x"]`, `["x","y"]`},
		"auto(place)":   {`"Paris"`, `"Parma"`, `", France"`},
	} {
		seen := map[string]string{}
		for _, v := range values {
			c := autoRead(t, typ, v, "")
			if other, ok := seen[c]; ok {
				t.Errorf("%s: %s and %s are both %s", typ, other, v, c)
			}
			seen[c] = v
		}
	}
}

func TestAutoPairs(t *testing.T) {
	const typ = "auto(pairs|new|id)"
	same := autoRead(t, typ, `["a","b"]`, `,"new":["x","y"]`)
	if got := autoRead(t, typ, `["b","a"]`, `,"new":["y","x"]`); got != same {
		t.Errorf("the same pairs in another order: %s, not %s", got, same)
	}
	for _, other := range []string{`["a","b"]|["y","x"]`, `["a","b"]|["x"]`, `["a"]|["x"]`, `["a","b"]|[]`, `["a","b","a"]|["x","y","x"]`} {
		v, n := other, ""
		for i := range other {
			if other[i] == '|' {
				v, n = other[:i], other[i+1:]
			}
		}
		if got := autoRead(t, typ, v, `,"new":`+n); got == same {
			t.Errorf("%s has the pairs of another call: %s", other, got)
		}
	}
}

func TestAutoRefusesItsParameters(t *testing.T) {
	for _, typ := range []string{"auto(nonsense)", "auto(text|more)", "auto(object)", "auto(pairs)", "auto(set|meaning)", "auto(meaning|pairs|x)", "auto(date|xyz)", "auto(int|5)"} {
		if _, err := Compile(FieldSpec{Name: "v", Type: typ}, Defaults{}); err == nil {
			t.Errorf("%s compiles", typ)
		}
	}
}

func FuzzAuto(f *testing.F) {
	for _, s := range []string{`"a_b."`, `["x",null,{"a":" "}]`, `"['a', 'b\\'c']"`, `"[1,"`, `{"a":"4.0","b":"true"}`, `"\\\\\"x\\"`, `"ǅ－x"`, `12e5`, `"２０２６年５月２０日"`, `" .."`} {
		f.Add(s)
	}
	types := []string{"auto", "auto(text)", "auto(id)", "auto(date|mdy)", "auto(time)", "auto(place)", "auto(set|text)", "auto(bag)", "auto(object|a|b=c)", "auto(decimal)"}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse([]byte(s))
		if err != nil {
			return
		}
		for _, typ := range types {
			kind, err := compileType(typ, Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			once, err := kind.Canon(nil, v, Value{})
			if err != nil {
				continue
			}
			w, err := Parse(once)
			if err != nil {
				t.Fatalf("%s writes %s for %s: %v", typ, once, s, err)
			}
			twice, err := kind.Canon(nil, w, Value{})
			if err != nil || string(twice) != string(once) {
				t.Errorf("%s: %s is %s, and that is %s (%v)", typ, s, once, twice, err)
			}
		}
	})
}
