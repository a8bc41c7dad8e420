package canonicalize

import "testing"

func TestPath(t *testing.T) {
	v, err := Parse([]byte(`{"a":{"b":[10,{"c":null}],"b.c":1,"":2,"~/":3},"a.b":{"0":"literal"},"x.y":4,"x":{"y":5,"z":6},"7":8}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, pointer string }{
		{"x", `{"y":5,"z":6}`, "/x"},
		{"x.z", `6`, "/x/z"},
		{"x.y", `4`, "/x/y"}, // the literal name wins
		{"/x/y", `5`, "/x/y"},
		{"a.b.0", `"literal"`, "/a/b/0"},
		{"/a/b/0", `10`, "/a/b/0"},
		{"a.b.1.c", `null`, "/a/b/1/c"}, // the literal name leads nowhere
		{"a.b.c", `1`, "/a/b/c"},
		{"/a/", `2`, "/a/"},
		{"/a/~0~1", `3`, "/a/~0~1"},
		{"7", `8`, "/7"},
		{"a.b.2", "", "/a/b/2"},
		{"/a/b/00", "", "/a/b/00"},
		{"/a/b/-1", "", "/a/b/-1"},
		{"/a/b/+1", "", "/a/b/+1"},
		{"y", "", "/y"},
		{"x.y.z", "", "/x/y/z"},
		{"X", "", "/X"},
	} {
		p, err := ParsePath(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		found, ok := p.Find(v)
		if ok != (c.want != "") || ok && found.Raw() != c.want {
			t.Errorf("%s: found %s, %v; want %s", c.path, found.Raw(), ok, c.want)
		}
		if p.pointer() != c.pointer || p.String() != c.path {
			t.Errorf("%s: pointer %s, text %s", c.path, p.pointer(), p)
		}
	}
	for _, bad := range []string{"", ".a", "a.", "a..b", "/a~", "/a~2"} {
		if _, err := ParsePath(bad); err == nil {
			t.Errorf("%q is taken for a path", bad)
		}
	}
}

func TestWithout(t *testing.T) {
	v, _ := Parse([]byte(`{"a":{"b":[1,{"c":2,"d":3}],"e":4},"f":5}`))
	for _, c := range []struct{ path, want string }{
		{"f", `{"a":{"b":[1,{"c":2,"d":3}],"e":4}}`},
		{"a.b", `{"a":{"e":4},"f":5}`},
		{"a.b.1.c", `{"a":{"b":[1,{"d":3}],"e":4},"f":5}`},
		{"a.b.0", `{"a":{"b":[null,{"c":2,"d":3}],"e":4},"f":5}`},
	} {
		p, _ := ParsePath(c.path)
		var steps []string
		p.find(&v, &steps)
		if got := v.without(steps).Raw(); got != c.want {
			t.Errorf("without %s: %s, want %s", c.path, got, c.want)
		}
	}
}
