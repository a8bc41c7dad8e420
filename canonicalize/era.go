package canonicalize

import (
	"strconv"
	"strings"
	"time"
)

// era is one of Japan's, with its first and last day. Two eras share the day on which the emperor changed in 1912 and 1926. Dates of
// Meiji before 1873 are in the lunar calendar and are not read.
type era struct {
	name, letter string
	first, last  [3]int // year, month, day
}

var eras = [...]era{
	{"令和", "R", [3]int{2019, 5, 1}, [3]int{9999, 12, 31}},
	{"平成", "H", [3]int{1989, 1, 8}, [3]int{2019, 4, 30}},
	{"昭和", "S", [3]int{1926, 12, 25}, [3]int{1989, 1, 7}},
	{"大正", "T", [3]int{1912, 7, 30}, [3]int{1926, 12, 25}},
	{"明治", "M", [3]int{1868, 10, 23}, [3]int{1912, 7, 30}},
}

// cutEra reads the name of an era and the year in it: 令和8, 平成元, R8. A letter counts only before a digit.
func cutEra(s string) (e *era, year int, rest string) {
	for i := range eras {
		e := &eras[i]
		after, named := strings.CutPrefix(s, e.name)
		if !named {
			if len(s) < 2 || s[0]&^0x20 != e.letter[0] || !isDigit(s[1]) {
				continue
			}
			after = s[1:]
		}
		if first, ok := strings.CutPrefix(after, "元"); ok {
			return e, e.first[0], first
		}
		if n, rest, ok := cutSmall(after); ok && n > 0 && n < 100 {
			return e, e.first[0] + n - 1, rest
		}
	}
	return nil, 0, s
}

// checkEra refuses what the calendar never had: 平成32年, 昭和64年2月.
func (m moment) checkEra() error {
	if m.era == nil {
		return nil
	}
	low, high := m.eraYear*10000, m.eraYear*10000+9999
	if m.eraMonth > 0 {
		low, high = low+m.eraMonth*100, m.eraYear*10000+m.eraMonth*100+99
	}
	if m.eraDay > 0 {
		low += m.eraDay
		high = low
	}
	first, last := number3(m.era.first), number3(m.era.last)
	if m.era.letter == "M" {
		first = max(first, 18730101)
	}
	if high >= first && low <= last {
		return nil
	}
	reason := "is not in the era " + m.era.name + ", which went from " + dateOf(m.era.first) + " to " + dateOf(m.era.last)
	if m.era.letter == "M" {
		reason = "is in the lunar calendar, or not in Meiji: the Gregorian calendar came on 1873-01-01 (明治6年)"
	}
	return &Error{Reason: reason, Remedy: "write it as YYYY-MM-DD"}
}

func number3(d [3]int) int { return d[0]*10000 + d[1]*100 + d[2] }

func dateOf(d [3]int) string {
	return time.Date(d[0], time.Month(d[1]), d[2], 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// cutSmall reads a number below ten thousand in digits or kanji: 8, 08, 十二, 二〇二六, 二千二十六.
func cutSmall(s string) (int, string, bool) {
	if n := countDigits(s); n > 0 {
		v, err := strconv.Atoi(s[:min(n, 5)])
		return v, s[n:], err == nil && n <= 4
	}
	total, waiting, run, scale := 0, 0, 0, 4
	end := len(s)
	for i, r := range s {
		if d := kanjiDigit(r); d >= 0 {
			waiting = waiting*10 + d
			if run++; run > 4 {
				return 0, s, false
			}
			continue
		}
		k := kanjiScale(r)
		if k == 0 {
			end = i
			break
		}
		if k >= scale || run > 1 || run == 1 && waiting == 0 {
			return 0, s, false
		}
		total += max(waiting, 1) * int(tens[k])
		scale, waiting, run = k, 0, 0
	}
	if end == 0 || run > scale || scale < 4 && run > 1 {
		return 0, s, false
	}
	return total + waiting, s[end:], true
}
