package xpath

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// blanks are the white space of XML.
const blanks = " \t\r\n"

// decimalForm is the lexical form of decimals in XML Schema.
var decimalForm = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)

// doubleChars are the characters of a double beside the digits. What [strconv.ParseFloat] reads of them is what XML Schema allows.
const doubleChars = "+-.eE"

// cast converts an atomic value to a type, or fails.
func (e *evaluation) cast(v item, to atom) item {
	if !e.spend(len(v.s) / bytesPerStep) {
		return item{}
	}
	out, err := e.convert(v, to)
	if err == nil && out.typ == decimal && out.typ != v.typ {
		e.hold(decimalBytes)
	}
	if err != nil {
		e.fail(err.Code, "%s", err.Reason)
		return item{}
	}
	return out
}

// convert converts an atomic value to a type.
func (e *evaluation) convert(v item, to atom) (item, *Error) {
	switch {
	case v.typ == to:
		return v, nil
	case to == stringAtom || to == untyped:
		return item{typ: to, s: e.text(v)}, nil
	case v.typ.textual():
		return parseAtom(v.s, to)
	case to == boolean && v.typ.numeric():
		return truth(v.float() != 0 && v.float() == v.float()), nil
	case to.numeric() && (v.typ.numeric() || v.typ == boolean):
		return convertNumber(v, to)
	case to >= duration && to <= dayTime && v.typ >= duration && v.typ <= dayTime:
		out := item{typ: to, n: v.n, span: v.span}
		if to == yearMonth {
			out.span = 0
		}
		if to == dayTime {
			out.n = 0
		}
		return out, nil
	case v.typ == dateTime && (to == dateAtom || to == timeAtom), v.typ == dateAtom && to == dateTime:
		return convertMoment(v, to), nil
	}
	return item{}, &Error{Code: "XPTY0004", Offset: -1, Reason: "a value of type " + v.typ.String() + " cannot become one of type " +
		to.String()}
}

// convertNumber converts a number or a boolean to a type of numbers.
func convertNumber(v item, to atom) (item, *Error) {
	if v.typ == boolean {
		v.typ = integer
	}
	switch to {
	case double:
		return dbl(v.float()), nil
	case float:
		return item{typ: float, f: float64(float32(v.float()))}, nil
	}
	r := new(big.Rat)
	if v.typ >= float {
		if math.IsNaN(v.f) || math.IsInf(v.f, 0) {
			return item{}, &Error{Code: "FOCA0002", Offset: -1, Reason: formatDouble(v.f, 64) + " has no value of type " + to.String()}
		}
		r.SetFloat64(v.f)
	} else {
		r = v.rat()
	}
	if to == decimal {
		return dec(r), nil
	}
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return item{}, &Error{Code: "FOCA0003", Offset: -1, Reason: "the number is not an integer of 64 bits"}
	}
	return integral(n.Int64()), nil
}

// invalid is the error for a text that is not of a type.
func invalid(s string, to atom) *Error {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return &Error{Code: "FORG0001", Offset: -1, Reason: strconv.Quote(s) + " is not of type " + to.String()}
}

// parseAtom reads the lexical form of a type.
func parseAtom(s string, to atom) (item, *Error) {
	if to == anyURI {
		return item{typ: anyURI, s: collapse(s)}, nil
	}
	s = strings.Trim(s, blanks)
	switch to {
	case boolean:
		switch s {
		case "true", "1":
			return truth(true), nil
		case "false", "0":
			return truth(false), nil
		}
	case double, float:
		if f, ok := parseDouble(s, to); ok {
			return item{typ: to, f: f}, nil
		}
	case decimal:
		if decimalForm.MatchString(s) && len(s) < maxDecimalBits/4 {
			if r, ok := new(big.Rat).SetString(s); ok {
				return dec(r), nil
			}
		}
	case integer:
		switch n, err := strconv.ParseInt(s, 10, 64); {
		case err == nil:
			return integral(n), nil
		case errors.Is(err, strconv.ErrRange):
			return item{}, &Error{Code: "FOCA0003", Offset: -1, Reason: s[:min(len(s), 40)] + " is not an integer of 64 bits"}
		}
	case dateAtom, timeAtom, dateTime:
		if v, ok := parseMoment(s, to); ok {
			return v, nil
		}
	case duration, yearMonth, dayTime:
		if v, ok := parseDuration(s, to); ok {
			return v, nil
		}
	}
	return item{}, invalid(s, to)
}

// parseDouble reads a double or a float.
func parseDouble(s string, to atom) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "INF", "+INF":
		return math.Inf(1), true
	case "-INF":
		return math.Inf(-1), true
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && strings.IndexByte(doubleChars, c) < 0 {
			return 0, false
		}
	}
	bits := 64
	if to == float {
		bits = 32
	}
	f, err := strconv.ParseFloat(s, bits)
	return f, err == nil || errors.Is(err, strconv.ErrRange) // what is out of range is infinite or zero
}

// collapse removes white space around a text and reduces each run of it to one space.
func collapse(s string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(s, isBlank) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }

// sequenceType is a type with an occurrence indicator.
type sequenceType struct {
	empty    bool // empty-sequence()
	anyItem  bool
	anyAtom  bool // xs:anyAtomicType
	numbers  bool // xs:numeric
	node     *nodeTest
	typ      atom
	least    int
	many     bool
	restrict *restriction
}

// matches reports whether a value is of the type.
func (t *sequenceType) matches(e *evaluation, s sequence) bool {
	if t.empty {
		return len(s) == 0
	}
	if len(s) < t.least || (len(s) > 1 && !t.many) {
		return false
	}
	for _, i := range s {
		if !e.spend(1) || !t.accepts(e, i) {
			return false
		}
	}
	return true
}

// accepts reports whether an item is of the type.
func (t *sequenceType) accepts(e *evaluation, i item) bool {
	switch {
	case t.anyItem:
		return true
	case t.node != nil:
		if i.typ != nodeItem {
			return false
		}
		node := e.tree.Node(int32(i.n))
		on := childAxis
		if node.Kind == Attribute {
			on = attributeAxis
		}
		return t.node.accepts(e.tree, int32(i.n), node, on)
	case i.typ == nodeItem:
		return false
	case t.anyAtom:
		return true
	case t.numbers:
		return i.typ.numeric()
	}
	return i.typ == t.typ || (t.typ == decimal && i.typ == integer) || (t.typ == duration && (i.typ == yearMonth || i.typ == dayTime))
}

// typeTest is instance of, or treat as.
type typeTest struct {
	of    expr
	treat bool
	typ   *sequenceType
}

func (t *typeTest) eval(e *evaluation, f focus) sequence {
	v := e.value(t.of, f)
	matches := t.typ.matches(e, v)
	if !t.treat {
		return aTruth(matches)
	}
	if !matches {
		return e.fail("XPDY0050", "the value is not of the type that treat as names")
	}
	return v
}

// castTo is cast as, castable as, or the constructor function of a type.
type castTo struct {
	of       expr
	castable bool
	typ      *sequenceType // with an occurrence of one, or of at most one
}

func (c *castTo) eval(e *evaluation, f focus) sequence {
	v := e.atomize(e.value(c.of, f))
	if e.err != nil {
		return nil
	}
	if len(v) != 1 {
		ok := len(v) == 0 && c.typ.least == 0
		switch {
		case c.castable:
			return aTruth(ok)
		case !ok:
			return e.fail("XPTY0004", "a cast needs one item, not %d", len(v))
		}
		return nil
	}
	if !e.holdText(len(v[0].s)) {
		return nil
	}
	out, err := e.convert(v[0], c.typ.typ)
	if err == nil && c.typ.restrict != nil {
		out, err = c.typ.restrict.apply(out)
	}
	switch {
	case c.castable:
		return aTruth(err == nil)
	case err != nil:
		return e.fail(err.Code, "%s", err.Reason)
	}
	return e.unit(out)
}

// restriction is a derived type: a range of integers or a kind of string.
type restriction struct {
	name        string
	base        atom
	least, most int64
	collapse    bool           // white space
	form        *regexp.Regexp // of strings
}

// apply checks a value.
func (r *restriction) apply(v item) (item, *Error) {
	if r.base == integer {
		if v.n < r.least || v.n > r.most {
			return v, &Error{Code: "FORG0001", Offset: -1, Reason: strconv.FormatInt(v.n, 10) + " is not of type xs:" + r.name}
		}
		return v, nil
	}
	v.s = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(v.s)
	if r.collapse {
		v.s = collapse(v.s)
	}
	if r.form != nil && !r.form.MatchString(v.s) {
		return v, &Error{Code: "FORG0001", Offset: -1, Reason: strconv.Quote(v.s) + " is not of type xs:" + r.name}
	}
	return v, nil
}

// derived are the types that are casts with a check.
var derived = []*restriction{
	{name: "long", base: integer, least: math.MinInt64, most: math.MaxInt64},
	{name: "int", base: integer, least: math.MinInt32, most: math.MaxInt32},
	{name: "short", base: integer, least: math.MinInt16, most: math.MaxInt16},
	{name: "byte", base: integer, least: math.MinInt8, most: math.MaxInt8},
	{name: "nonNegativeInteger", base: integer, most: math.MaxInt64},
	{name: "positiveInteger", base: integer, least: 1, most: math.MaxInt64},
	{name: "nonPositiveInteger", base: integer, least: math.MinInt64},
	{name: "negativeInteger", base: integer, least: math.MinInt64, most: -1},
	{name: "unsignedLong", base: integer, most: math.MaxInt64},
	{name: "unsignedInt", base: integer, most: math.MaxUint32},
	{name: "unsignedShort", base: integer, most: math.MaxUint16},
	{name: "unsignedByte", base: integer, most: math.MaxUint8},
	{name: "normalizedString", base: stringAtom},
	{name: "token", base: stringAtom, collapse: true},
	{name: "language", base: stringAtom, collapse: true, form: regexp.MustCompile(`^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$`)},
	{name: "NCName", base: stringAtom, collapse: true, form: regexp.MustCompile(`^[\pL_][\pL\pM\p{Nd}._·-]*$`)},
	{name: "NMTOKEN", base: stringAtom, collapse: true, form: regexp.MustCompile(`^[\pL\pM\p{Nd}._:·-]+$`)},
}
