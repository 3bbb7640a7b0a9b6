package xsd

// moment is the year and the month, which the check of a day needs.
type moment struct{ year, month int }

// matches returns the check for a sequence of parts. A part is a character, or a
// function that reads a prefix of the text, and returns the rest and whether the
// prefix is valid. It adds what it read to the moment, for the parts after it.
// The moment is passed by value: with a pointer it would be allocated for every
// text.
func matches(parts ...any) LexicalSpace {
	return func(text []byte) bool {
		when := moment{year: 4} // a leap year, for days without a year
		for _, part := range parts {
			ok := false
			switch p := part.(type) {
			case rune:
				if ok = len(text) > 0 && rune(text[0]) == p; ok {
					text = text[1:]
				}
			case func([]byte, moment) ([]byte, moment, bool):
				text, when, ok = p(text, when)
			}
			if !ok {
				return false
			}
		}
		return len(text) == 0
	}
}

// twoDigits reads a number of two digits within bounds.
func twoDigits(text []byte, least, most int) (rest []byte, n int, ok bool) {
	if len(text) < 2 || !isDigit(text[0]) || !isDigit(text[1]) {
		return nil, 0, false
	}
	n = int(text[0]-'0')*10 + int(text[1]-'0')
	return text[2:], n, n >= least && n <= most
}

// year reads a year of four digits, or of more that do not begin with 0.
func year(text []byte, when moment) ([]byte, moment, bool) {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	n := countLeading(text, isDigit)
	if n < 4 || (n > 4 && text[0] == '0') {
		return nil, when, false
	}
	// The last four digits decide whether it is a leap year.
	when.year = 0
	for _, c := range text[n-4 : n] {
		when.year = when.year*10 + int(c-'0')
	}
	return text[n:], when, true
}

func month(text []byte, when moment) ([]byte, moment, bool) {
	rest, n, ok := twoDigits(text, 1, 12)
	when.month = n
	return rest, when, ok
}

func day(text []byte, when moment) ([]byte, moment, bool) {
	most := 31
	switch when.month {
	case 4, 6, 9, 11:
		most = 30
	case 2:
		most = 28
		if when.year%4 == 0 && (when.year%100 != 0 || when.year%400 == 0) {
			most = 29
		}
	}
	rest, _, ok := twoDigits(text, 1, most)
	return rest, when, ok
}

// clock reads a time of day; 24:00:00 is the end of the day.
func clock(text []byte, when moment) ([]byte, moment, bool) {
	rest, hour, ok := twoDigits(text, 0, 24)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return nil, when, false
	}
	rest, minute, ok := twoDigits(rest[1:], 0, 59)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return nil, when, false
	}
	rest, second, ok := twoDigits(rest[1:], 0, 59)
	if !ok {
		return nil, when, false
	}
	zero := true
	if len(rest) > 0 && rest[0] == '.' {
		fraction := rest[1:]
		n := countLeading(fraction, isDigit)
		if n == 0 {
			return nil, when, false
		}
		zero = countLeading(fraction[:n], func(c byte) bool { return c == '0' }) == n
		rest = fraction[n:]
	}
	return rest, when, hour < 24 || (minute == 0 && second == 0 && zero)
}

// zone reads a time zone, if there is one.
func zone(text []byte, when moment) ([]byte, moment, bool) {
	if len(text) == 0 {
		return text, when, true
	}
	return zoneRequired(text, when)
}

func zoneRequired(text []byte, when moment) ([]byte, moment, bool) {
	if len(text) == 0 {
		return nil, when, false
	}
	if text[0] == 'Z' {
		return text[1:], when, true
	}
	if text[0] != '+' && text[0] != '-' {
		return nil, when, false
	}
	rest, hour, ok := twoDigits(text[1:], 0, 14)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return nil, when, false
	}
	rest, minute, ok := twoDigits(rest[1:], 0, 59)
	return rest, when, ok && (hour < 14 || minute == 0)
}
