package canonicalize

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNumeralsOfAnyNumber writes random numbers in every notation and reads them again.
func TestNumeralsOfAnyNumber(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := random.Int64N(int64(1) << random.IntN(50))
		want := new(big.Rat).SetInt64(n)
		digits := strconv.FormatInt(n, 10)
		for _, s := range []string{
			digits, "0" + digits, digits + ".0", digits + ".00", groupsOf(digits, ","), groupsOf(digits, " "), groupsOf(digits, "'"), groupsOf(digits, ",") + ".50",
			kanjiNumeral(n), bigGroups(n, strconv.Itoa), strings.Map(kanjiFigure, digits), wordsOf(n), strings.ToUpper(wordsOf(n)), "マイナス" + kanjiNumeral(n), "-" + digits, "minus " + wordsOf(n),
		} {
			want := new(big.Rat).Set(want)
			if strings.HasSuffix(s, ".50") {
				want.Add(want, big.NewRat(1, 2))
			}
			if strings.HasPrefix(s, "マ") || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "minus") {
				want.Neg(want)
			}
			got, rest, ok := cutNumber(human(s))
			if !ok || rest != "" || got.Cmp(want) != 0 {
				t.Fatalf("%q is read as %v (rest %q, %v), want %v", s, got, rest, ok, want)
			}
		}
	}
}

func groupsOf(digits, mark string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + mark + digits[i:]
	}
	return digits
}

func kanjiFigure(r rune) rune { return []rune("〇一二三四五六七八九")[r-'0'] }

// bigGroups writes 5億1234万7, with figure writing what stands before each scale.
func bigGroups(n int64, figure func(int) string) string {
	if n == 0 {
		return "零"
	}
	s := ""
	for i, scale := range []string{"", "万", "億", "兆", "京"} {
		if part := n / tens[4*i] % 10000; part > 0 {
			s = figure(int(part)) + scale + s
		}
	}
	return s
}

func kanjiNumeral(n int64) string {
	return bigGroups(n, func(part int) string {
		s := ""
		for i, scale := range []string{"千", "百", "十", ""} {
			switch d := part / int(tens[3-i]) % 10; {
			case d == 1 && scale != "":
				s += scale
			case d > 0:
				s += string(kanjiFigure(rune('0'+d))) + scale
			}
		}
		return s
	})
}

func wordsOf(n int64) string {
	small := strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	switch {
	case n < 20:
		return small[n]
	case n < 100:
		ten := strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")[n/10-2]
		if n%10 == 0 {
			return ten
		}
		return ten + "-" + small[n%10]
	case n < 1000:
		if n%100 == 0 {
			return small[n/100] + " hundred"
		}
		return small[n/100] + " hundred and " + wordsOf(n%100)
	}
	for i, scale := range []string{"trillion", "billion", "million", "thousand"} {
		if size := tens[12-3*i]; n >= size {
			s := wordsOf(n/size) + " " + scale
			if n%size > 0 {
				s += " " + wordsOf(n%size)
			}
			return s
		}
	}
	return ""
}

// TestSpellingsOfAnyDay writes random days in every form and reads them again.
func TestSpellingsOfAnyDay(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	plain, err := newDate(nil, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		day := time.Date(1873, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, random.IntN(89000))
		want := day.Format(`"2006-01-02"`)
		spellings := []string{eraSpelling(day, "%s%s年%d月%d日"), eraSpelling(day, "%s%s.%d.%d")}
		for _, layout := range []string{
			"2006-01-02", "2006/1/2", "2006.1.2", "20060102", "2006年1月2日", "January 2, 2006", "Jan 2 2006", "2 January 2006", "2 Jan. 2006", "02-Jan-2006",
			"Monday, January 2, 2006", "Mon, 02 Jan 2006 15:04:05", "2006-01-02T15:04:05", "January _2 2006", "2006年01月02日 15時04分",
		} {
			if day.Year() < 1900 && layout == "20060102" {
				continue
			}
			spellings = append(spellings, day.Format(layout))
		}
		spellings = append(spellings, fmt.Sprintf("%s年%s月%s日", strings.Map(kanjiFigure, strconv.Itoa(day.Year())), kanjiNumeral(int64(day.Month())), kanjiNumeral(int64(day.Day()))),
			day.Format("2006年1月2日(")+string([]rune("日月火水木金土")[day.Weekday()])+")")
		for _, s := range spellings {
			got, err := plain.Canon(nil, Value{Kind: String, Text: s}, Value{})
			if err != nil || string(got) != want {
				t.Fatalf("%q is read as %s (%v), want %s", s, got, err, want)
			}
		}
		// The weekday of another day is refused, and so is what may be of either order.
		for _, s := range []string{day.AddDate(0, 0, 1).Format("Monday ") + day.Format("2006-01-02"), day.Format("02/01/06")} {
			if got, err := plain.Canon(nil, Value{Kind: String, Text: s}, Value{}); err == nil {
				t.Fatalf("%q is read as %s, want it refused", s, got)
			}
		}
	}
}

func eraSpelling(day time.Time, format string) string {
	n := day.Year()*10000 + int(day.Month())*100 + day.Day()
	for _, e := range eras {
		if n >= number3(e.first) {
			year := strconv.Itoa(day.Year() - e.first[0] + 1)
			if year == "1" && strings.Contains(format, "年") {
				year = "元"
			}
			return fmt.Sprintf(format, e.name, year, int(day.Month()), day.Day())
		}
	}
	return ""
}

// TestAmountsStayApart reads random pairs of close amounts: the same spelling rules never bring two together.
func TestAmountsStayApart(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	typ, err := newMoney([]string{"EUR", "grouped"}, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	canon := func(s string) string {
		got, err := typ.Canon(nil, Value{Kind: String, Text: s}, Value{})
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		return string(got)
	}
	for range 2000 {
		cents := random.Int64N(int64(1) << (1 + random.IntN(40)))
		whole, part := cents/100, cents%100
		want := `{"amount":"` + string(appendDecimal(nil, fmt.Sprintf("%d.%02d", whole, part))) + `","currency":"EUR"}`
		spellings := []string{
			fmt.Sprintf("%d.%02d", whole, part), fmt.Sprintf("€%s.%02d", groupsOf(strconv.FormatInt(whole, 10), ","), part),
			fmt.Sprintf("%s,%02d EUR", groupsOf(strconv.FormatInt(whole, 10), "."), part), fmt.Sprintf("%s.%02d euros", groupsOf(strconv.FormatInt(whole, 10), " "), part),
			fmt.Sprintf("EUR %d.%02d", whole, part),
		}
		if part == 0 {
			spellings = append(spellings, kanjiNumeral(whole)+"ユーロ", wordsOf(whole)+" euros", bigGroups(whole, strconv.Itoa)+"ユーロ")
		}
		for _, s := range spellings {
			if got := canon(s); got != want {
				t.Fatalf("%q is read as %s, want %s", s, got, want)
			}
		}
	}
}

// TestCoinsAreCurrencies checks the table of names against the library's table of codes.
func TestCoinsAreCurrencies(t *testing.T) {
	all, _ := coins()
	for name, c := range all {
		for _, code := range c.codes {
			if _, ok := currencyDigits(code); !ok {
				t.Errorf("%s: %s is not a currency", name, code)
			}
		}
	}
}

// TestUnitsAreRead reads every spelling of the table of units where its own unit is declared.
func TestUnitsAreRead(t *testing.T) {
	for spelling, u := range units().exact {
		if ambiguousAlone[u.symbol] {
			continue // no policy can declare it
		}
		typ, err := newQuantity([]string{u.symbol}, Defaults{})
		if err != nil {
			t.Errorf("quantity(%s): %v", u.symbol, err)
			continue
		}
		got, err := typ.Canon(nil, Value{Kind: String, Text: "3 " + spelling}, Value{})
		if want := `"3 ` + u.symbol + `"`; err != nil || string(got) != want {
			t.Errorf("3 %s is %s, %v, want %s", spelling, got, err, want)
		}
	}
}
