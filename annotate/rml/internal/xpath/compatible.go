package xpath

import (
	"math"
	"strconv"
)

// compatibleOperand returns an operand of arithmetic in the mode that is compatible with XPath 1.0: a
// double, but for dates and durations.
func (e *evaluation) compatibleOperand(v item, given bool) item {
	switch {
	case !given:
		return dbl(math.NaN())
	case v.typ <= double:
		return e.number(v)
	}
	return v
}

// compatibleOperands converts the operands of a general comparison (section 3.7.2 of XPath 3.1). A boolean
// has an order with nodes only as a boolean, and with other values as a number (section 3.4 of XPath 1.0).
func (e *evaluation) compatibleOperands(left, right sequence, ordered bool) (sequence, sequence) {
	if (aBoolean(left) && (!ordered || noAtom(right))) || (aBoolean(right) && (!ordered || noAtom(left))) {
		left, right = aTruth(e.truth(left)), aTruth(e.truth(right))
	}
	if !ordered {
		return left, right
	}
	return e.allNumbers(left), e.allNumbers(right)
}

// aBoolean reports whether a value is one boolean.
func aBoolean(s sequence) bool { return len(s) == 1 && s[0].typ == boolean }

// noAtom reports whether a value is nodes, or nothing.
func noAtom(s sequence) bool { return len(s) == 0 || s[0].typ == nodeItem }

// allNumbers returns the items of a sequence as doubles.
func (e *evaluation) allNumbers(s sequence) sequence {
	s = e.atomize(s)
	if !e.holdItems(len(s)) {
		return nil
	}
	out := e.items(len(s))
	for i := range s {
		out[i] = e.number(s[i])
	}
	return out
}

// compatibleArgument converts an argument for a parameter of one item (section 3.1.5.2 of XPath 3.1).
func (e *evaluation) compatibleArgument(kind byte, v sequence) sequence {
	if len(v) > 1 {
		v = v[:1]
	}
	switch kind {
	case 's':
		if len(v) == 0 || v[0].typ != stringAtom {
			return e.oneText(e.toText(v))
		}
	case 'd', 'n':
		v = e.atomize(v)
		if len(v) == 0 {
			return e.unit(dbl(math.NaN()))
		}
		if kind == 'd' || !v[0].typ.numeric() {
			return e.unit(e.number(v[0]))
		}
	case 'i':
		if v = e.atomize(v); len(v) == 1 {
			return e.unit(wholeNumber(v[0]))
		}
	}
	return v
}

// wholeNumber returns a double that is an integer, which arithmetic of doubles gives, as an integer.
func wholeNumber(v item) item {
	if v.typ == double && v.f == math.Trunc(v.f) && math.Abs(v.f) < 1<<53 {
		return integral(int64(v.f))
	}
	return v
}

// text returns an atomic value as a cast to xs:string does, or as string() of XPath 1.0.
func (e *evaluation) text(v item) string {
	if !e.compatible || (v.typ != double && v.typ != float) {
		return v.text()
	}
	switch {
	case math.IsInf(v.f, 1):
		return "Infinity"
	case math.IsInf(v.f, -1):
		return "-Infinity"
	case v.f == 0:
		return "0" // also negative zero
	}
	bits := 64
	if v.typ == float {
		bits = 32
	}
	return strconv.FormatFloat(v.f, 'f', -1, bits)
}

// noID returns the function id of XPath 1.0, which selects nothing where no document type declares an ID.
func noID() function {
	return nodeFunction("a* | N", func(*evaluation, focus, []sequence) sequence { return nil }).reaching(everywhere)
}
