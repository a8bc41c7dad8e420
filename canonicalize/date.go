package canonicalize

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dateType reads a day, a month or a year in the forms of moment.go. Its canonical form is the ISO 8601 one: 2026-04-01, 2026-04, 2026.
type dateType struct {
	unit  string         // "date", "month" or "year"
	zone  *time.Location // where a moment with an offset is turned into a day; nil refuses it
	order string         // of day, month and year in 03/04/2026: "dmy", "mdy", "ymd"; "" refuses it

	remedy string
	digits int // that a JSON number has: 20260401, 202604, 2026
}

func newDate(params []string, d Defaults) (Type, error)  { return newCalendar("date", params, d) }
func newMonth(params []string, d Defaults) (Type, error) { return newCalendar("month", params, d) }
func newYear(params []string, d Defaults) (Type, error)  { return newCalendar("year", params, d) }

// newCalendar makes date, date(zone), date(order) and date(zone|order), and the same of month and year.
func newCalendar(unit string, params []string, d Defaults) (Type, error) {
	t := &dateType{unit: unit, remedy: "write it as YYYY-MM-DD", digits: 8}
	switch unit {
	case "month":
		t.remedy, t.digits = "write it as YYYY-MM", 6
	case "year":
		t.remedy, t.digits = "write it as YYYY", 4
	}
	zone := d.Zone
	for _, p := range params {
		switch {
		case slices.Contains([]string{"dmy", "mdy", "ymd"}, p) && t.order == "":
			t.order = p
		case zone == d.Zone && t.order == "":
			zone = p
		default:
			return nil, &Error{Reason: "takes a zone and an order", Remedy: "write " + unit + "(Asia/Tokyo|dmy)"}
		}
	}
	var err error
	t.zone, err = loadZone(zone)
	return t, err
}

func (t *dateType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	s, err := scalar(v, t.unit, t.remedy)
	if err != nil {
		return nil, err
	}
	if v.Kind == Number && (countDigits(s) != len(s) || len(s) != t.digits) {
		return nil, t.unread("is a number, not a " + t.unit)
	}
	if t.unit == "date" && isoDay(s) {
		return appendQuoted(dst, s), nil
	}
	m, err := readMoment(closeUp(s), t.order)
	if err != nil {
		return nil, t.inUnit(err)
	}
	if t.unit == "date" && m.day == 0 || t.unit == "month" && m.month == 0 {
		return nil, t.unread("is no whole " + t.unit)
	}
	if m, err = m.dayIn(t.zone); err != nil {
		return nil, err
	}
	if err := m.checkEra(); err != nil {
		return nil, err
	}
	dst = append(dst, '"')
	dst = appendWidth(dst, int64(m.year), 4)
	if t.unit != "year" {
		dst = appendWidth(append(dst, '-'), int64(m.month), 2)
	}
	if t.unit == "date" {
		dst = appendWidth(append(dst, '-'), int64(m.day), 2)
	}
	return append(dst, '"'), nil
}

// inUnit is an error of a moment with the remedy of the type: a month is not to be written as a day.
func (t *dateType) inUnit(err error) error {
	var e *Error
	if t.unit == "date" || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Remedy = strings.NewReplacer("write it as YYYY-MM-DD", t.remedy, "date(", t.unit+"(").Replace(e.Remedy)
	return &told
}

func (t *dateType) unread(reason string) error { return &Error{Reason: reason, Remedy: t.remedy} }

// isoDay reports whether s is a day in the canonical form already.
func isoDay(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' || countDigits(s) != 4 || countDigits(s[5:]) != 2 || countDigits(s[8:]) != 2 {
		return false
	}
	year, _ := strconv.Atoi(s[:4])
	month, _ := strconv.Atoi(s[5:7])
	day, _ := strconv.Atoi(s[8:])
	return year > 0 && realDay(year, month, day)
}

// realDay reports whether the Gregorian calendar, also before it was made, has the day.
func realDay(year, month, day int) bool {
	return month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
}

func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
