package canonicalize

import (
	"time"
	_ "time/tzdata" // keys must not depend on what the machine has
)

// instantType reads a moment in the forms of moment.go. Its canonical form is RFC 3339 in UTC, "2026-04-02T13:05:00Z", with decimals
// of a second only where they are not zero.
type instantType struct {
	zone  *time.Location // of times without an offset; nil refuses them
	order string
}

const instantRemedy = `write it as "2026-04-02T14:05:00+09:00"`

// newInstant makes instant, instant(zone) and instant(zone|order).
func newInstant(params []string, d Defaults) (Type, error) {
	t, err := newCalendar("instant", params, d)
	if err != nil {
		return nil, err
	}
	c := t.(*dateType)
	return &instantType{zone: c.zone, order: c.order}, nil
}

func (t *instantType) Canon(dst []byte, v Value, _ Value) ([]byte, error) {
	if v.Kind == Number {
		return nil, &Error{Reason: "is a number, which may count seconds or milliseconds", Remedy: instantRemedy}
	}
	s, err := scalar(v, "a moment", instantRemedy)
	if err != nil {
		return nil, err
	}
	moment, err := t.read(s)
	if err != nil {
		return nil, err
	}
	if year := moment.Year(); year < 1 || year > 9999 {
		return nil, noSuchDay
	}
	return append(moment.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}

func (t *instantType) read(s string) (time.Time, error) {
	if moment, err := time.Parse(time.RFC3339Nano, s); err == nil && len(s) <= len("2006-01-02T15:04:05.999999999+00:00") {
		return moment.UTC(), nil
	}
	m, err := readMoment(closeUp(s), t.order)
	if err != nil {
		return time.Time{}, err
	}
	if err := m.checkEra(); err != nil {
		return time.Time{}, err
	}
	switch {
	case !m.hasClock:
		return time.Time{}, &Error{Reason: "is a day, not a moment", Remedy: instantRemedy}
	case m.hasOffset:
		return m.at(time.FixedZone("", m.offset)).UTC(), nil
	case t.zone == nil:
		return time.Time{}, &Error{Reason: "has no offset, so it is nobody's time", Remedy: instantRemedy + ", or declare instant(Asia/Tokyo)"}
	}
	return m.in(t.zone)
}

// in reads the moment by the clock of a zone. When clocks are changed an hour occurs twice or not at all; such times are refused.
func (m moment) in(zone *time.Location) (time.Time, error) {
	wall := m.at(time.UTC)
	var found []time.Time
	for _, day := range [...]int{-1, 1} {
		_, offset := wall.AddDate(0, 0, day).In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, there := at.In(zone).Zone(); there == offset && (len(found) == 0 || !found[0].Equal(at)) {
			found = append(found, at)
		}
	}
	if len(found) != 1 {
		return time.Time{}, &Error{Reason: "occurs twice or not at all in " + zone.String() + ", where clocks are changed", Remedy: "write it with its offset: " + instantRemedy}
	}
	return found[0], nil
}

// loadZone finds a zone by its IANA name; nil for "". Abbreviations and the machine's own zone are refused.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &Error{Reason: "has the unknown zone " + name, Remedy: "write an IANA name such as Asia/Tokyo or UTC"}
	}
	return zone, nil
}
