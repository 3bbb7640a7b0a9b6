package xpath

import (
	"math/big"
	"time"
)

// dateFunctions are the functions on dates, times and durations (sections 8 and 9 of Functions and
// Operators).
func dateFunctions() map[string]function {
	all := map[string]function{
		"current-dateTime": def("", current(dateTime)),
		"current-date":     def("", current(dateAtom)),
		"current-time":     def("", current(timeAtom)),
		"dateTime": def("D? T?", func(e *evaluation, _ focus, a []sequence) sequence {
			if len(a[0]) == 0 || len(a[1]) == 0 {
				return nil
			}
			d, t := a[0][0], a[1][0]
			zone := d.t.Location()
			if !d.zone {
				zone = t.t.Location()
			}
			_, left := d.t.Zone()
			_, right := t.t.Zone()
			if d.zone && t.zone && left != right {
				return e.fail("FORG0008", "the date and the time have different time zones")
			}
			return e.unit(item{typ: dateTime, zone: d.zone || t.zone, t: time.Date(d.t.Year(), d.t.Month(), d.t.Day(),
				t.t.Hour(), t.t.Minute(), t.t.Second(), t.t.Nanosecond(), zone)})
		}),
		"format-date":           def("D? s | s? s? s?", formatDate),
		"format-time":           def("T? s | s? s? s?", formatDate),
		"format-dateTime":       def("M? s | s? s? s?", formatDate),
		"years-from-duration":   def("U?", spanPart(func(d item) int64 { return d.n / 12 })),
		"months-from-duration":  def("U?", spanPart(func(d item) int64 { return d.n % 12 })),
		"days-from-duration":    def("U?", spanPart(func(d item) int64 { return int64(d.span / (24 * time.Hour)) })),
		"hours-from-duration":   def("U?", spanPart(func(d item) int64 { return int64(d.span / time.Hour % 24) })),
		"minutes-from-duration": def("U?", spanPart(func(d item) int64 { return int64(d.span / time.Minute % 60) })),
		"seconds-from-duration": def("U?", func(e *evaluation, _ focus, a []sequence) sequence {
			if len(a[0]) == 0 {
				return nil
			}
			return e.unit(dec(big.NewRat(int64(a[0][0].span%time.Minute), int64(time.Second))))
		}),
	}
	for suffix, kind := range map[string]string{"dateTime": "M", "date": "D", "time": "T"} {
		all["adjust-"+suffix+"-to-timezone"] = def(kind+"? | U?", adjust)
		all["timezone-from-"+suffix] = def(kind+"?", func(e *evaluation, _ focus, a []sequence) sequence {
			if len(a[0]) == 0 || !a[0][0].zone {
				return nil
			}
			_, seconds := a[0][0].t.Zone()
			return e.unit(item{typ: dayTime, span: time.Duration(seconds) * time.Second})
		})
		if suffix != "time" {
			all["year-from-"+suffix] = def(kind+"?", part(func(t time.Time) int { return t.Year() }))
			all["month-from-"+suffix] = def(kind+"?", part(func(t time.Time) int { return int(t.Month()) }))
			all["day-from-"+suffix] = def(kind+"?", part(func(t time.Time) int { return t.Day() }))
		}
		if suffix != "date" {
			all["hours-from-"+suffix] = def(kind+"?", part(func(t time.Time) int { return t.Hour() }))
			all["minutes-from-"+suffix] = def(kind+"?", part(func(t time.Time) int { return t.Minute() }))
			all["seconds-from-"+suffix] = def(kind+"?", func(e *evaluation, _ focus, a []sequence) sequence {
				if len(a[0]) == 0 {
					return nil
				}
				t := a[0][0].t
				return e.unit(dec(big.NewRat(int64(t.Second())*int64(time.Second)+int64(t.Nanosecond()), int64(time.Second))))
			})
		}
	}
	return all
}

// current returns a function that reads the clock, once per evaluation.
func current(typ atom) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, _ []sequence) sequence {
		if e.now.IsZero() {
			e.now = time.Now().UTC().Truncate(time.Millisecond)
		}
		return e.unit(convertMoment(item{typ: dateTime, t: e.now, zone: true}, typ))
	}
}

// part returns a function of a part of a date or a time.
func part(of func(time.Time) int) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		if len(a[0]) == 0 {
			return nil
		}
		return e.unit(integral(int64(of(a[0][0].t))))
	}
}

// spanPart returns a function of a part of a duration.
func spanPart(of func(item) int64) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		if len(a[0]) == 0 {
			return nil
		}
		return e.unit(integral(of(a[0][0])))
	}
}

// adjust moves a date or a time to a time zone, or takes its zone away.
func adjust(e *evaluation, _ focus, a []sequence) sequence {
	if len(a[0]) == 0 {
		return nil
	}
	v, zone := a[0][0], time.UTC
	if len(a) > 1 {
		if len(a[1]) == 0 {
			v.zone = false
			v.t = time.Date(v.t.Year(), v.t.Month(), v.t.Day(), v.t.Hour(), v.t.Minute(), v.t.Second(), v.t.Nanosecond(), time.UTC)
			return e.unit(v)
		}
		span := a[1][0].span
		if span%time.Minute != 0 || span < -14*time.Hour || span > 14*time.Hour || a[1][0].n != 0 {
			return e.fail("FODT0003", "a time zone is at most 14 hours, and whole minutes")
		}
		zone = newZone(int(span / time.Minute))
	}
	if v.zone {
		v.t = v.t.In(zone)
	} else {
		v.t = time.Date(v.t.Year(), v.t.Month(), v.t.Day(), v.t.Hour(), v.t.Minute(), v.t.Second(), v.t.Nanosecond(), zone)
	}
	v.zone = true
	if v.typ != dateTime {
		v = convertMoment(v, v.typ)
	}
	return e.unit(v)
}
