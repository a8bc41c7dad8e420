package canonicalize

import (
	"strconv"
	"strings"
)

var noSuchTime = &Error{Reason: "is a time that no clock shows, or that may be of two halves of the day", Remedy: "write it as HH:MM:SS of 24 hours"}

// cutClock reads a time of day: 14:05, 8:00:20.5 pm, 8 a.m., 午後8時30分, noon. It reports false where s does not begin with one.
func (m *moment) cutClock(s string) (string, bool, error) {
	half, rest := cutJapaneseHalf(s)
	if half == "正午" {
		if after, ok := strings.CutPrefix(rest, "12時"); ok {
			rest = after
		}
		return rest, true, m.setClock(12, 0, 0, "")
	}
	if word, after := firstWord(s); word == "noon" {
		return after, true, m.setClock(12, 0, 0, "")
	}
	if n := countDigits(rest); n == 6 && n < len(rest) && m.day > 0 && strings.ContainsRune("Zz+-", rune(rest[n])) { // 130500Z
		return rest[n:], true, m.setClock(small(rest[:2]), small(rest[2:4]), small(rest[4:6]), "")
	}
	hour, after, ok := cutSmall(rest)
	if !ok || countDigits(rest) > 2 {
		return s, false, nil
	}
	switch {
	case strings.HasPrefix(after, ":"):
		return m.cutColons(hour, after, half)
	case strings.HasPrefix(after, "時"):
		return m.cutKanjiClock(hour, after[len("時"):], half)
	}
	if half != "" {
		return s, false, noSuchTime
	}
	if half, after := cutHalf(after); half != "" && countDigits(rest) > 0 {
		return after, true, m.setClock(hour, 0, 0, half)
	}
	return s, false, nil
}

// cutColons reads what follows the hour of 8:00:20.5 pm.
func (m *moment) cutColons(hour int, s, half string) (string, bool, error) {
	minute, rest, ok := cutTwo(s[1:])
	if !ok {
		return s, false, noSuchTime
	}
	sec := 0
	if after, more := strings.CutPrefix(rest, ":"); more {
		if sec, rest, ok = cutTwo(after); !ok {
			return s, false, noSuchTime
		}
		if rest, ok = m.cutFraction(rest); !ok {
			return s, false, noSuchTime
		}
	}
	if after, rest := cutHalf(rest); after != "" {
		if half != "" {
			return s, false, noSuchTime
		}
		return rest, true, m.setClock(hour, minute, sec, after)
	}
	return rest, true, m.setClock(hour, minute, sec, half)
}

// cutFraction reads .5 or ,5 of a second, up to nanoseconds; finer ones than that are refused unless zero.
func (m *moment) cutFraction(s string) (string, bool) {
	if len(s) < 2 || s[0] != '.' && s[0] != ',' || !isDigit(s[1]) {
		return s, true
	}
	n := countDigits(s[1:])
	digits := strings.TrimRight(s[1:1+n], "0")
	if len(digits) > 9 {
		return s, false
	}
	m.nanos = small(digits) * int(tens[9-len(digits)])
	return s[1+n:], true
}

func cutTwo(s string) (int, string, bool) {
	if countDigits(s) != 2 {
		return 0, s, false
	}
	n := small(s[:2])
	return n, s[2:], n < 60
}

// cutHalf reads am or pm, with or without stops.
func cutHalf(s string) (string, string) {
	s2 := strings.TrimLeft(s, " ")
	for _, half := range [...]struct{ written, half string }{{"a.m.", "am"}, {"p.m.", "pm"}, {"a.m", "am"}, {"p.m", "pm"}, {"am", "am"}, {"pm", "pm"}} {
		if rest, ok := cutWord(s2, half.written); ok {
			return half.half, rest
		}
	}
	return "", s
}

// japaneseHalves say which half of the day the hour after them belongs to.
var japaneseHalves = [...]string{"正午", "午前", "午後", "早朝", "朝", "夕方", "夜"}

func cutJapaneseHalf(s string) (string, string) {
	for _, half := range japaneseHalves {
		if rest, ok := strings.CutPrefix(s, half); ok {
			return half, rest
		}
	}
	return "", s
}

// cutKanjiClock reads what follows 時: 30分20秒, 半.
func (m *moment) cutKanjiClock(hour int, s, half string) (string, bool, error) {
	if rest, ok := strings.CutPrefix(s, "半"); ok {
		return rest, true, m.setClock(hour, 30, 0, half)
	}
	minute, sec := 0, 0
	if n, rest, ok := cutSmall(s); ok && n < 60 && strings.HasPrefix(rest, "分") {
		minute, s = n, rest[len("分"):]
	}
	if n, rest, ok := cutSmall(s); ok && n < 60 && strings.HasPrefix(rest, "秒") {
		sec, s = n, rest[len("秒"):]
	}
	return s, true, m.setClock(hour, minute, sec, half)
}

// setClock takes an hour and the half of the day that goes with it. 12 am is midnight and 12 pm noon; 午後12時 is either and refused.
func (m *moment) setClock(hour, minute, sec int, half string) error {
	switch half {
	case "am", "pm":
		if hour < 1 || hour > 12 {
			return noSuchTime
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	case "午前":
		if hour > 11 {
			return noSuchTime
		}
	case "午後":
		if hour > 11 {
			return noSuchTime
		}
		hour += 12
	case "朝", "早朝":
		if hour < 4 || hour > 11 {
			return noSuchTime
		}
	case "夕方":
		if hour < 3 || hour > 7 {
			return noSuchTime
		}
		hour += 12
	case "夜":
		if hour < 6 || hour > 11 {
			return noSuchTime
		}
		hour += 12
	}
	if hour > 29 || minute > 59 || sec > 59 {
		return noSuchTime
	}
	m.hasClock, m.hour, m.minute, m.sec = true, hour, minute, sec
	return nil
}

// cutOffset reads Z, +09:00, +0900, +9, UTC, GMT+0800 (CST), JST. Other abbreviations name more than one zone.
func (m *moment) cutOffset(s string) (string, bool) {
	rest := strings.TrimLeft(s, " ")
	word, after := firstWord(rest)
	switch word {
	case "z", "utc", "gmt":
		m.hasOffset = true
		if signed, ok := m.cutSigned(after); ok && word != "z" {
			return signed, true
		}
		return after, true
	case "jst":
		m.hasOffset, m.offset = true, 9*3600
		return after, true
	}
	if len(rest) > 1 && isDigit(rest[1]) {
		return m.cutSigned(rest)
	}
	return s, false
}

func (m *moment) cutSigned(s string) (string, bool) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return s, false
	}
	n := countDigits(s[1:])
	hours, rest, minutes := s[1:1+n], s[1+n:], ""
	switch {
	case n == 4:
		hours, minutes = hours[:2], hours[2:]
	case n == 2 && strings.HasPrefix(rest, ":") && countDigits(rest[1:]) == 2:
		minutes, rest = rest[1:3], rest[3:]
	case n == 0 || n > 2:
		return s, false
	}
	h, _ := strconv.Atoi(hours)
	if h > 14 || small(minutes) > 59 {
		return s, false
	}
	m.hasOffset, m.offset = true, h*3600+small(minutes)*60
	if s[0] == '-' {
		m.offset = -m.offset
	}
	return cutZoneName(rest), true
}

// cutZoneName steps over the name in brackets that may follow an offset and says no more: "+0800 (CST)", "(Japan Standard Time)".
func cutZoneName(s string) string {
	inner, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "(")
	name, rest, closed := strings.Cut(inner, ")")
	if !ok || !closed || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && !isLetter(byte(min(r, 127))) }) {
		return s
	}
	return rest
}
