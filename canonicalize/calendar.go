package canonicalize

import "strings"

// months are the names of months, whole and shortened; a full stop may follow a short one.
var months = map[string]int{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5, "june": 6, "jun": 6,
	"july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9, "october": 10, "oct": 10, "november": 11,
	"nov": 11, "december": 12, "dec": 12,
}

// weekdays number the days of the week from Sunday, 1.
var weekdays = map[string]int{
	"sunday": 1, "sun": 1, "monday": 2, "mon": 2, "tuesday": 3, "tue": 3, "tues": 3, "wednesday": 4, "wed": 4, "weds": 4,
	"thursday": 5, "thu": 5, "thur": 5, "thurs": 5, "friday": 6, "fri": 6, "saturday": 7, "sat": 7,
}

// ordinals are the days of a month in words.
var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
	"eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16, "seventeenth": 17,
	"eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}

// cutWeekday reads Wed, Wednesday, 水曜日, (水).
func (m *moment) cutWeekday(s string) (string, bool) {
	if m.weekday > 0 {
		return s, false
	}
	if word, rest := firstWord(s); word != "" {
		m.weekday = weekdays[word]
		return strings.TrimPrefix(rest, "."), m.weekday > 0
	}
	inner, bracket := strings.CutPrefix(s, "(")
	if word, rest := firstWord(inner); bracket && weekdays[word] > 0 && strings.HasPrefix(rest, ")") {
		m.weekday = weekdays[word]
		return rest[1:], true
	}
	for i, name := range [...]string{"日", "月", "火", "水", "木", "金", "土"} {
		rest, ok := strings.CutPrefix(inner, name)
		if !ok {
			continue
		}
		rest, long := strings.CutPrefix(rest, "曜")
		rest = strings.TrimPrefix(rest, "日")
		if bracket {
			rest, long = strings.CutPrefix(rest, ")")
		}
		if long {
			m.weekday = i + 1
			return rest, true
		}
	}
	return s, false
}

// cutEnglish reads one part of a date in words: a month's name, a year of four digits, a day as 1, 1st, first or twenty-first. With
// the month named and the year in four digits their order does not matter.
func (m *moment) cutEnglish(s string) (string, bool) {
	if n := countDigits(s); n > 0 {
		rest := s[n:]
		switch {
		case n == 4 && m.year == 0:
			m.year = small(s[:4])
		case n <= 2 && m.day == 0:
			if m.day = small(s[:n]); m.day == 0 {
				return s, false
			}
			rest = cutOrdinalEnd(rest)
		default:
			return s, false
		}
		return cutJoint(rest)
	}
	word, rest := firstWord(s)
	if month := months[word]; month > 0 && m.month == 0 {
		m.month = month
		return cutJoint(strings.TrimPrefix(rest, "."))
	}
	if m.day == 0 {
		if day, rest, ok := cutDayWords(s); ok {
			m.day = day
			return rest, true
		}
	}
	return s, false
}

// cutJoint steps over a mark between two parts. What follows a part must not be glued to it, but for the T of a time.
func cutJoint(s string) (string, bool) {
	switch {
	case s == "" || s[0] == ' ' || s[0] == 'T':
		return s, true
	case s[0] == ',' || s[0] == '.':
		return s[1:], true
	case s[0] == '-' || s[0] == '/':
		return s[1:], len(s) > 1
	}
	return s, false
}

// cutOrdinalEnd steps over the st, nd, rd or th of 1st.
func cutOrdinalEnd(s string) string {
	word, rest := firstWord(s)
	switch word {
	case "st", "nd", "rd", "th":
		return rest
	}
	return s
}

// cutDayWords reads first, twenty-first, twenty two.
func cutDayWords(s string) (int, string, bool) {
	word, rest := firstWord(s)
	if day := ordinals[word]; day > 0 {
		return day, rest, true
	}
	day := int(numberWords[word])
	if day < 1 || day > 31 {
		return 0, s, false
	}
	if day >= 20 {
		next, after := firstWord(strings.TrimLeft(rest, " -"))
		unit := ordinals[next]
		if unit == 0 {
			unit = int(numberWords[next])
		}
		if unit > 0 && unit < 10 {
			day, rest = day+unit, after
		}
	}
	return day, rest, day <= 31
}
