package canonicalize

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// richTypes are the types that read what people write.
var richTypes = []string{
	"date", "date(dmy)", "date(Asia/Tokyo|mdy)", "month", "year", "instant", "instant(Asia/Tokyo)", "duration", "quantity", "quantity(kg)", "quantity(m)",
	"quantity(%)", "quantity(1)", "quantity(°C)", "quantity(h)", "quantity(km/h)", "money(EUR)", "money(JPY|grouped)", "money(grouped)", "money(KWD|grouped)",
	"money(USD|minor)", "money(currency|grouped|minor)", "phone", "phone(JP)", "phone(US)", "country", "name", "address(JP)",
}

// FuzzCanonOfCanon checks what makes a canonical form one: reading it gives it again, and outer spaces and width never matter to it.
func FuzzCanonOfCanon(f *testing.F) {
	files, _ := filepath.Glob("testdata/values/*.txtar")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "\t")
			f.Add(line)
		}
	}
	var types []Type
	for _, expr := range richTypes {
		typ, err := compileType(expr, Defaults{})
		if err != nil {
			f.Fatal(err)
		}
		types = append(types, typ)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // Parse lets no such text through
		}
		for i, typ := range types {
			got, err := typ.Canon(nil, Value{Kind: String, Text: s}, siblings)
			if err != nil {
				continue
			}
			v, err := Parse(got)
			if err != nil {
				t.Fatalf("%s of %q is no JSON: %s: %v", richTypes[i], s, got, err)
			}
			again, err := typ.Canon(nil, v, siblings)
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("%s of %q is %s, and read again %s, %v", richTypes[i], s, got, again, err)
			}
			spaced, err := typ.Canon(nil, Value{Kind: String, Text: " " + s + "\u3000"}, siblings)
			if err != nil || !bytes.Equal(got, spaced) {
				t.Errorf("%s of %q is %s, and between spaces %s, %v", richTypes[i], s, got, spaced, err)
			}
		}
	})
}
