package xpath

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// atom is the type of an item: a node, or an atomic type.
type atom uint8

// The types of items.
const (
	nodeItem atom = iota
	untyped
	stringAtom
	anyURI
	boolean
	integer
	decimal
	float
	double
	dateAtom
	timeAtom
	dateTime
	duration
	yearMonth // xs:yearMonthDuration
	dayTime   // xs:dayTimeDuration
	qname
)

// atomNames are the names of the types, without xs:.
var atomNames = [...]string{
	"node", "untypedAtomic", "string", "anyURI", "boolean", "integer", "decimal", "float", "double",
	"date", "time", "dateTime", "duration", "yearMonthDuration", "dayTimeDuration", "QName",
}

// String returns the name of the type for messages.
func (a atom) String() string {
	if a == nodeItem {
		return "a node"
	}
	return "xs:" + atomNames[a]
}

// numeric reports whether the type is a number.
func (a atom) numeric() bool { return a >= integer && a <= double }

// textual reports whether values of the type compare as strings.
func (a atom) textual() bool { return a >= untyped && a <= anyURI }

// item is one item of a sequence. The type selects the fields.
type item struct {
	typ  atom
	zone bool     // of dates and times: whether there is a time zone
	n    int64    // a node, a boolean, an integer, or the months of a duration
	f    float64  // a double or a float
	s    string   // a string
	d    *big.Rat // a decimal
	t    time.Time
	span time.Duration // the seconds of a duration
}

// sequence is a value: any number of items.
type sequence = []item

func str(s string) item         { return item{typ: stringAtom, s: s} }
func integral(n int64) item     { return item{typ: integer, n: n} }
func dbl(f float64) item        { return item{typ: double, f: f} }
func dec(r *big.Rat) item       { return item{typ: decimal, d: r} }
func nodeAt(n int32) item       { return item{typ: nodeItem, n: int64(n)} }
func one(i item) sequence       { return sequence{i} }
func oneText(s string) sequence { return sequence{str(s)} }

// yes and no are the booleans as values.
var yes, no = one(truth(true)), one(truth(false))

// aTruth returns a boolean as a value.
func aTruth(b bool) sequence {
	if b {
		return yes
	}
	return no
}

func truth(b bool) item {
	i := item{typ: boolean}
	if b {
		i.n = 1
	}
	return i
}

// held returns the memory of what the item refers to.
func (i *item) held() int {
	if i.typ == decimal {
		return decimalBytes
	}
	return len(i.s)
}

// rat returns a number that is not a float or double as a fraction.
func (i item) rat() *big.Rat {
	if i.typ == decimal {
		return i.d
	}
	return new(big.Rat).SetInt64(i.n)
}

// float returns a number as a double.
func (i item) float() float64 {
	switch i.typ {
	case integer:
		return float64(i.n)
	case decimal:
		f, _ := i.d.Float64()
		return f
	}
	return i.f
}

// text returns an atomic value as a cast to xs:string does.
func (i item) text() string {
	switch i.typ {
	case boolean:
		return strconv.FormatBool(i.n != 0)
	case integer:
		return strconv.FormatInt(i.n, 10)
	case decimal:
		return formatDecimal(i.d)
	case double:
		return formatDouble(i.f, 64)
	case float:
		return formatDouble(i.f, 32)
	case dateAtom, timeAtom, dateTime:
		return formatMoment(i)
	case duration, yearMonth, dayTime:
		return formatDuration(i)
	}
	return i.s
}

// formatDecimal writes a decimal without an exponent and without zeros at the end.
func formatDecimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	places, _ := r.FloatPrec()
	return strings.TrimRight(strings.TrimRight(r.FloatString(max(places, 1)), "0"), ".")
}

// formatDouble writes a double or float as section 19.1.2.2 of Functions and Operators does.
func formatDouble(f float64, bits int) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	case abs == 0 || (abs >= 1e-6 && abs < 1e6):
		return strconv.FormatFloat(f, 'f', -1, bits)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, bits), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent) // of digits that FormatFloat wrote
	return mantissa + "E" + strconv.Itoa(n)
}

// Item is one item of a result.
type Item struct {
	// Node is the node, or -1 for an atomic value.
	Node int32
	// Text is the atomic value as a string. It is empty for a node.
	Text string
}

// LimitCode is the code of errors about limits of this package.
const LimitCode = "limit"

// Error is the error of an expression that is not valid, or could not be evaluated.
type Error struct {
	// Code is the local name of the error in the specification, such as XPTY0004. Limits of this
	// package have the code [LimitCode], and parts of the language that it leaves out "unsupported".
	Code string
	// Offset is where the expression is not valid, in bytes; -1 for an error of evaluation.
	Offset int
	// Reason is what is wrong.
	Reason string
}

// Error returns the reason with the code and the offset.
func (e *Error) Error() string {
	if e.Offset >= 0 {
		return fmt.Sprintf("%s, at offset %d (%s)", e.Reason, e.Offset, e.Code)
	}
	return fmt.Sprintf("%s (%s)", e.Reason, e.Code)
}
