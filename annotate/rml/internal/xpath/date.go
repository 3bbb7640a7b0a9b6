package xpath

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxYear is the last year of dates, and the first before our era.
const maxYear = 99999

// The lexical forms of dates, times and durations in XML Schema.
var (
	momentForm = map[atom]*regexp.Regexp{
		dateAtom: regexp.MustCompile(`^(-?[0-9]{4,6})-([0-9]{2})-([0-9]{2})()()()()(Z|[+-][0-9]{2}:[0-9]{2})?$`),
		timeAtom: regexp.MustCompile(`^()()()([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,40})?(Z|[+-][0-9]{2}:[0-9]{2})?$`),
		dateTime: regexp.MustCompile(`^(-?[0-9]{4,6})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,40})?` +
			`(Z|[+-][0-9]{2}:[0-9]{2})?$`),
	}
	durationForm = regexp.MustCompile(`^(-)?P(?:([0-9]{1,9})Y)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})D)?` +
		`(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(\.[0-9]{1,40})?S)?)?$`)
)

// parseMoment reads a date, a time, or both.
func parseMoment(s string, to atom) (item, bool) {
	m := momentForm[to].FindStringSubmatch(s)
	if m == nil || (strings.HasPrefix(strings.TrimPrefix(m[1], "-"), "0") && len(strings.TrimPrefix(m[1], "-")) > 4) {
		return item{}, false
	}
	number := func(text string, otherwise int) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return otherwise
		}
		return n
	}
	year := number(m[1], 1972)
	month := number(m[2], 12)
	day := number(m[3], 31)
	hour := number(m[4], 0)
	minute := number(m[5], 0)
	second := number(m[6], 0)
	zone, zoned, ok := parseZone(m[8])
	last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	switch {
	case !ok, year < -maxYear || year > maxYear, month < 1 || month > 12, day < 1 || day > last:
		return item{}, false
	case hour > 24, minute > 59, second > 59, hour == 24 && (minute > 0 || second > 0 || strings.Trim(m[7], ".0") != ""):
		return item{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, fraction(m[7]), zone)
	if to == timeAtom {
		t = onReferenceDay(t)
	}
	return item{typ: to, t: t, zone: zoned}, true
}

// fraction returns the nanoseconds of the digits after a full stop.
func fraction(text string) int {
	if text == "" {
		return 0
	}
	n, _ := strconv.Atoi((text[1:] + "000000000")[:9]) // of digits only
	return n
}

// parseZone reads a time zone; none means UTC.
func parseZone(s string) (zone *time.Location, given, ok bool) {
	if s == "" || s == "Z" {
		return time.UTC, s != "", true
	}
	hours, _ := strconv.Atoi(s[1:3])
	minutes, _ := strconv.Atoi(s[4:6])
	minutes += 60 * hours
	if s[0] == '-' {
		minutes = -minutes
	}
	return newZone(minutes), true, minutes >= -14*60 && minutes <= 14*60
}

// newZone returns the time zone of an offset in minutes.
func newZone(minutes int) *time.Location {
	if minutes == 0 {
		return time.UTC
	}
	return time.FixedZone("", 60*minutes)
}

// onReferenceDay moves a time of day to the day on which times are compared.
func onReferenceDay(t time.Time) time.Time {
	return time.Date(1972, 12, 31, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

// formatMoment writes a date, a time, or both.
func formatMoment(i item) string {
	var b strings.Builder
	if i.typ != timeAtom {
		year := i.t.Year()
		if year < 0 {
			b.WriteByte('-')
			year = -year
		}
		fmt.Fprintf(&b, "%04d-%02d-%02d", year, i.t.Month(), i.t.Day())
	}
	if i.typ == dateTime {
		b.WriteByte('T')
	}
	if i.typ != dateAtom {
		fmt.Fprintf(&b, "%02d:%02d:%02d", i.t.Hour(), i.t.Minute(), i.t.Second())
		b.WriteString(formatFraction(i.t.Nanosecond()))
	}
	if i.zone {
		b.WriteString(formatZone(i.t))
	}
	return b.String()
}

// formatFraction writes nanoseconds after a full stop, without zeros at the end.
func formatFraction(nanoseconds int) string {
	if nanoseconds == 0 {
		return ""
	}
	return "." + strings.TrimRight(fmt.Sprintf("%09d", nanoseconds), "0")
}

// formatZone writes a time zone.
func formatZone(t time.Time) string {
	_, seconds := t.Zone()
	if seconds == 0 {
		return "Z"
	}
	mark := '+'
	if seconds < 0 {
		mark, seconds = '-', -seconds
	}
	return fmt.Sprintf("%c%02d:%02d", mark, seconds/3600, seconds/60%60)
}

// convertMoment converts a date with a time to a date or a time, and a date to both.
func convertMoment(i item, to atom) item {
	switch {
	case to == timeAtom:
		i.t = onReferenceDay(i.t)
	case to == dateAtom:
		i.t = time.Date(i.t.Year(), i.t.Month(), i.t.Day(), 0, 0, 0, 0, i.t.Location())
	}
	i.typ = to
	return i
}

// parseDuration reads a duration.
func parseDuration(s string, to atom) (item, bool) {
	m := durationForm.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return item{}, false
	}
	if (to == yearMonth && strings.ContainsAny(s, "DTHS")) || (to == dayTime && (m[2] != "" || m[3] != "")) {
		return item{}, false
	}
	var n [6]int64
	for i, text := range m[2:8] {
		n[i], _ = strconv.ParseInt(text, 10, 64) // of at most nine digits, or none
	}
	seconds := n[2]*86400 + n[3]*3600 + n[4]*60 + n[5]
	if seconds > 9_000_000_000 {
		return item{}, false
	}
	d := item{typ: to, n: 12*n[0] + n[1], span: time.Duration(seconds)*time.Second + time.Duration(fraction(m[8]))}
	if m[1] != "" {
		d.n = -d.n
		d.span = -d.span
	}
	return d, true
}

// formatDuration writes a duration.
func formatDuration(i item) string {
	months, span := i.n, i.span
	var b strings.Builder
	if months < 0 || span < 0 {
		b.WriteByte('-')
		months, span = -months, -span
	}
	b.WriteByte('P')
	part := func(n int64, mark byte) {
		if n != 0 {
			b.WriteString(strconv.FormatInt(n, 10))
			b.WriteByte(mark)
		}
	}
	part(months/12, 'Y')
	part(months%12, 'M')
	part(int64(span/(24*time.Hour)), 'D')
	if span %= 24 * time.Hour; span != 0 {
		b.WriteByte('T')
		part(int64(span/time.Hour), 'H')
		part(int64(span/time.Minute%60), 'M')
		if span %= time.Minute; span != 0 {
			b.WriteString(strconv.FormatInt(int64(span/time.Second), 10))
			b.WriteString(formatFraction(int(span % time.Second)))
			b.WriteByte('S')
		}
	}
	switch text := b.String(); {
	case !strings.HasSuffix(text, "P"):
		return text
	case i.typ == yearMonth:
		return "P0M"
	}
	return "PT0S"
}
