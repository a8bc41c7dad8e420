package canonicalize

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"
)

// labelled is one text of the data with the value that its source gives it.
type labelled struct {
	ID, Source, Type, Lang, Text string
	Value                        json.RawMessage
	Region                       string
	Ambiguous                    bool `json:"order_ambiguous"`
}

// verdict is what became of a text.
type verdict int

const (
	right    verdict = iota
	refused          // by an error
	wrong            // a value, and not the right one
	leftOut          // states no single value: a range, a bound, an estimate, a sum with something unsaid
	mislabel         // the label contradicts the text
)

// TestAccuracyFields reads the labelled texts with the types that a policy's author would declare, prints how many were read right, and
// fails below the targets. Without the data it says so.
func TestAccuracyFields(t *testing.T) {
	rows := labelledRows(t)
	if rows == nil {
		t.Log("data not there: nothing measured (AGENTGW_DATA names its folder)")
		return
	}
	tally := map[string]*[5]int{}
	var mistakes []string
	judge := judges(t, rows)
	for _, row := range rows {
		lang := "en+ja"
		if row.Lang == "mul" && row.Type != "phone" && row.Type != "company" {
			lang = "other"
		}
		judgeRow, ok := judge[row.Type]
		if !ok {
			continue
		}
		v, got := judgeRow(row)
		for pattern, reason := range mislabelled {
			if row.Type+" "+row.Text == pattern && v != right {
				v, got = mislabel, got+" ("+reason+")"
			}
		}
		if v != mislabel && v != right && notOneValue(row) {
			if v == wrong {
				got += " (no single value)"
			} else {
				v = leftOut
			}
		}
		key := row.Type + " " + lang
		if row.Type == "address" {
			key = "address " + strings.SplitN(row.Source, "/", 2)[0]
		}
		if tally[key] == nil {
			tally[key] = new([5]int)
		}
		tally[key][v]++
		if v == wrong || v == mislabel || testing.Verbose() && v == refused && os.Getenv("AGENTGW_REFUSED") != "" {
			mistakes = append(mistakes, fmt.Sprintf("%-9s %-20s %q = %s, read as %s", [...]string{"right", "refused", "WRONG", "left out", "mislabel"}[v], key, row.Text, row.Value, got))
		}
	}
	report(t, tally, mistakes)
}

// targets are the shares that must be read right of the texts in English and Japanese that state one value; wrong values must stay
// under half a percent everywhere.
var targets = map[string]float64{
	"date en+ja": 0.97, "money en+ja": 0.97, "phone en+ja": 0.90, "address geolonia": 0.90, "number en+ja": 0.90, "percent en+ja": 0.90,
	"quantity en+ja": 0.90, "duration en+ja": 0.90, "datetime en+ja": 0, "boolean en+ja": 0,
}

func report(t *testing.T, tally map[string]*[5]int, mistakes []string) {
	t.Logf("%-24s %6s %6s %8s %6s %9s %9s %7s", "type and language", "texts", "right", "refused", "wrong", "left out", "mislabel", "rate")
	var keys []string
	for key := range tally {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		n := tally[key]
		judged := n[right] + n[refused] + n[wrong]
		rate := float64(n[right]) / float64(max(judged, 1))
		t.Logf("%-24s %6d %6d %8d %6d %9d %9d %7.3f", key, judged+n[leftOut]+n[mislabel], n[right], n[refused], n[wrong], n[leftOut], n[mislabel], rate)
		target, ok := targets[key]
		if !ok {
			continue
		}
		if rate < target {
			t.Errorf("%s: %.3f read right, the target is %.2f", key, rate, target)
		}
		if float64(n[wrong]) >= 0.005*float64(judged) && n[wrong] > 0 {
			t.Errorf("%s: %d of %d wrong, the limit is half a percent", key, n[wrong], judged)
		}
	}
	for _, line := range mistakes {
		t.Log(line)
	}
}

func labelledRows(t *testing.T) []labelled {
	folder := os.Getenv("AGENTGW_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(folder, "fields.jsonl"))
	if err != nil {
		return nil
	}
	defer f.Close()
	var rows []labelled
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var row labelled
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// notOneValue reports whether a text states no single value of its own.
func notOneValue(row labelled) bool {
	value := strings.Trim(string(row.Value), `"`)
	return regexp.MustCompile(`^(between|under|above|null)\b`).MatchString(value) ||
		regexp.MustCompile(`(?i)\b(around|about|few|several|more than|less than|at least|at most|extra|more|additional)\b|^~|余|数|以上|以下|下回る|別の|割引`).MatchString(row.Text) ||
		// 割引 labels name the rate to take off, or what is left of the price
		row.Type == "date" && regexp.MustCompile(`\b(since|from|before|after) `).MatchString(row.Text)
}

type judgeFunc func(labelled) (verdict, string)

func judges(t *testing.T, rows []labelled) map[string]judgeFunc {
	made := func(typ Type, err error) Type {
		if err != nil {
			t.Fatal(err)
		}
		return typ
	}
	date := made(newDate(nil, Defaults{}))
	instant := made(newInstant([]string{"UTC"}, Defaults{}))
	duration := made(newDuration(nil, Defaults{}))
	number := made(newQuantity([]string{"1"}, Defaults{}))
	percent := made(newQuantity([]string{"%"}, Defaults{}))
	quantity := made(newQuantity(nil, Defaults{}))
	return map[string]judgeFunc{
		"date": func(row labelled) (verdict, string) {
			v, got := compare(date, row, func(got string) bool { return got == labelText(row) })
			if row.Ambiguous {
				return map[verdict]verdict{refused: leftOut, right: wrong, wrong: wrong}[v], got // must be refused
			}
			return v, got
		},
		"datetime": func(row labelled) (verdict, string) {
			return compare(instant, row, func(got string) bool {
				at, _ := time.Parse(time.RFC3339Nano, got)
				return at.Format("2006-01-02 15:04:05") == strings.Replace(labelText(row), "T", " ", 1)
			})
		},
		"duration": func(row labelled) (verdict, string) {
			return compare(duration, row, func(got string) bool { return sameSpan(got, labelText(row)) })
		},
		"number": func(row labelled) (verdict, string) {
			v, got := compare(number, row, func(got string) bool { return near(got, labelText(row)) })
			if v == refused && regexp.MustCompile(`(?i)[a-z]{3}`).MatchString(row.Text) {
				v = leftOut // numbers in words may be refused
			}
			if v == refused && !plainASCII(row.Text) { // with a counter: 199個
				return compare(quantity, row, func(got string) bool { n, _, _ := strings.Cut(got, " "); return near(n, labelText(row)) })
			}
			return v, got
		},
		"percent": func(row labelled) (verdict, string) {
			return compare(percent, row, func(got string) bool {
				return near(strings.TrimSuffix(got, " %"), strings.TrimSuffix(labelText(row), "%"))
			})
		},
		"quantity": func(row labelled) (verdict, string) {
			return compare(quantity, row, func(got string) bool { return sameQuantity(got, row.Value) })
		},
		"boolean": func(row labelled) (verdict, string) {
			return compare(boolType{}, row, func(got string) bool { return got == labelText(row) })
		},
		"money":   judgeMoney,
		"phone":   judgePhone,
		"company": judgeCompany,
		"address": judgeAddress(rows),
	}
}

func labelText(row labelled) string {
	var s string
	if json.Unmarshal(row.Value, &s) != nil {
		return string(row.Value)
	}
	return s
}

// compare reads a text with a type and asks same about the canonical form, without quotes.
func compare(typ Type, row labelled, same func(string) bool) (verdict, string) {
	got, err := typ.Canon(nil, Value{Kind: String, Text: row.Text}, Value{})
	if err != nil {
		return refused, err.Error()
	}
	var s string
	if json.Unmarshal(got, &s) != nil {
		s = string(got)
	}
	if same(s) {
		return right, s
	}
	return wrong, s
}

// near compares exact values with labels that were rounded to a double.
func near(got, label string) bool {
	a, ok1 := new(big.Rat).SetString(got)
	b, ok2 := new(big.Rat).SetString(label)
	if !ok1 || !ok2 {
		return false
	}
	x, _ := a.Float64()
	y, _ := b.Float64()
	return x == y || (x-y)*(x-y) < 1e-18*y*y
}

// sameSpan compares with labels that count a month as 30 days or a twelfth of a year, a year as 365.
func sameSpan(got, label string) bool {
	d, ok := isoSpan(got)
	if !ok {
		return false
	}
	months, seconds := float64(d.months), float64(d.nanos)/1e9
	if rest, ok := strings.CutPrefix(label, "DurationData "); ok {
		var n float64
		var unit string
		fmt.Sscanf(rest, "%f %s", &n, &unit)
		if unit == "Month" || unit == "Year" {
			return seconds == 0 && months == n*map[string]float64{"Month": 1, "Year": 12}[unit]
		}
		return months == 0 && seconds == n*map[string]float64{"Second": 1, "Minute": 60, "Hour": 3600, "Day": 86400, "Week": 604800}[unit]
	}
	var want float64
	fmt.Sscan(label, &want)
	const day = 86400
	years := float64(int(months) / 12)
	return want == seconds+months*365*day/12 || want == seconds+(years*365+(months-12*years)*30)*day
}
