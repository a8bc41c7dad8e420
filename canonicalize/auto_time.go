package canonicalize

import (
	"strconv"
	"strings"
	"time"
)

// localType reads a date, a time of day or both as a clock on the wall shows them, in ISO 8601 and with am and pm. A time with an offset is the moment it names.
// It is what auto fields read times with: nobody has said in which zone they are, so none is assumed.
type localType struct{}

func (localType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	bad := &Error{Reason: "is not a time", Remedy: "write it as YYYY-MM-DD HH:MM"}
	if v.Kind != String || len(v.Text) > 40 {
		return nil, bad
	}
	s := strings.ToUpper(human(v.Text))
	if moment, err := time.Parse(time.RFC3339Nano, strings.Replace(s, " ", "T", 1)); err == nil {
		return append(dst, moment.UTC().Format(`"2006-01-02T15:04:05.999999999Z"`)...), nil
	}
	date, clock := "", s
	if len(s) >= 10 {
		day, err := time.Parse("2006-01-02", strings.ReplaceAll(s[:10], "/", "-"))
		if err == nil {
			date, clock = day.Format("2006-01-02"), strings.TrimLeft(s[10:], "T ")
		}
	}
	if clock == "" {
		return appendQuoted(dst, date), nil
	}
	hour, ok := wallClock(clock)
	if !ok {
		return nil, bad
	}
	return appendQuoted(dst, strings.TrimSpace(date+" "+hour)), nil
}

// wallClock reads 17:00, 17:00:00, 5:00 PM and 5PM.
func wallClock(s string) (string, bool) {
	half := ""
	for _, end := range [...]string{"AM", "PM", "A.M.", "P.M."} {
		if rest, ok := strings.CutSuffix(s, end); ok {
			s, half = strings.TrimRight(rest, " "), end[:1]
		}
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 || len(parts) < 2 && half == "" {
		return "", false
	}
	var n [3]int
	for i, p := range parts {
		if i == 2 {
			whole, fraction, _ := strings.Cut(p, ".")
			if strings.Trim(fraction, "0") != "" {
				return "", false
			}
			p = whole
		}
		v, err := strconv.Atoi(p)
		if err != nil || len(p) > 2 || i > 0 && len(p) != 2 {
			return "", false
		}
		n[i] = v
	}
	if half != "" {
		if n[0] < 1 || n[0] > 12 {
			return "", false
		}
		n[0] %= 12
		if half == "P" {
			n[0] += 12
		}
	}
	if n[0] > 23 || n[1] > 59 || n[2] > 59 {
		return "", false
	}
	layout := "15:04"
	if n[2] != 0 {
		layout = "15:04:05"
	}
	return time.Date(2000, 1, 1, n[0], n[1], n[2], 0, time.UTC).Format(layout), true
}

// dayType reads a date without a time of day; midnight is none. A date with one is not cut down to its day. Dates that are run together are
// taken apart: Mar.10,2023.
type dayType struct{ of Type }

func (t dayType) Canon(dst []byte, v Value, args Value) ([]byte, error) {
	if v.Kind != String && v.Kind != Number || len(v.Text) > 40 {
		return nil, &Error{Reason: "is not a date", Remedy: "write it as YYYY-MM-DD"}
	}
	s := strings.TrimSpace(v.Text)
	for _, midnight := range [...]string{"T00:00:00Z", "T00:00:00.000Z", "T00:00:00", " 00:00:00", "T00:00", " 00:00"} {
		s = strings.TrimSuffix(s, midnight)
	}
	if upper := strings.ToUpper(human(s)); strings.ContainsAny(upper, ":時") || strings.HasSuffix(upper, "AM") || strings.HasSuffix(upper, "PM") {
		return nil, &Error{Reason: "has a time of day", Remedy: "write it as YYYY-MM-DD"}
	}
	v = Value{Kind: String, Text: s}
	out, err := t.of.Canon(dst, v, args)
	if err != nil {
		v.Text = strings.NewReplacer(". ", " ", ".", " ", ", ", ", ", ",", ", ").Replace(s)
		return t.of.Canon(dst, v, args)
	}
	return out, nil
}
