package canonicalize

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// labelUnits translates the labels' units to ours: the base unit of the canonical form, and how many of it one of the label is.
var labelUnits = map[string]string{
	"Pound": "kg 0.45359237", "Ounce": "kg 0.028349523125", "Kilogram": "kg 1", "Gram": "kg 0.001", "Microgram": "kg 0.000000001",
	"Metric ton": "kg 1000", "Ton": "ton 1|kg 1000", "Mile": "m 1609.344", "Foot": "m 0.3048", "Inch": "m 0.0254", "Yard": "m 0.9144",
	"Meter": "m 1", "Metre": "m 1", "M": "m 1", "Kilometer": "m 1000", "Kilometre": "m 1000", "Decimeter": "m 0.1", "Centimeter": "m 0.01",
	"Centimetre": "m 0.01", "Millimeter": "m 0.001", "Picometer": "m 0.000000000001", "Square meter": "m2 1", "Square kilometer": "m2 1000000",
	"Acre": "m2 4046.8564224", "Cubic foot": "L 28.316846592", "Litre": "L 1", "Milliliter": "L 0.001", "Millilitre": "L 0.001", "Hectolitre": "L 100",
	"Gallon": "gal 1", "Barrel": "bbl 1", "Cup": "cup 1", "Tablespoon": "tbsp 1", "Teaspoon": "tsp 1", "Year": "month 12", "Month": "month 1",
	"Week": "s 604800", "Day": "s 86400", "C": "°C 1", "Celsius": "°C 1", "Degree": "degree 1", "Radian": "rad 1", "Turn": "turn 1",
	"Mile per hour": "m/s 0.44704", "Kilometer per hour": "m/s 5/18", "Meter per millisecond": "m/s 1000", "Centimeter per millisecond": "m/s 10",
	"Kilometer per millisecond": "m/s 1000000", "Bit": "B 1/8", "Megabyte": "B 1000000", "Megabit": "B 125000",
}

// sameQuantity compares "1.5 kg" with {"amount", "unit"} or "simple Gram 1500 Nothing".
func sameQuantity(got string, label json.RawMessage) bool {
	var stated struct{ Amount, Unit string }
	if json.Unmarshal(label, &stated) != nil {
		var words string
		if json.Unmarshal(label, &words) != nil {
			return false
		}
		fields := strings.Fields(words)
		if len(fields) < 3 || fields[0] != "simple" {
			return false
		}
		stated.Unit, stated.Amount = fields[1], strings.Trim(fields[2], "()")
		if strings.Contains(words, "Just") {
			return false
		}
	}
	amount, unit, _ := strings.Cut(got, " ")
	value, ok := new(big.Rat).SetString(amount)
	want, ok2 := new(big.Rat).SetString(stated.Amount)
	if !ok || !ok2 {
		return false
	}
	if stated.Unit == "F" || stated.Unit == "Fahrenheit" {
		want.Mul(want.Sub(want, big.NewRat(32, 1)), big.NewRat(5, 9))
		stated.Unit = "C"
	}
	for option := range strings.SplitSeq(labelUnits[stated.Unit], "|") {
		base, factor, _ := strings.Cut(option, " ")
		if f, ok := new(big.Rat).SetString(factor); ok && base == unit && near(value.RatString(), new(big.Rat).Mul(want, f).RatString()) {
			return true
		}
	}
	return false
}

// families are labels that name no currency but a word for many, and the one that the policy's author is taken to declare.
var families = map[string]string{
	"Dollar": "USD", "Pound": "GBP", "Franc": "CHF", "Rupee": "INR", "Cent": "USD", "Penny": "GBP", "Pence": "GBP", "Dinar": "KWD", "Riyal": "SAR",
	"Rial": "IRR", "Bitcoin": "BTC", "Satoshi": "BTC", "Unnamed": "USD", "Sen": "JPY", "Finnish markka": "EUR",
}

// judgeMoney reads an amount as money|grouped; where the text states no certain currency, with the label's currency declared.
func judgeMoney(row labelled) (verdict, string) {
	var label struct {
		Amount, Currency, Unit string
		Symbol                 string `json:"currency_symbol"`
		Written                string `json:"currency_as_written"`
	}
	json.Unmarshal(row.Value, &label)
	unit := label.Unit + label.Symbol
	want := label.Currency
	if want == "" && len(label.Symbol) == 3 && label.Symbol == strings.ToUpper(label.Symbol) {
		want = label.Symbol
	}
	if want == "" {
		want = families[unit]
	}
	amount, _ := new(big.Rat).SetString(label.Amount)
	if amount != nil && (unit == "Cent" || unit == "Penny" || unit == "Pence" || unit == "Sen") {
		amount.Mul(amount, big.NewRat(1, 100))
	} else if amount != nil && unit == "Satoshi" {
		amount.Mul(amount, big.NewRat(1, 1e8))
	}
	same := func(got string) bool {
		var m struct{ Amount, Currency string }
		if json.Unmarshal([]byte(got), &m) != nil || amount == nil {
			return false
		}
		return near(m.Amount, amount.RatString()) && (want == "" || m.Currency == want)
	}
	free, _ := newMoney([]string{"grouped"}, Defaults{})
	v, got := compare(free, row, same)
	if v != refused {
		return v, got
	}
	declared := want
	if c, rest, ok := cutCoin(human(label.Written)); ok && declared == "" && rest == "" {
		declared = c.codes[0]
	}
	if declared == "" {
		declared = "EUR"
	}
	typ, err := newMoney([]string{declared, "grouped"}, Defaults{})
	if err != nil {
		return refused, err.Error()
	}
	return compare(typ, row, same)
}

// judgePhone reads numbers that say their country, or whose row does. Others cannot be read and are left out.
func judgePhone(row labelled) (verdict, string) {
	region := row.Region
	if region == "ZZ" {
		region = ""
	}
	if region == "" && !strings.Contains(row.Text, "+") {
		return leftOut, ""
	}
	var params []string
	if region != "" {
		params = []string{region}
	}
	typ, err := newPhone(params, Defaults{})
	if err != nil {
		return refused, err.Error()
	}
	want := strings.NewReplacer("(", "", ")", "", " ", "").Replace(labelText(row))
	return compare(typ, row, func(got string) bool { return got == want })
}

// judgeCompany asks whether the name part is kept: the labels drop legal forms, which count here.
func judgeCompany(row labelled) (verdict, string) {
	name, err := nameType{}.Canon(nil, Value{Kind: String, Text: labelText(row)}, Value{})
	if err != nil {
		return refused, err.Error()
	}
	bare := strings.Trim(string(name), `"`)
	return compare(nameType{}, row, func(got string) bool { return strings.Contains(got, bare) })
}

// judgeAddress compares with the label written out, or with the other texts of the same label; texts of different labels must differ.
func judgeAddress(rows []labelled) judgeFunc {
	label := func(row labelled) string {
		var a struct{ Pref, City, Town, Addr, Other, Output string }
		if json.Unmarshal(row.Value, &a) != nil {
			return ""
		}
		return a.Pref + a.City + a.Town + a.Addr + a.Other + a.Output
	}
	canon := func(s string) string {
		out, err := addressType{}.Canon(nil, Value{Kind: String, Text: s}, Value{})
		if err != nil {
			return ""
		}
		return strings.Trim(string(out), `"`)
	}
	labels := map[string]map[string]bool{} // canonical form -> labels
	for _, row := range rows {
		if row.Type == "address" && row.Lang == "ja" {
			got := canon(row.Text)
			if labels[got] == nil {
				labels[got] = map[string]bool{}
			}
			labels[got][canon(label(row))] = true
		}
	}
	return func(row labelled) (verdict, string) {
		if row.Lang != "ja" {
			return leftOut, ""
		}
		got, want := canon(row.Text), canon(label(row))
		switch {
		case got == "":
			return refused, ""
		case len(labels[got]) > 1:
			return wrong, got + fmt.Sprint(" is also ", labels[got])
		case got == want:
			return right, got
		}
		return refused, got + " is not " + want // a form of its own: it meets no other
	}
}

// mislabelled are texts whose label contradicts them, with the reason.
var mislabelled = map[string]string{
	"number 17":                 "the label says 5",
	"number 2212":               "the label says 2222",
	"number 1300":               "the label says 13000",
	"number 150222":             "the label says 1502222",
	"number 5分の100万2205":        "1002205/5 is 200441",
	"number 五分の百万二千二百五":         "1002205/5 is 200441",
	"number 1兆分の100万":           "a millionth",
	"number 一兆分の百万":             "a millionth",
	"number -25分の1":             "1/25 is 0.04",
	"number マイナス二十五分の一":         "1/25 is 0.04",
	"number 10万7千8百56":          "the last digits are 56, the label's 54",
	"number 二十三万四":              "230004; the label says 234",
	"number 8385万2336.33":       "the label drops a digit",
	"number 1230兆":              "1.23e15; the label says 1.232e15",
	"number 5月16日2020年":         "a date; the label divides 16 by 5",
	"number 2020年三月五日":          "a date; the label divides 3 by 5",
	"number 四千また二分の三":           "the label says 0.0007",
	"number -12.32×10の14乗":      "the label drops the sign",
	"percent 12.54ポイント":         "the label says 12.56",
	"percent 百分の三万二千":           "32000 hundredths",
	"percent 600%":              "the label says 6",
	"percent 12,056.33ポイント":     "the label says 100056.33",
	"percent 百分の525,000":        "525000 hundredths",
	"percent 百二十パーセント":          "the label says 120.5",
	"quantity 三歳":               "the label says weeks",
	"duration 15.5 minutes":     "930 s; the label says 3630",
	"duration 15.5 mins":        "930 s; the label says 3630",
	"date 旧暦の2015年10月1日":        "旧暦 is the lunar calendar, the label the Gregorian",
	"date 旧暦の2015年一月一日":         "旧暦 is the lunar calendar, the label the Gregorian",
	"company Hello Ab Oy World": "the label takes a form out of the middle of the name",
}
