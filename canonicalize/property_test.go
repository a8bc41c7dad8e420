package canonicalize

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentgw"
)

// exprs is one expression or more of every type, so that no type escapes the properties below.
var exprs = []string{
	"exact", "id", "code", "code(zeros)", "text", "text(fold)", "text(html)", "text(fold|html)", "name", "email", "email(domain)",
	"phone", "phone(JP)", "address(JP)", "url", "country", "bool", "int", "decimal", "money", "money(JPY)", "money(EUR|grouped)", "money(JPY|minor)",
	"date", "date(Asia/Tokyo)", "date(UTC|dmy)", "month", "year", "instant", "instant(Asia/Tokyo)", "duration", "quantity(kg)",
	"enum", "enum(std|gas|ガス)", "json", "meaning", "list", "list(text)", "set", "set(id)", "set(list(text(fold)))",
}

func TestExprsKnowEveryType(t *testing.T) {
	for _, name := range TypeNames() {
		found := false
		for _, expr := range exprs {
			base, _, _ := strings.Cut(expr, "(")
			found = found || base == name
		}
		if !found && name != "auto" {
			t.Errorf("no expression has type %s", name)
		}
	}
}

func typesOf(t testing.TB) map[string]Type {
	t.Helper()
	types := map[string]Type{}
	for _, expr := range exprs {
		kind, err := compileType(expr, Defaults{Currency: "JPY"})
		if err != nil {
			t.Fatal(err)
		}
		types[expr] = kind
	}
	return types
}

// FuzzCanon: canon of canon is canon, whatever type reads whatever value; and what a type writes is canonical JSON.
func FuzzCanon(f *testing.F) {
	types := typesOf(f)
	for _, s := range []string{
		`"Café  Nord"`, `"ＩＮＶー００１"`, `"&amp;amp;"`, `"sam.roe@Example.com"`, `"https://a/%2e%2E/%41%2f?q#"`, `1E+2`, `-0.0`, `"1,100円"`, `"令和8年4月1日"`,
		`"2026-04-02T14:05:00+01:00"`, `"90m"`, `"1,500 g"`, `"+81 3-1234-5678"`, `"日本"`, `"㈱山田商店"`, `["b","a","a"]`, `"[1,2]"`, `{"amount":"1.50","currency":"EUR"}`,
		`"東京都千代田区一丁目2番3号"`, `true`, `"はい"`, `"ｶﾞｽ"`, `"ß"`, `"İ"`, `"ﬁ"`, `"a\u200b\u0301"`, `"\u1e9b\u0323"`, `"０３－１２３４－５６７８"`, `"½ kg"`, `"١٢٣"`,
		`"PT1H30M"`, `"April 1st, 2026"`, `"2026年4月"`, `"http://[::1]:080/"`, `"a@xn--bcher-kva.example"`, `"ＡＢＣ@ｅｘａｍｐｌｅ.com"`, `[["x"],["X"]]`, `"\u00ad"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil || v.Kind == Null {
			return
		}
		for expr, kind := range types {
			checkCanon(t, expr, kind, v)
		}
	})
}

func checkCanon(t *testing.T, expr string, kind Type, v Value) {
	canon, err := kind.Canon([]byte("x"), v, Value{})
	if err != nil {
		if e, ok := err.(*Error); !ok || e.Reason == "" {
			t.Fatalf("%s of %s: %#v is no whole *Error", expr, v.Raw(), err)
		}
		return
	}
	if len(canon) < 2 || canon[0] != 'x' {
		t.Fatalf("%s of %s: %q does not append", expr, v.Raw(), canon)
	}
	written, err := Parse(canon[1:])
	if err != nil {
		t.Fatalf("%s of %s: %s is not JSON: %v", expr, v.Raw(), canon[1:], err)
	}
	if expr != "exact" && string(written.AppendCanonical(nil)) != string(canon[1:]) {
		t.Fatalf("%s of %s: %s is not canonical JSON", expr, v.Raw(), canon[1:])
	}
	again, err := kind.Canon(nil, written, Value{})
	if err != nil || string(again) != string(canon[1:]) {
		t.Fatalf("%s of %s: canon %s, canon of that %s, %v", expr, v.Raw(), canon[1:], again, err)
	}
}

// TestFoldingIsStable: folding what was folded changes nothing, whatever the character. A library's folding once swapped the case of some
// letters at each turn.
func TestFoldingIsStable(t *testing.T) {
	for name, fold := range map[string]func(string) string{"foldText": foldText, "foldWidth": foldWidth, "foldWord": foldWord, "lower": lower} {
		for r := rune(0); r < 0x1f000; r++ {
			once := fold(string(r))
			if twice := fold(once); twice != once {
				t.Errorf("%s of %U is %q, and of that %q", name, r, once, twice)
			}
		}
	}
}

// anyJSON draws a JSON value. Names within an object differ in more than case.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return strings.ToValidUTF8(s, "") }),
		rapid.Map(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`), func(s string) any { return json.Number(s) }),
	)
	if depth == 0 {
		return leaf
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z_.é]{0,3}`), inner, 0, 5), func(m map[string]any) any { return m }))
}

// spell writes v as JSON text in some spelling: members in any order, white space anywhere, any escapes.
func spell(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
	switch v := v.(type) {
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		if len(names) > 0 {
			names = rapid.Permutation(sorted(names)).Draw(t, "order")
		}
		var parts []string
		for _, name := range names {
			parts = append(parts, space()+spell(t, name)+space()+":"+space()+spell(t, v[name])+space())
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, space()+spell(t, item)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		if !rapid.Bool().Draw(t, "escape") {
			b, _ := json.Marshal(v)
			return string(b)
		}
		return `"` + escapeAll(v) + `"`
	case json.Number:
		return respell(t, v.String())
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func sorted(names []string) []string {
	m := map[string]any{}
	for _, n := range names {
		m[n] = nil
	}
	b, _ := json.Marshal(m)
	v, _ := Parse(b)
	out := make([]string, len(v.Members))
	for i, member := range v.Members {
		out[i] = member.Name
	}
	return out
}

func escapeAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	return b.String()
}

// respell writes the same number with zeros at its end or the point moved.
func respell(t *rapid.T, literal string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if exponent == "" {
		exponent = "0"
	}
	switch rapid.IntRange(0, 2).Draw(t, "number") {
	case 0:
		return literal
	case 1:
		if !strings.Contains(mantissa, ".") {
			mantissa += "."
		}
		return mantissa + "000E" + exponent
	}
	var e int
	fmt.Sscan(exponent, &e)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0")
	if digits == "" {
		digits = "0"
	}
	sign := literal[:strings.Index(literal, strings.TrimPrefix(literal, "-"))]
	return fmt.Sprintf("%s%se%d", sign, digits, e-len(fraction))
}

// TestSpellingNeverMatters: order of members, white space, escapes and the spelling of numbers never change the canonical form.
func TestSpellingNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(3).Draw(t, "value")
		one, two := spell(t, v), spell(t, v)
		a, err := Parse([]byte(one))
		if err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		b, err := Parse([]byte(two))
		if err != nil {
			t.Fatalf("%s: %v", two, err)
		}
		if x, y := string(a.AppendCanonical(nil)), string(b.AppendCanonical(nil)); x != y {
			t.Fatalf("%s is %s\n%s is %s", one, x, two, y)
		}
	})
}

// TestInjective: values that differ have canonical forms that differ.
func TestInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := anyJSON(2).Draw(t, "x"), anyJSON(2).Draw(t, "y")
		a, err := Parse([]byte(spell(t, x)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse([]byte(spell(t, y)))
		if err != nil {
			t.Fatal(err)
		}
		same := string(a.AppendCanonical(nil)) == string(b.AppendCanonical(nil))
		if same != equalJSON(x, y) {
			t.Fatalf("%v and %v: canonical forms equal is %v", x, y, same)
		}
	})
}

// equalJSON is an independent equality: numbers as exact rationals.
func equalJSON(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name := range x {
			other, ok := y[name]
			if !ok || !equalJSON(x[name], other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, ok := y.(json.Number)
		if !ok {
			return false
		}
		a, _ := new(big.Rat).SetString(x.String())
		b, _ := new(big.Rat).SetString(y.String())
		return a.Cmp(b) == 0
	}
	return x == y
}

// TestKeyFieldsMatter: two calls have one key exactly if every key field has one canonical form and tenant, operation and scope agree.
func TestKeyFieldsMatter(t *testing.T) {
	spec := Spec{Key: []*Field{
		compileField(t, FieldSpec{Name: "a", Type: "exact?"}), compileField(t, FieldSpec{Name: "b", Type: "text?"}),
		compileField(t, FieldSpec{Name: "c", Type: "list(json)?"}),
	}}
	word := rapid.SampledFrom([]string{"", "a", `a","b":"`, "\\", "é", "e\u0301", " a"})
	draw := func(t *rapid.T) (*agentgw.Operation, string) {
		rule := agentgw.Rule{Name: word.Draw(t, "operation"), Scope: rapid.SampledFrom([]string{"tenant", "task", "principal"}).Draw(t, "scope")}
		call := agentgw.Call{Tenant: word.Draw(t, "tenant"), Principal: word.Draw(t, "principal"), Context: agentgw.Context{Task: "t" + word.Draw(t, "task")}}
		args := map[string]any{"other": word.Draw(t, "other")}
		for _, name := range []string{"a", "b"} {
			if rapid.Bool().Draw(t, name) {
				args[name] = word.Draw(t, "value")
			}
		}
		if rapid.Bool().Draw(t, "c") {
			args["c"] = []any{word.Draw(t, "item"), word.Draw(t, "item")}
		}
		v, err := Parse([]byte(spell(t, args)))
		if err != nil {
			t.Fatal(err)
		}
		op, err := spec.Operation(&rule, &call, v)
		if err != nil {
			t.Fatal(err)
		}
		scope := map[string]string{"tenant": "", "task": "t:" + call.Context.Task, "principal": "p:" + call.Principal}[rule.Scope]
		b, _ := json.Marshal([]any{rule.Name, call.Tenant, scope, op.Fields[0].Canon, op.Fields[1].Canon, op.Fields[2].Canon})
		return op, string(b)
	}
	rapid.Check(t, func(t *rapid.T) {
		x, identity := draw(t)
		y, other := draw(t)
		if (x.ID == y.ID) != (identity == other) || (x.Digest == y.Digest) != (identity == other) {
			t.Fatalf("%s and %s: keys %s and %s", identity, other, x.ID, y.ID)
		}
	})
}

// TestSortable: the byte order of sortable texts is the order of the values.
func TestSortable(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,6})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		x, y := number.Draw(t, "x"), number.Draw(t, "y")
		a, _ := new(big.Rat).SetString(x)
		b, _ := new(big.Rat).SetString(y)
		got := strings.Compare(sortable(string(appendDecimal(nil, x))), sortable(string(appendDecimal(nil, y))))
		if got != a.Cmp(b) {
			t.Fatalf("%s and %s sort as %d", x, y, got)
		}
	})
	instants := []string{`"2026-03-01T09:59:59.999Z"`, `"2026-03-01T10:00:00Z"`, `"2026-03-01T10:00:00.25Z"`, `"2026-03-01T10:00:00.5Z"`, `"2026-03-01T10:00:01Z"`}
	for i := range instants[1:] {
		if sortable(instants[i]) >= sortable(instants[i+1]) {
			t.Errorf("%s does not sort before %s", instants[i], instants[i+1])
		}
	}
}
