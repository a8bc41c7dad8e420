package meaning

import (
	"fmt"
	"strconv"
	"strings"
)

// readDate reads a date, a month, a weekday or a day told from today, and returns how many tokens it took.
func (t *reader) readDate(tokens []token) int {
	tok := tokens[0]
	switch tok.kind {
	case number, id:
		if n := t.readNumericDate(tok); n > 0 {
			return n
		}
		if tok.kind == number {
			if n := t.readJapaneseDate(tokens); n > 0 {
				return n
			}
			return t.readDayMonth(tokens)
		}
	case word:
		if m := months[tok.fold]; m != 0 {
			return t.readMonthDay(tokens, m)
		}
		if d := weekdays[tok.fold]; d != "" && (len(tok.fold) > 3 || tok.raw != tok.fold) && tok.fold != "sun" {
			t.fact(factWeekday, d)
			return 1
		}
		if d := relatives[tok.fold]; d != "" {
			t.fact(factRelative, d)
			return 1
		}
		if (tok.fold == "next" || tok.fold == "last" || tok.fold == "this") && len(tokens) > 1 {
			if u := tokens[1].fold; u == "week" || u == "month" || u == "year" || u == "quarter" {
				t.fact(factRelative, tok.fold+" "+u)
				return 2
			}
		}
	case han:
		return t.readHanDate(tokens)
	}
	return 0
}

// readNumericDate reads 2026-05-20, 2026/5/20, 2026-05-20T10:00:00Z and 12/25/2026.
func (t *reader) readNumericDate(tok token) int {
	raw := tok.raw
	clock := ""
	if len(raw) > 10 && (raw[10] == 'T' || raw[10] == 't') {
		raw, clock = raw[:10], raw[11:]
	} else if tok.kind == id {
		return 0
	}
	sep := strings.IndexAny(raw, "-/.")
	if sep < 0 {
		return 0
	}
	parts := strings.Split(raw, raw[sep:sep+1])
	if len(parts) != 3 || !allDigits(parts[0]) || !allDigits(parts[1]) || !allDigits(parts[2]) {
		return 0
	}
	a, b, c := atoi(parts[0]), atoi(parts[1]), atoi(parts[2])
	switch {
	case len(parts[0]) == 4 && len(parts[1]) <= 2 && len(parts[2]) <= 2 && b >= 1 && b <= 12 && c >= 1 && c <= 31:
		t.date(a, b, c)
	case len(parts[2]) != 4 || len(parts[0]) > 2 || len(parts[1]) > 2:
		return 0
	case a > 12 && a <= 31 && b >= 1 && b <= 12:
		t.date(c, b, a)
	case b > 12 && b <= 31 && a >= 1 && a <= 12, a == b:
		t.date(c, a, b)
	default: // nobody knows which is the month: it agrees with its own spelling only
		t.fact(factDate, raw)
	}
	if clock != "" {
		t.clock(clock, "")
	}
	return 1
}

// readMonthDay reads "May 20", "May 20th, 2026", "May 2026" and a month alone.
func (t *reader) readMonthDay(tokens []token, month int) int {
	n := 1
	if n < len(tokens) && tokens[n].raw == "." {
		n++
	}
	if n < len(tokens) && tokens[n].kind == number && allDigits(tokens[n].raw) {
		v := atoi(tokens[n].raw)
		if len(tokens[n].raw) == 4 {
			t.fact(factMonth, monthName(month))
			t.fact(factYear, tokens[n].raw)
			return n + 1
		}
		if v >= 1 && v <= 31 {
			n++
			if n < len(tokens) && suffixes[tokens[n].fold] {
				n++
			}
			year, more := yearBehind(tokens[n:])
			t.date(year, month, v)
			return n + more
		}
	}
	if tok := tokens[0]; tok.fold == "may" || tok.fold == "march" || tok.fold == "mar" || tok.fold == "sep" || tok.fold == "dec" {
		if tok.first || tok.raw == tok.fold {
			return 0 // "may" and "march" are verbs too
		}
	}
	t.fact(factMonth, monthName(month))
	return 1
}

// readDayMonth reads "20 May 2026" and "20th of May".
func (t *reader) readDayMonth(tokens []token) int {
	if !allDigits(tokens[0].raw) || len(tokens[0].raw) > 2 {
		return 0
	}
	n := 1
	if n < len(tokens) && tokens[n].glued && suffixes[tokens[n].fold] {
		n++
	}
	if n < len(tokens) && tokens[n].fold == "of" {
		n++
	}
	if n >= len(tokens) || months[tokens[n].fold] == 0 || tokens[n].kind != word {
		return 0
	}
	month := months[tokens[n].fold]
	n++
	year, more := yearBehind(tokens[n:])
	t.date(year, month, atoi(tokens[0].raw))
	return n + more
}

// yearBehind finds a year behind a day, with or without a comma, and how many tokens it takes. 0 is no year.
func yearBehind(tokens []token) (year, n int) {
	if n < len(tokens) && tokens[n].raw == "," {
		n++
	}
	if n < len(tokens) && tokens[n].kind == number && len(tokens[n].raw) == 4 && allDigits(tokens[n].raw) {
		if y := atoi(tokens[n].raw); y >= 1900 && y < 2200 {
			return y, n + 1
		}
	}
	return 0, 0
}

// readJapaneseDate reads 2026年4月1日, 4月1日, 4月 and 10日.
func (t *reader) readJapaneseDate(tokens []token) int {
	var year, month, day, n int
	for n+1 < len(tokens) && tokens[n].kind == number && allDigits(tokens[n].raw) && tokens[n+1].kind == han {
		v := atoi(tokens[n].raw)
		switch unit := tokens[n+1].raw; {
		case strings.HasPrefix(unit, "年") && year == 0 && month == 0 && len(tokens[n].raw) == 4:
			year = v
		case strings.HasPrefix(unit, "月") && month == 0 && v >= 1 && v <= 12:
			month = v
		case strings.HasPrefix(unit, "日") && month != 0 && day == 0 && !strings.HasPrefix(unit, "日間"):
			day = v
		default:
			return t.japanese(year, month, day, n)
		}
		n += 2
		if len(tokens[n-1].raw) > len("年") { // 日曜, 月末: more follows in the same word
			break
		}
	}
	return t.japanese(year, month, day, n)
}

func (t *reader) japanese(year, month, day, n int) int {
	switch {
	case n == 0:
		return 0
	case day != 0:
		t.date(year, month, day)
	default:
		if year != 0 {
			t.fact(factYear, strconv.Itoa(year))
		}
		if month != 0 {
			t.fact(factMonth, monthName(month))
		}
	}
	return n
}

// readHanDate reads eras (令和8年), weekdays (月曜日) and days told from today (明日).
func (t *reader) readHanDate(tokens []token) int {
	raw := tokens[0].raw
	for era, base := range eras {
		if raw == era && len(tokens) > 2 && tokens[1].kind == number && allDigits(tokens[1].raw) && strings.HasPrefix(tokens[2].raw, "年") {
			t.fact(factYear, strconv.Itoa(base+atoi(tokens[1].raw)))
			if len(tokens) > 3 {
				return 3 + t.readJapaneseDate(tokens[3:])
			}
			return 3
		}
	}
	for _, d := range japaneseDays {
		if rest, ok := strings.CutPrefix(raw, d[0]); ok {
			t.fact(factRelative, d[1])
			if rest != "" {
				t.loose = append(t.loose, token{kind: han, raw: rest, fold: rest})
			}
			return 1
		}
	}
	if i := strings.Index(raw, "曜"); i >= 3 {
		if d := japaneseWeekdays[raw[i-3:i]]; d != "" {
			t.fact(factWeekday, d)
			return 1
		}
	}
	return 0
}

// readTime reads 10:30, 10 AM, 10:30pm, 午後3時半.
func (t *reader) readTime(tokens []token) int {
	tok := tokens[0]
	half := ""
	n := 0
	if tok.kind == han && (tok.raw == "午前" || tok.raw == "午後") && len(tokens) > 1 {
		half = map[string]string{"午前": "am", "午後": "pm"}[tok.raw]
		n++
		tok = tokens[n]
	}
	if tok.kind == word && (tok.fold == "noon" || tok.fold == "midnight") {
		t.fact(factTime, map[string]string{"noon": "12:00", "midnight": "00:00"}[tok.fold])
		return 1
	}
	if tok.kind != number {
		return 0
	}
	rest := tokens[n+1:]
	if n == 0 && len(rest) > 0 && rest[0].kind == word {
		switch rest[0].fold {
		case "am", "pm":
			half, n = rest[0].fold, 1
		case "a", "p": // a.m.
			if len(rest) > 2 && rest[1].raw == "." && rest[2].fold == "m" {
				half, n = rest[0].fold+"m", 3
			}
		}
	}
	if strings.Contains(tok.raw, ":") {
		if t.clock(tok.raw, half) {
			return n + 1
		}
		return 0
	}
	if len(rest) > 0 && rest[0].kind == han && strings.HasPrefix(rest[0].raw, "時") && !strings.HasPrefix(rest[0].raw, "時間") && allDigits(tok.raw) {
		minutes := "00"
		took := n + 2
		switch {
		case strings.HasPrefix(rest[0].raw, "時半"):
			minutes = "30"
		case rest[0].raw == "時" && len(rest) > 2 && rest[1].kind == number && strings.HasPrefix(rest[2].raw, "分"):
			minutes, took = rest[1].raw, took+2
		}
		if t.clock(tok.raw+":"+minutes, half) {
			return took
		}
	}
	if half != "" && allDigits(tok.raw) && len(tok.raw) <= 2 && t.clock(tok.raw+":00", half) {
		return n + 1
	}
	return 0
}

// clock records a time of day; seconds and offsets are not compared.
func (t *reader) clock(s, half string) bool {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) < 2 || !allDigits(parts[0]) || len(parts[0]) > 2 || len(parts[1]) > 2 || !allDigits(parts[1]) {
		return false
	}
	h, m := atoi(parts[0]), atoi(parts[1])
	if half == "pm" && h < 12 {
		h += 12
	}
	if half == "am" && h == 12 {
		h = 0
	}
	if h > 24 || m > 59 {
		return false
	}
	t.fact(factTime, fmt.Sprintf("%02d:%02d", h, m))
	return true
}

// date records a day; the year is a fact of its own, because people leave it out.
func (t *reader) date(year, month, day int) {
	t.fact(factDate, fmt.Sprintf("%02d-%02d", month, day))
	if year != 0 {
		t.fact(factYear, strconv.Itoa(year))
	}
}

func monthName(m int) string { return fmt.Sprintf("%02d", m) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
