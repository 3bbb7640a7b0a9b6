package xsd

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Compare compares two values by their lexical forms and datatypes, as the
// operators of SPARQL 1.1 (section 17.3) do, and those of XPath for dates and
// times beyond it. An empty datatype is xsd:string. It reports false for values
// that have no order: of different kinds, of a kind without order, text that its
// datatype does not have, NaN, and moments of which only one has a time zone and
// that are at most 14 hours apart.
func Compare(a, datatypeA, b, datatypeB string) (order int, ok bool) {
	kind := orderedKind(datatypeA)
	if kind == unordered || kind.family() != orderedKind(datatypeB).family() {
		return 0, false
	}
	if kind != text && (!inSpace(a, datatypeA) || !inSpace(b, datatypeB)) {
		return 0, false
	}
	switch kind {
	case text:
		return strings.Compare(a, b), true
	case boolean:
		return cmp.Compare(truth(a), truth(b)), true
	case exact, inexact:
		if kind == exact && orderedKind(datatypeB) == exact {
			return compareDecimals(a, b), true
		}
		x, y := float(a), float(b)
		return cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y)
	}
	return compareMoments(a, b, kind)
}

// orderKind is what decides how values are compared.
type orderKind uint8

const (
	unordered orderKind = iota
	text
	boolean
	exact // decimal and what derives from it
	inexact
	dateTime
	date
	timeOfDay
	gYear
	gYearMonth
)

// family is the same for kinds whose values can be compared.
func (k orderKind) family() orderKind {
	if k == inexact {
		return exact
	}
	return k
}

func orderedKind(datatype string) orderKind {
	if datatype == "" {
		return text
	}
	name, ok := strings.CutPrefix(datatype, Namespace)
	if !ok {
		return unordered
	}
	switch name {
	case "string":
		return text
	case "boolean":
		return boolean
	case "double", "float":
		return inexact
	case "dateTime", "dateTimeStamp":
		return dateTime
	case "date":
		return date
	case "time":
		return timeOfDay
	case "gYear":
		return gYear
	case "gYearMonth":
		return gYearMonth
	case "decimal", "integer", "long", "int", "short", "byte", "unsignedLong", "unsignedInt", "unsignedShort",
		"unsignedByte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger":
		return exact
	}
	return unordered
}

func inSpace(value, datatype string) bool {
	space := FindLexicalSpace(datatype)
	return space == nil || space([]byte(value))
}

func truth(value string) int {
	if value == "true" || value == "1" {
		return 1
	}
	return 0
}

// float returns the number of a valid lexical form. Numbers beyond a double are
// infinite.
func float(value string) float64 {
	f, _ := strconv.ParseFloat(value, 64)
	return f
}

// compareDecimals compares decimals of any length by their digits.
func compareDecimals(a, b string) int {
	negativeA, wholeA, fractionA := decimalParts(a)
	negativeB, wholeB, fractionB := decimalParts(b)
	if negativeA != negativeB {
		return cmp.Compare(truthValue(negativeB), truthValue(negativeA))
	}
	order := cmp.Compare(len(wholeA), len(wholeB))
	if order == 0 {
		order = strings.Compare(wholeA, wholeB)
	}
	if order == 0 {
		order = strings.Compare(fractionA, fractionB)
	}
	if negativeA {
		return -order
	}
	return order
}

func truthValue(b bool) int {
	if b {
		return 1
	}
	return 0
}

// decimalParts splits a valid decimal. Zero is not negative.
func decimalParts(value string) (negative bool, whole, fraction string) {
	negative = strings.HasPrefix(value, "-")
	value = strings.TrimLeft(value, "+-")
	whole, fraction, _ = strings.Cut(value, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	return negative && whole+fraction != "", whole, fraction
}

// instant is a moment in seconds and the digits of its fraction.
type instant struct {
	seconds  int64
	fraction string
	zoned    bool
}

// mostOffset is the largest offset of a time zone in seconds.
const mostOffset = 14 * 3600

// compareMoments compares moments as XML Schema 1.1 Part 2, section D.2.1, does.
func compareMoments(a, b string, kind orderKind) (int, bool) {
	x, okX := readInstant(a, kind)
	y, okY := readInstant(b, kind)
	if !okX || !okY {
		return 0, false
	}
	if x.zoned != y.zoned {
		distance := x.seconds - y.seconds
		if distance > mostOffset || distance < -mostOffset {
			return cmp.Compare(distance, 0), true
		}
		return 0, false
	}
	if x.seconds != y.seconds {
		return cmp.Compare(x.seconds, y.seconds), true
	}
	return strings.Compare(x.fraction, y.fraction), true
}

// readInstant reads a valid lexical form. Years of more than nine digits are
// refused.
func readInstant(value string, kind orderKind) (instant, bool) {
	var at instant
	value, at.seconds, at.zoned = cutZone(value, kind)
	year := int64(1972)
	month := int64(1)
	day := int64(1)
	clock := ""
	if kind == timeOfDay {
		clock = value
	} else {
		var days string
		days, clock, _ = strings.Cut(value, "T")
		negative := strings.HasPrefix(days, "-")
		parts := strings.Split(strings.TrimPrefix(days, "-"), "-")
		if len(parts[0]) > 9 {
			return at, false
		}
		for i, into := range []*int64{&year, &month, &day} {
			if i < len(parts) {
				*into, _ = strconv.ParseInt(parts[i], 10, 64)
			}
		}
		if negative {
			year = -year
		}
	}
	at.seconds += daysSince(year, month, day) * 86400
	if clock != "" {
		clock, at.fraction, _ = strings.Cut(clock, ".")
		at.fraction = strings.TrimRight(at.fraction, "0")
		for i, unit := range []int64{3600, 60, 1} {
			n, _ := strconv.ParseInt(clock[3*i:3*i+2], 10, 64)
			at.seconds += n * unit
		}
	}
	return at, true
}

// cutZone removes the time zone and returns what must be added for it.
func cutZone(value string, kind orderKind) (rest string, seconds int64, zoned bool) {
	if strings.HasSuffix(value, "Z") {
		return value[:len(value)-1], 0, true
	}
	at := len(value) - len("+00:00")
	if at <= 0 || value[at+3] != ':' || (value[at] != '+' && value[at] != '-') ||
		(kind == timeOfDay && at < len("00:00:00")) {
		return value, 0, false
	}
	hours, _ := strconv.ParseInt(value[at+1:at+3], 10, 64)
	minutes, _ := strconv.ParseInt(value[at+4:], 10, 64)
	seconds = hours*3600 + minutes*60
	if value[at] == '+' {
		seconds = -seconds
	}
	return value[:at], seconds, true
}

// daysSince counts the days from 1 March of the year 0 of the proleptic
// Gregorian calendar.
func daysSince(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	era := year / 400
	if year < 0 && year%400 != 0 {
		era--
	}
	within := year - era*400
	return era*146097 + within*365 + within/4 - within/100 + (153*(month-3)+2)/5 + day - 1
}
