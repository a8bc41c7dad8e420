package canonicalize

import "time"

// dateType reads a day, a month or a year.
type dateType struct {
	unit  string // "date", "month" or "year"
	zone  *time.Location
	order string
}

func newDate(params []string, d Defaults) (Type, error)  { return newCalendar("date", params, d) }
func newMonth(params []string, d Defaults) (Type, error) { return newCalendar("month", params, d) }
func newYear(params []string, d Defaults) (Type, error)  { return newCalendar("year", params, d) }

func newCalendar(unit string, params []string, _ Defaults) (Type, error) {
	t := &dateType{unit: unit}
	for _, p := range params {
		switch p {
		case "dmy", "mdy", "ymd":
			t.order = p
		default:
			zone, err := time.LoadLocation(p)
			if err != nil {
				return nil, &Error{Reason: "unknown zone " + p}
			}
			t.zone = zone
		}
	}
	return t, nil
}

func (t *dateType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	const remedy = "write it as YYYY-MM-DD"
	s, err := scalar(v, "a date", remedy)
	if err != nil {
		return nil, err
	}
	day, err := time.Parse("2006-01-02", s)
	if err != nil {
		return nil, &Error{Reason: "is not a date", Remedy: remedy}
	}
	return day.AppendFormat(dst, map[string]string{"date": `"2006-01-02"`, "month": `"2006-01"`, "year": `"2006"`}[t.unit]), nil
}
