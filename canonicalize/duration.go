package canonicalize

import (
	"math/big"
	"strconv"
	"strings"
)

// durationType reads a length of time. Its canonical form is that of ISO 8601 with the largest units first ("PT1H30M", "P2D", "P18M").
// A day is 24 hours, a year is 12 months; a month is no number of days, so that the two never meet.
type durationType struct{}

const durationRemedy = `write it as "PT1H30M", "90 min" or "1時間30分"`

func newDuration(params []string, _ Defaults) (Type, error) {
	if len(params) > 0 {
		return nil, &Error{Reason: "takes no parameters"}
	}
	return durationType{}, nil
}

// span is a length of time: months, and nanoseconds beside them. inexact says that it has no such length.
type span struct {
	months, nanos int64
	inexact       bool
}

func (durationType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	if v.Kind == Number {
		return nil, &Error{Reason: "is a number without a unit", Remedy: durationRemedy}
	}
	s, err := scalar(v, "a duration", durationRemedy)
	if err != nil {
		return nil, err
	}
	var d span
	var ok bool
	if s[0] == 'P' {
		d, ok = isoSpan(s)
	} else if d, ok = clockSpan(s); !ok {
		d, ok = writtenSpan(closeUp(s))
	}
	if ok {
		dst, ok = d.append(append(dst, '"'))
	}
	if !ok {
		return nil, &Error{Reason: "is not a duration of one certain length", Remedy: durationRemedy}
	}
	return append(dst, '"'), nil
}

// add takes an amount of a unit of time; false for units of anything else.
func (d *span) add(amount *big.Rat, u *unit) bool {
	total, whole := &d.nanos, powerOfTen(9)
	switch u.dimension {
	case "time":
	case "calendar":
		total, whole = &d.months, powerOfTen(0)
	default:
		return false
	}
	part := times(times(new(big.Rat).Set(amount), u.factor), whole)
	if !part.IsInt() || part.Num().BitLen() > 62 || *total > 1<<62 {
		d.inexact = true
		return true
	}
	*total += part.Num().Int64()
	return true
}

// append writes the span. Fractions of a month and of a nanosecond are refused.
func (d span) append(dst []byte) ([]byte, bool) {
	if d.inexact || d.months < 0 || d.nanos < 0 {
		return nil, false
	}
	dst = append(dst, 'P')
	if d.months > 0 {
		dst = append(strconv.AppendInt(dst, d.months, 10), 'M')
	}
	if d.nanos > 0 {
		return appendSeconds(dst, d.nanos), true
	}
	if d.months == 0 {
		dst = append(dst, "T0S"...)
	}
	return dst, true
}

func appendSeconds(dst []byte, nanos int64) []byte {
	const second = int64(1e9)
	days, rest := nanos/(86400*second), nanos%(86400*second)
	if days > 0 {
		dst = append(strconv.AppendInt(dst, days, 10), 'D')
	}
	if rest == 0 {
		return dst
	}
	dst = append(dst, 'T')
	for _, u := range [...]struct {
		letter byte
		size   int64
	}{{'H', 3600 * second}, {'M', 60 * second}} {
		if n := rest / u.size; n > 0 {
			dst = append(strconv.AppendInt(dst, n, 10), u.letter)
			rest %= u.size
		}
	}
	if rest == 0 {
		return dst
	}
	dst = strconv.AppendInt(dst, rest/second, 10)
	if fraction := rest % second; fraction > 0 {
		digits := strings.TrimRight(strconv.FormatInt(second+fraction, 10)[1:], "0")
		dst = append(append(dst, '.'), digits...)
	}
	return append(dst, 'S')
}

// The units of ISO 8601's designators, before and after the T.
var isoDays, isoHours = [...]string{"year", "month", "wk", "d"}, [...]string{"h", "min", "s"}

// isoSpan reads P1Y2M3W4DT5H6M7.5S (ISO 8601). The designators keep their order, and only the last number may have a fraction.
func isoSpan(s string) (span, bool) {
	var d span
	designators, names := "YMWD", isoDays[:]
	s = s[1:]
	for read := false; ; read = true {
		if after, ok := strings.CutPrefix(s, "T"); ok && len(names) > 0 && names[len(names)-1] == "d" {
			s, designators, names = after, "HMS", isoHours[:]
			read = false
		} else if ok {
			return d, false
		}
		if s == "" {
			return d, read
		}
		n := countDigits(s)
		fraction := 0
		if n < len(s) && (s[n] == '.' || s[n] == ',') {
			fraction = 1 + countDigits(s[n+1:])
		}
		end := n + fraction
		if n == 0 || fraction == 1 || end >= len(s) || end > 30 {
			return d, false
		}
		at := strings.IndexByte(designators, s[end])
		amount, ok := isoNumber(s[:end])
		if at < 0 || !ok || fraction > 0 && end+1 < len(s) {
			return d, false
		}
		if !d.add(amount, units().exact[names[at]]) {
			return d, false
		}
		s = s[end+1:]
		designators = designators[at+1:]
		if names = names[at+1:]; len(names) == 0 && !strings.HasPrefix(s, "T") {
			return d, s == ""
		} else if len(names) == 0 {
			names = isoDays[3:]
		}
	}
}

func isoNumber(s string) (*big.Rat, bool) {
	if len(s) < 19 && countDigits(s) == len(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		return new(big.Rat).SetInt64(n), err == nil
	}
	return new(big.Rat).SetString(strings.Replace(s, ",", ".", 1))
}

// clockSpan reads 1:30:00 and 01:30:00.5. Without seconds it may be minutes and seconds or hours and minutes.
func clockSpan(s string) (span, bool) {
	n := countDigits(s)
	if n == 0 || n > 4 || n == len(s) || s[n] != ':' {
		return span{}, false
	}
	minute, rest, ok := cutTwo(s[n+1:])
	after, more := strings.CutPrefix(rest, ":")
	sec, rest, ok2 := cutTwo(after)
	var m moment
	rest, ok3 := m.cutFraction(rest)
	if !ok || !more || !ok2 || !ok3 || rest != "" {
		return span{}, false
	}
	seconds := small(s[:n])*3600 + minute*60 + sec
	return span{nanos: int64(seconds)*1e9 + int64(m.nanos)}, true
}

// writtenSpan reads "1 hour 30 minutes", 1時間30分, "an hour and a half", "2 years, 3 months".
func writtenSpan(s string) (span, bool) {
	var d span
	var last *unit
	s = strings.TrimPrefix(strings.TrimPrefix(s, "まる"), "丸")
	if half, ok := strings.CutPrefix(s, "半年"); ok {
		return span{months: 6}, strings.TrimPrefix(half, "間") == ""
	}
	for s != "" {
		if last != nil {
			if part, rest, ok := cutHalfOf(s); ok {
				d.add(part, last)
				return d, rest == ""
			}
			s = skipListed(s)
		}
		amount, rest, ok := cutUnsigned(s)
		if !ok {
			return d, false
		}
		rest = strings.TrimLeft(rest, " -")
		if rest == "" && last != nil && last.symbol == "h" && amount.IsInt() && amount.Cmp(big.NewRat(60, 1)) < 0 {
			return d, d.add(amount, units().exact["min"]) // 1 hour thirty
		}
		u, rest := units().cut(rest, "time")
		if u == nil || last != nil && (u.dimension != last.dimension && last.dimension != "calendar" || u.dimension == last.dimension && u.factor.Cmp(last.factor) >= 0) {
			return d, false
		}
		if !d.add(amount, u) {
			return d, false
		}
		last, s = u, strings.TrimPrefix(rest, ".")
	}
	return d, last != nil
}

// cutHalfOf reads what adds a part of the unit before it: 半, "and a half".
func cutHalfOf(s string) (*big.Rat, string, bool) {
	if rest, ok := strings.CutPrefix(s, "半"); ok {
		return big.NewRat(1, 2), rest, true
	}
	part, rest, ok := cutAndFraction(s)
	return part, rest, ok && rest == ""
}
