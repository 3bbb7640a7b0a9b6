package function

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Date patterns are those of Java, as in GREL and IDLab: letters stand for the
// parts of a date; text in single quotes and other characters stand for
// themselves.

// errDateText is the error for text that does not match its date pattern.
var errDateText = errors.New("it is not a date of the pattern")

// dateField is a part of a pattern: a repeated letter, or text.
type dateField struct {
	letter rune // 0 for a text field
	count  int
	text   string
}

// dateFields are the letters that a pattern may have, with the most digits of
// each; 0 for a name or an offset.
var dateFields = map[rune]int{
	'y': 9, 'u': 9, 'M': 2, 'L': 2, 'd': 2, 'D': 3, 'E': 0,
	'a': 0, 'H': 2, 'k': 2, 'K': 2, 'h': 2, 'm': 2, 's': 2, 'S': 9, 'n': 9,
	'X': 0, 'x': 0, 'Z': 0, 'z': 0,
}

// datePattern splits a pattern into its fields.
func datePattern(pattern string) ([]dateField, error) {
	const most = 200
	if len(pattern) > most {
		return nil, limitErrorf("the date pattern has %d bytes, the limit is %d", len(pattern), most)
	}
	var fields []dateField
	for rest := pattern; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '\'':
			quoted, after, err := quotedText(rest)
			if err != nil {
				return nil, fmt.Errorf("the date pattern %q: %w", pattern, err)
			}
			fields = append(fields, dateField{text: quoted})
			rest = after
		case r < utf8.RuneSelf && unicode.IsLetter(r):
			if _, known := dateFields[r]; !known {
				return nil, fmt.Errorf("the date pattern %q has the letter %c: expected one of yuMLdDEaHkKhmsSnXxZz, or "+
					"text in single quotes", pattern, r)
			}
			count := len(rest) - len(strings.TrimLeft(rest, string(r)))
			fields = append(fields, dateField{letter: r, count: count})
			rest = rest[count:]
		default:
			fields = append(fields, dateField{text: rest[:size]})
			rest = rest[size:]
		}
	}
	return fields, nil
}

// quotedText reads text in single quotes; two quotes stand for one.
func quotedText(s string) (quoted, rest string, err error) {
	if after, found := strings.CutPrefix(s, "''"); found {
		return "'", after, nil
	}
	var b strings.Builder
	for rest = s[1:]; ; {
		before, after, found := strings.Cut(rest, "'")
		if !found {
			return "", "", errors.New("a single quote is not closed")
		}
		b.WriteString(before)
		if !strings.HasPrefix(after, "'") {
			return b.String(), after, nil
		}
		b.WriteByte('\'')
		rest = after[1:]
	}
}

// hasLetter reports whether a pattern has one of some letters.
func hasLetter(fields []dateField, letters string) bool {
	return slices.ContainsFunc(fields,
		func(f dateField) bool { return f.letter != 0 && strings.ContainsRune(letters, f.letter) })
}

// dateParts are the values of the fields of a date.
type dateParts struct {
	year, month, day, yearDay  int
	hour, minute, second, nano int
	afternoon, halfDay         bool
	weekday                    int // -1 when the text does not have it
	zone                       *time.Location
}

// parseByPattern reads a date by a pattern, with the names of a language. Parts
// that the pattern does not have are those of 1970-01-01T00:00:00Z.
func parseByPattern(s, pattern, language string) (dateTime, error) {
	fields, err := datePattern(pattern)
	if err != nil {
		return dateTime{}, err
	}
	names, err := findDateNames(language)
	if err != nil {
		return dateTime{}, err
	}
	parts := dateParts{year: 1970, month: 1, day: 1, weekday: -1}
	rest := strings.TrimSpace(s)
	for i, f := range fields {
		fixed := i+1 < len(fields) && dateFields[fields[i+1].letter] > 0 && fields[i+1].letter != 0
		if rest, err = parts.take(rest, f, fixed, names); err != nil {
			return dateTime{}, fmt.Errorf("%q, pattern %q: %w", brief(s), pattern, err)
		}
	}
	t, ok := parts.time()
	if rest != "" || !ok {
		return dateTime{}, fmt.Errorf("%q, pattern %q: %w", brief(s), pattern, errDateText)
	}
	return dateTime{Time: t, timed: hasLetter(fields, "HkKhmsSn"), offset: parts.zone != nil}, nil
}

// take reads one field from the beginning of a text. A number that is directly
// followed by another number has as many digits as its field has letters.
func (p *dateParts) take(s string, f dateField, fixed bool, names *dateNames) (rest string, err error) {
	named := f.count >= 3 && (f.letter == 'M' || f.letter == 'L')
	switch {
	case f.letter == 0:
		rest, found := strings.CutPrefix(s, f.text)
		if !found {
			return s, errDateText
		}
		return rest, nil
	case named:
		p.month, rest = nameIndex(s, names.months)
		p.month++
		if p.month == 0 {
			return s, errDateText
		}
		return rest, nil
	case f.letter == 'E':
		if p.weekday, rest = nameIndex(s, names.weekdays); p.weekday < 0 {
			return s, errDateText
		}
		return rest, nil
	case f.letter == 'a':
		var half int
		if half, rest = nameIndex(s, halfDays[:]); half < 0 {
			return s, errDateText
		}
		p.afternoon = half%2 == 1
		return rest, nil
	case dateFields[f.letter] == 0:
		p.zone, rest, err = parseOffset(s)
		return rest, err
	}
	most := dateFields[f.letter]
	if fixed || (f.count == 2 && (f.letter == 'y' || f.letter == 'u')) {
		most = min(f.count, most)
	}
	n, digits := 0, 0
	for digits < most && digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	isYear := f.letter == 'y' || f.letter == 'u'
	if digits == 0 || (isYear && digits < f.count) || (fixed && digits < min(f.count, most)) {
		return s, errDateText
	}
	p.set(f, n, digits)
	return s[digits:], nil
}

// set stores the number of a field.
func (p *dateParts) set(f dateField, n, digits int) {
	switch f.letter {
	case 'y', 'u':
		if p.year = n; f.count == 2 {
			p.year += 2000
		}
	case 'M', 'L':
		p.month = n
	case 'd':
		p.day = n
	case 'D':
		p.yearDay = n
	case 'H':
		p.hour = n
	case 'k': // 1 to 24
		p.hour = n % 24
		if n == 0 || n > 24 {
			p.hour = -1
		}
	case 'K':
		p.hour = n
		p.halfDay = true
	case 'h': // 1 to 12
		p.hour = n % 12
		p.halfDay = true
		if n == 0 || n > 12 {
			p.hour = -1
		}
	case 'm':
		p.minute = n
	case 's':
		p.second = n
	case 'n':
		p.nano = n
	case 'S':
		for ; digits < 9; digits++ {
			n *= 10
		}
		p.nano = n
	}
}

// time combines the parts and reports whether they are a valid time.
func (p *dateParts) time() (time.Time, bool) {
	zone := p.zone
	if zone == nil {
		zone = time.UTC
	}
	hour := p.hour
	if p.halfDay && hour >= 0 {
		if hour > 11 {
			return time.Time{}, false
		}
		if p.afternoon {
			hour += 12
		}
	}
	month, day := p.month, p.day
	if p.yearDay > 0 {
		month, day = 1, p.yearDay
	}
	t := time.Date(p.year, time.Month(month), day, hour, p.minute, p.second, p.nano, zone)
	same := t.Year() == p.year && t.Hour() == hour && t.Minute() == p.minute && t.Second() == p.second &&
		(p.yearDay > 0 || (int(t.Month()) == month && t.Day() == day)) &&
		(p.weekday < 0 || int(t.Weekday()) == p.weekday)
	return t, same && p.year >= 1 && p.year <= 9999
}

// parseOffset reads Z, UTC, GMT, or an offset such as +02, +0200 and +02:00.
func parseOffset(s string) (*time.Location, string, error) {
	for _, name := range []string{"UTC", "GMT"} {
		if rest, found := strings.CutPrefix(s, name); found {
			if rest == "" || (rest[0] != '+' && rest[0] != '-') {
				return time.UTC, rest, nil
			}
			s = rest
		}
	}
	if rest, found := strings.CutPrefix(s, "Z"); found {
		return time.UTC, rest, nil
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if len(s) < len(layout) {
			continue
		}
		if t, err := time.Parse(layout, s[:len(layout)]); err == nil {
			_, seconds := t.Zone()
			return time.FixedZone("", seconds), s[len(layout):], nil
		}
	}
	return nil, s, errDateText
}
