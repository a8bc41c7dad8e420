package canonicalize

import (
	"strings"
	"time"
)

// moment is what a text says about a point in time: as much of a date, a time of day and an offset as it states.
type moment struct {
	year, month, day  int // 0 where not stated
	weekday           int // time.Weekday+1
	era               *era
	eraYear           int // the date as stated, for the era's limits
	eraMonth, eraDay  int
	hasClock          bool
	hour, minute, sec int // hour up to 29: 26時 is two in the morning of the next day
	nanos             int
	hasOffset         bool
	offset            int // seconds east of Greenwich
}

var (
	unreadMoment = &Error{Reason: "is not a date", Remedy: "write it as YYYY-MM-DD"}
	anyOrder     = &Error{Reason: "has its day and month in an order that is not certain", Remedy: "write it as YYYY-MM-DD, or declare date(dmy) or date(mdy)"}
	shortYear    = &Error{Reason: "has a year of two digits", Remedy: "write the year with four digits"}
	noSuchDay    = &Error{Reason: "is a day that the calendar does not have", Remedy: "write it as YYYY-MM-DD"}
)

// readMoment reads a whole text, one token after the other: a date in numbers, an era, a month's name, a weekday, a time of day, an
// offset, and the small words between. Whatever else it meets, or meets twice, is refused.
func readMoment(s, order string) (moment, error) {
	var m moment
	for s != "" {
		rest, err := m.token(s, order)
		if err != nil {
			return m, err
		}
		s = rest
	}
	return m, m.check()
}

func (m *moment) token(s, order string) (string, error) {
	if m.hasClock && !m.hasOffset {
		if rest, ok := m.cutOffset(s); ok {
			return rest, nil
		}
	}
	if !m.hasClock {
		if rest, ok, err := m.cutClock(s); ok || err != nil {
			return rest, err
		}
	}
	if rest := cutFiller(s); rest != s {
		return rest, nil
	}
	if m.year == 0 && m.month == 0 && m.day == 0 {
		if rest, ok, err := m.cutNumeric(s, order); ok || err != nil {
			return rest, err
		}
		if rest, ok, err := m.cutJapanese(s); ok || err != nil {
			return rest, err
		}
	}
	if rest, ok := m.cutWeekday(s); ok {
		return rest, nil
	}
	if rest, ok := m.cutEnglish(s); ok {
		return rest, nil
	}
	return s, unreadMoment
}

// cutFiller steps over spaces, commas and the words that join the parts of a date.
func cutFiller(s string) string {
	if rest := strings.TrimLeft(s, " ,-"); rest != s {
		return rest
	}
	if len(s) > 1 && (s[0] == 'T' || s[0] == 't') && isDigit(s[1]) {
		return s[1:]
	}
	if s == "." {
		return ""
	}
	for _, mark := range [...]string{"の", "@", "、"} {
		if rest, ok := strings.CutPrefix(s, mark); ok {
			return rest
		}
	}
	switch word, rest := firstWord(s); word {
	case "of", "the", "at", "on":
		return rest
	}
	return s
}

// cutNumeric reads 2026-04-01, 2026/4/1, 1.4.2026, 20260401, 2026-04, 04/2026, 2019/aug/01.
func (m *moment) cutNumeric(s, order string) (string, bool, error) {
	n := countDigits(s)
	if n == 8 || n == 6 && len(s) == 6 {
		return m.cutCompact(s, n)
	}
	if n == 0 || n > 4 || n == len(s) || !strings.ContainsRune("-/.", rune(s[n])) {
		return s, false, nil
	}
	mark := s[n]
	first, rest := small(s[:n]), s[n+1:]
	n2 := countDigits(rest)
	if n2 == 0 || n2 > 4 {
		return s, false, nil
	}
	second, rest := small(rest[:n2]), rest[n2:]
	if rest == "" || rest[0] != mark || len(rest) == 1 || !isDigit(rest[1]) {
		return rest, true, m.setMonth(first, n, second, n2, rest)
	}
	n3 := countDigits(rest[1:])
	third, rest := small(rest[1:1+min(n3, 4)]), rest[1+n3:]
	if mark == '.' {
		rest = strings.TrimPrefix(rest, ".")
	}
	switch {
	case n == 4 && n2 <= 2 && n3 <= 2:
		m.year, m.month, m.day = first, second, third
	case n3 == 4 && n <= 2 && n2 <= 2:
		return rest, true, m.setOrdered(first, second, third, order)
	case n <= 2 && n2 <= 2 && n3 <= 2:
		return s, false, shortYear
	default:
		return s, false, unreadMoment
	}
	return rest, true, nil
}

// cutCompact reads 20260401 and, where nothing else stands, 202604.
func (m *moment) cutCompact(s string, n int) (string, bool, error) {
	m.year, m.month = small(s[:4]), small(s[4:6])
	if n == 8 {
		m.day = small(s[6:8])
	}
	if m.year < 1900 || m.year > 2199 || m.month < 1 || m.month > 12 || n == 8 && !realDay(m.year, m.month, m.day) {
		return s, false, unreadMoment
	}
	return s[n:], true, nil
}

// setMonth takes two numbers, 2026-04 or 04/2026.
func (m *moment) setMonth(first, n, second, n2 int, rest string) error {
	switch {
	case rest != "" && isDigit(rest[0]):
		return unreadMoment
	case n == 4 && n2 <= 2:
		m.year, m.month = first, second
	case n2 == 4 && n <= 2:
		m.year, m.month = second, first
	default:
		return unreadMoment
	}
	if m.month < 1 || m.month > 12 {
		return noSuchDay
	}
	return nil
}

// setOrdered takes a, b and a year. Only the declared order, or a number above 12, or two equal ones, say which is the month.
func (m *moment) setOrdered(a, b, year int, order string) error {
	m.year = year
	switch {
	case order == "dmy" || order == "" && a > 12:
		m.day, m.month = a, b
	case order == "mdy" || order == "" && (b > 12 || a == b):
		m.month, m.day = a, b
	default:
		return anyOrder
	}
	return nil
}

// cutJapanese reads 2026年4月1日, 二〇二六年四月, 令和8年4月1日, R8.4.1, and 4月1日 after the year.
func (m *moment) cutJapanese(s string) (string, bool, error) {
	e, year, rest := cutEra(s)
	if e == nil {
		n, after, ok := cutSmall(s)
		if !ok || n < 1000 || !strings.HasPrefix(after, "年") {
			return s, false, nil
		}
		year, rest = n, after
	}
	m.year, m.era = year, e
	mark := ""
	if after, ok := strings.CutPrefix(rest, "年"); ok {
		rest = after
	} else if rest != "" && strings.ContainsRune("-/.", rune(rest[0])) {
		mark, rest = rest[:1], rest[1:]
	} else if e == nil || rest != "" {
		return s, false, unreadMoment
	}
	if strings.HasPrefix(rest, "度") {
		return s, false, &Error{Reason: "is a fiscal year (年度), not one of the calendar", Remedy: "write the date or month it begins with"}
	}
	month, after, ok := cutSmall(rest)
	if !ok || mark == "" && !strings.HasPrefix(after, "月") {
		return rest, true, nil
	}
	if m.month = month; month < 1 || month > 12 {
		return s, false, noSuchDay
	}
	separator := mark
	if mark == "" {
		separator = "月"
	}
	rest, ok = strings.CutPrefix(after, separator)
	if rest == "分" {
		return "", true, nil // 4月分: what is for April
	}
	day, after, isDay := cutSmall(rest)
	if !ok || !isDay {
		return rest, true, nil
	}
	if after, ok = strings.CutPrefix(after, "日"); !ok && after != "" && after[0] != ' ' && after[0] != '(' && after[0] != ',' && after[0] != 'T' {
		return s, false, unreadMoment
	}
	if m.day = day; day < 1 {
		return s, false, noSuchDay
	}
	return after, true, nil
}

func small(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// check refuses days that do not exist and weekdays that are not those of the date, and remembers what an era has to hold.
func (m *moment) check() error {
	if m.year == 0 || m.day > 0 && m.month == 0 || m.hasOffset && !m.hasClock {
		return unreadMoment
	}
	m.eraYear, m.eraMonth, m.eraDay = m.year, m.month, m.day
	if m.month > 12 || m.day > 0 && !realDay(m.year, m.month, m.day) {
		return noSuchDay
	}
	if m.day == 0 && (m.hasClock || m.weekday > 0) {
		return unreadMoment
	}
	if m.weekday > 0 && m.weekday != int(m.midnight(time.UTC).Weekday())+1 {
		return &Error{Reason: "has a weekday that is not that of the date", Remedy: "leave the weekday out, or correct the date"}
	}
	return nil
}

func (m moment) midnight(zone *time.Location) time.Time {
	return time.Date(m.year, time.Month(m.month), m.day, 0, 0, 0, 0, zone)
}

// dayIn is the day on which the moment falls in a zone. Without an offset it is the day that is written.
func (m moment) dayIn(zone *time.Location) (moment, error) {
	if !m.hasClock {
		return m, nil
	}
	if !m.hasOffset {
		if m.hour < 24 {
			return m, nil
		}
		m.year, m.month, m.day = splitDay(m.midnight(time.UTC).AddDate(0, 0, 1))
		return m, nil
	}
	if zone == nil {
		return m, &Error{Reason: "is a time with an offset, whose day depends on the zone", Remedy: "declare date(Asia/Tokyo) or set defaults.zone, or send YYYY-MM-DD"}
	}
	m.year, m.month, m.day = splitDay(m.at(time.FixedZone("", m.offset)).In(zone))
	if m.year < 1 || m.year > 9999 {
		return m, noSuchDay
	}
	return m, nil
}

func splitDay(t time.Time) (int, int, int) {
	year, month, day := t.Date()
	return year, int(month), day
}

// at is the moment by the clock of a zone.
func (m moment) at(zone *time.Location) time.Time {
	return time.Date(m.year, time.Month(m.month), m.day, m.hour, m.minute, m.sec, m.nanos, zone)
}
