package canonicalize

import "testing"

// BenchmarkValue reads one typical value of each type.
func BenchmarkValue(b *testing.B) {
	for _, c := range []struct{ expr, text string }{
		{"date", "2026-04-01"}, {"date", "令和8年4月1日"}, {"date", "April 1st, 2026"}, {"month", "2026-04"}, {"instant", "2026-04-02T14:05:00+09:00"},
		{"instant(Asia/Tokyo)", "2026年4月2日 14時5分"}, {"duration", "PT1H30M"}, {"duration", "1.5 hours"}, {"quantity(kg)", "1,500 g"},
		{"money(EUR)", "1234.50"}, {"money(currency)", "1234.50"}, {"money(JPY|grouped)", "1,100,000円"}, {"money(JPY|grouped)", "110万円"},
		{"phone(JP)", "03-1234-5678"}, {"country", "Japan"}, {"name", "㈱山田商店"}, {"name", "Acme Co., Ltd."},
		{"address(JP)", "東京都千代田区丸の内一丁目2番3号"},
	} {
		typ, err := compileType(c.expr, Defaults{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.expr+"/"+c.text, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				if buf, err = typ.Canon(buf[:0], Value{Kind: String, Text: c.text}, siblings); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
