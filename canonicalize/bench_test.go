package canonicalize

import (
	"strings"
	"testing"

	"agentgw"
)

// benchCall is a call of ten typed fields and about 1 kB.
var benchCall = []byte(`{"customer_id": "C-004711", "invoice_no": "INV - 2026‐0042", "period": "2026-04", "issued": "2026-04-30",
 "amount": "12345.60", "currency": "EUR", "recipients": ["billing@example.com", "Kim.Roe@Example.com", "ops@example.org"],
 "kind": "Standard", "urgent": false, "copies": 2, "title": "Services rendered in April",
 "lines": [{"sku": "A-1", "text": "Consulting, first half of the month", "quantity": 12.5, "price": "480.00"},
  {"sku": "A-2", "text": "Consulting, second half of the month", "quantity": 11, "price": "480.00"},
  {"sku": "T-9", "text": "Travel to the customer's site and back", "quantity": 1, "price": "1065.60"}],
 "meta": {"agent": "billing-agent", "trace": "4bf92f3577b34da6a3ce929d0e0e4736", "note": "` + strings.Repeat("free text that no field reads ", 8) + `"}}`)

func benchSpec(b *testing.B) Spec {
	field := func(name, expr string) *Field { return compileField(b, FieldSpec{Name: name, Type: expr}) }
	return Spec{
		Key:   []*Field{field("customer_id", "id"), field("invoice_no", "code"), field("period", "month"), field("recipients", "set(email)"), field("kind", "enum")},
		Match: []*Field{field("amount", "money(currency)"), field("issued", "date"), field("urgent", "bool"), field("copies", "int"), field("title", "text(fold)")},
		Lock:  []*Field{field("customer_id", "id")},
	}
}

// BenchmarkOperation is the whole way from the text of the arguments to the key.
func BenchmarkOperation(b *testing.B) {
	spec, rule := benchSpec(b), &agentgw.Rule{Name: "invoice.issue", Pattern: agentgw.Once}
	call := &agentgw.Call{Tenant: "acme", Arguments: benchCall}
	b.SetBytes(int64(len(benchCall)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := Parse(benchCall)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := spec.Operation(rule, call, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchCall)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(benchCall); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	v, err := Parse(benchCall)
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = v.AppendCanonical(dst[:0])
	}
}

// BenchmarkFields reads each of the ten fields alone.
func BenchmarkFields(b *testing.B) {
	spec := benchSpec(b)
	args, err := Parse(benchCall)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range append(spec.Key, spec.Match...) {
		b.Run(f.Type, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				if dst, _, err = f.read(dst[:0], &args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
