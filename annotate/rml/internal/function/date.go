package function

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// dateTime is a date, or a date and a time of day. A time of day without an
// offset is in UTC, as in GREL.
type dateTime struct {
	time.Time
	timed  bool // whether it has a time of day
	offset bool // whether its text has an offset from UTC
}

// String returns it as an xsd:date or xsd:dateTime.
func (m dateTime) String() string {
	if !m.timed {
		return m.Format(time.DateOnly)
	}
	return m.Format("2006-01-02T15:04:05.999999999Z07:00")
}

// local returns it without an offset if its text has none.
func (m dateTime) local() string {
	if m.timed && !m.offset {
		return m.Format("2006-01-02T15:04:05.999999999")
	}
	return m.String()
}

// parseDateTime parses an xsd:date or xsd:dateTime, the form in which other
// functions return dates.
func parseDateTime(s string) (dateTime, error) {
	s = strings.TrimSpace(s)
	for _, form := range []struct {
		layout        string
		timed, offset bool
	}{
		{time.DateOnly, false, false},
		{"2006-01-02Z07:00", false, true},
		{"2006-01-02T15:04:05Z07:00", true, true}, // it accepts a fraction, too
		{"2006-01-02T15:04:05", true, false},
		{"2006-01-02 15:04:05", true, false},
	} {
		if t, err := time.Parse(form.layout, s); err == nil {
			return dateTime{Time: t, timed: form.timed, offset: form.offset}, nil
		}
	}
	return dateTime{}, fmt.Errorf("%q is not a date such as 2026-01-31 or 2026-01-31T12:00:00Z", brief(s))
}

// grelDates are the date functions of GREL.
func grelDates() []Function {
	date := grel("param_date_d", "p_date_d", "param_datetime_d", "p_datetime_d", "valueParam", "valueParameter")
	date2 := grel("param_datetime_d2", "p_datetime_d2", "param_date_d2", "p_date_d2", "valueParam2", "valueParameter2")
	unit := grel("param_string_unit", "p_string_unit", "param_string_timeunit", "p_string_timeunit")
	pattern := grel("param_string_pattern", "p_string_pattern", "param_string_format", "p_string_format")
	amount := grel("param_dec_n", "p_dec_n", "param_int_n", "p_int_n", "param_int_i", "p_int_i")
	return []Function{
		grelFunction("date_now", dateResult, func(Call) ([]string, error) {
			return text(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
		}),
		grelFunction("date_toDate", dateResult, func(c Call) ([]string, error) {
			m, err := parseDateTime(c.Arg(0))
			if c.Has(1) {
				m, err = parseByPattern(c.Arg(0), c.Arg(1), "en")
			}
			if err != nil {
				return nil, err
			}
			return text(m.String())
		}, grelValue(), pattern.optional()),
		grelFunction("date_diff", integerResult, func(c Call) ([]string, error) {
			later, err := parseDateTime(c.Arg(0))
			if err != nil {
				return nil, err
			}
			earlier, err := parseDateTime(c.Arg(1))
			if err != nil {
				return nil, err
			}
			n, err := between(earlier.Time, later.Time, c.Arg(2))
			if err != nil {
				return nil, err
			}
			return text(fmt.Sprint(n))
		}, date, date2, unit),
		grelFunction("date_inc", dateResult, increase, date, amount, unit.optional()),
		grelFunction("date_datePart", integerResult, func(c Call) ([]string, error) {
			m, err := parseDateTime(c.Arg(0))
			if err != nil {
				return nil, err
			}
			return datePart(m.Time, c.Arg(1))
		}, date, unit),
	}
}

// dateUnits are the units of time by their names in GREL. Months have no fixed
// length; a year is twelve of them.
var dateUnits = map[string]struct {
	months int64
	length time.Duration
}{
	"year": {months: 12}, "month": {months: 1},
	"week": {length: 7 * 24 * time.Hour}, "w": {length: 7 * 24 * time.Hour},
	"day": {length: 24 * time.Hour}, "d": {length: 24 * time.Hour},
	"hour": {length: time.Hour}, "h": {length: time.Hour},
	"minute": {length: time.Minute}, "min": {length: time.Minute},
	"second": {length: time.Second}, "sec": {length: time.Second}, "s": {length: time.Second},
	"millisecond": {length: time.Millisecond}, "milli": {length: time.Millisecond}, "ms": {length: time.Millisecond},
	"nanosecond": {length: 1}, "nano": {length: 1}, "n": {length: 1},
}

// unitName returns the name of a unit in the singular and lower case.
func unitName(s string) string {
	if s == "S" {
		return "ms"
	}
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) > 2 {
		s = strings.TrimSuffix(s, "s")
	}
	return s
}

func unknownUnit(s string) error {
	return fmt.Errorf("the unit %q is not known: expected years, months, weeks, days, hours, minutes, seconds, "+
		"milliseconds or nanos", brief(s))
}

// between counts the whole units from one time to another. It is negative when
// the other is earlier.
func between(from, to time.Time, unit string) (int64, error) {
	u, known := dateUnits[unitName(unit)]
	switch {
	case !known:
		return 0, unknownUnit(unit)
	case u.months > 0:
		return wholeMonths(from.UTC(), to.UTC()) / u.months, nil
	}
	seconds, nanos := to.Unix()-from.Unix(), int64(to.Nanosecond()-from.Nanosecond())
	// Both parts have the same sign, so the remainder is cut towards zero.
	switch {
	case seconds > 0 && nanos < 0:
		seconds, nanos = seconds-1, nanos+int64(time.Second)
	case seconds < 0 && nanos > 0:
		seconds, nanos = seconds+1, nanos-int64(time.Second)
	}
	if u.length >= time.Second {
		return seconds / int64(u.length/time.Second), nil
	}
	perSecond := int64(time.Second / u.length)
	if most := math.MaxInt64/perSecond - 1; seconds > most || seconds < -most {
		return 0, fmt.Errorf("the difference in %s has more than 64 bits", unit)
	}
	return seconds*perSecond + nanos/int64(u.length), nil
}

// wholeMonths counts the months that have passed in full.
func wholeMonths(from, to time.Time) int64 {
	months := int64(to.Year()-from.Year())*12 + int64(to.Month()-from.Month())
	switch reached := addMonths(from, months); {
	case months > 0 && reached.After(to):
		months--
	case months < 0 && reached.Before(to):
		months++
	}
	return months
}

// addMonths returns the same day of another month, or the last day of a shorter
// month.
func addMonths(t time.Time, months int64) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
		t.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// increase adds an amount of a unit to a date; the default unit is the hour.
func increase(c Call) ([]string, error) {
	m, err := parseDateTime(c.Arg(0))
	if err != nil {
		return nil, err
	}
	n, err := parseInteger(c.Arg(1))
	if err != nil {
		return nil, err
	}
	name := "hour"
	if c.Has(2) {
		name = c.Arg(2)
	}
	u, known := dateUnits[unitName(name)]
	if !known {
		return nil, unknownUnit(name)
	}
	tooFar := fmt.Errorf("%d %s from %s is not in the years 1 to 9999", n, name, m)
	if most := int64(10_000 * 366 * 24 * 3600); (n > most || n < -most) && u.length%time.Second == 0 {
		return nil, tooFar
	}
	switch {
	case u.months > 0:
		if n > 10_000*12 || n < -10_000*12 {
			return nil, tooFar
		}
		m.Time = addMonths(m.Time, n*u.months)
	case u.length >= time.Second:
		m.Time = time.Unix(m.Unix()+n*int64(u.length/time.Second), int64(m.Nanosecond())).In(m.Location())
	default:
		perSecond := int64(time.Second / u.length)
		m.Time = time.Unix(m.Unix()+n/perSecond, int64(m.Nanosecond())+n%perSecond*int64(u.length)).In(m.Location())
	}
	m.timed = m.timed || (u.months == 0 && u.length < 24*time.Hour)
	if m.Year() < 1 || m.Year() > 9999 {
		return nil, tooFar
	}
	return text(m.String())
}

// datePart returns one part of a date in UTC. Months count from 1, weeks are
// those of the month and begin on Sundays.
func datePart(t time.Time, unit string) ([]string, error) {
	t = t.UTC()
	switch unitName(unit) {
	case "year":
		return integer(t.Year())
	case "month":
		return integer(int(t.Month()))
	case "week", "w":
		first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).Weekday()
		return integer((t.Day()+int(first)-1)/7 + 1)
	case "day", "d":
		return integer(t.Day())
	case "weekday":
		return text(t.Weekday().String())
	case "hour", "h":
		return integer(t.Hour())
	case "minute", "min":
		return integer(t.Minute())
	case "second", "sec", "s":
		return integer(t.Second())
	case "millisecond", "milli", "ms":
		return integer(t.Nanosecond() / int(time.Millisecond))
	case "nanosecond", "nano", "n":
		return integer(t.Nanosecond())
	case "time":
		return text(fmt.Sprint(t.UnixMilli()))
	}
	return nil, unknownUnit(unit)
}
