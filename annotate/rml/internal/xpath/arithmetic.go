package xpath

import (
	"math"
	"math/big"
	"time"
)

// maxDecimalBits bounds the numerator and the denominator of decimals.
const maxDecimalBits = 2048

// decimalBytes is the memory of a decimal, at most.
const decimalBytes = 2 * maxDecimalBits / 8

// divisionPlaces is the number of decimal places of the quotient of two decimals.
const divisionPlaces = 18

// arithmetic is an operator between two numbers, dates or durations.
type arithmetic struct {
	operator    string
	left, right expr
}

func (a *arithmetic) eval(e *evaluation, f focus) sequence {
	left, ok := e.operand(e.value(a.left, f), a.operator)
	right, ok2 := e.operand(e.value(a.right, f), a.operator)
	if !ok || !ok2 || e.err != nil {
		return nil
	}
	return e.calculate(a.operator, left, right)
}

// operand returns an operand of arithmetic: what is untyped becomes a double.
func (e *evaluation) operand(s sequence, operator string) (item, bool) {
	if e.compatible && len(s) > 0 && s[0].typ == nodeItem {
		return dbl(e.textNumber(e.nodeText(s[0].n))), true
	}
	v, ok := e.optional(s, operator)
	if e.compatible {
		return e.compatibleOperand(v, ok), true
	}
	if ok && v.typ == untyped {
		v = e.cast(v, double)
	}
	return v, ok
}

// calculate applies an operator to two atomic values.
func (e *evaluation) calculate(operator string, x, y item) sequence {
	if !x.typ.numeric() || !y.typ.numeric() {
		return e.calculateTime(operator, x, y)
	}
	switch {
	case x.typ == double || y.typ == double:
		return e.calculateFloat(operator, x.float(), y.float(), double)
	case x.typ == float || y.typ == float:
		return e.calculateFloat(operator, x.float(), y.float(), float)
	case x.typ == integer && y.typ == integer && operator != "div":
		return e.calculateInteger(operator, x.n, y.n)
	}
	return e.calculateDecimal(operator, x.rat(), y.rat())
}

func (e *evaluation) calculateFloat(operator string, x, y float64, typ atom) sequence {
	var f float64
	switch operator {
	case "+":
		f = x + y
	case "-":
		f = x - y
	case "*":
		f = x * y
	case "div":
		f = x / y
	case "mod":
		f = math.Mod(x, y)
	case "idiv":
		switch q := math.Trunc(x / y); {
		case y == 0:
			return e.fail("FOAR0001", "the divisor of idiv is zero")
		case math.IsNaN(q) || math.IsInf(q, 0), math.Abs(q) >= 1<<63:
			return e.fail("FOAR0002", "the result of idiv is not an integer of 64 bits")
		default:
			return e.unit(integral(int64(q)))
		}
	}
	if typ == float {
		f = float64(float32(f))
	}
	return e.unit(item{typ: typ, f: f})
}

func (e *evaluation) calculateInteger(operator string, x, y int64) sequence {
	var n int64
	exact := true
	switch operator {
	case "+":
		n = x + y
		exact = (n > x) == (y > 0)
	case "-":
		n = x - y
		exact = (n < x) == (y > 0)
	case "*":
		n = x * y
		exact = x == 0 || (n/x == y && (x != -1 || y != math.MinInt64))
	default:
		if y == 0 {
			return e.fail("FOAR0001", "the divisor of %s is zero", operator)
		}
		if operator == "mod" {
			return e.unit(integral(x % y))
		}
		n = x / y
		exact = x != math.MinInt64 || y != -1
	}
	if !exact {
		return e.fail("FOAR0002", "the result of %s is not an integer of 64 bits", operator)
	}
	return e.unit(integral(n))
}

func (e *evaluation) calculateDecimal(operator string, x, y *big.Rat) sequence {
	r := new(big.Rat)
	switch operator {
	case "+":
		r.Add(x, y)
	case "-":
		r.Sub(x, y)
	case "*":
		r.Mul(x, y)
	default:
		if y.Sign() == 0 {
			return e.fail("FOAR0001", "the divisor of %s is zero", operator)
		}
		r.Quo(x, y)
		if operator == "div" {
			r.SetString(r.FloatString(divisionPlaces))
			break
		}
		whole := new(big.Int).Quo(r.Num(), r.Denom())
		if operator == "idiv" {
			if !whole.IsInt64() {
				return e.fail("FOAR0002", "the result of idiv is not an integer of 64 bits")
			}
			return e.unit(integral(whole.Int64()))
		}
		r.Sub(x, r.Mul(y, new(big.Rat).SetInt(whole)))
	}
	if !e.spend(1+r.Num().BitLen()/64) || !e.hold(decimalBytes) || r.Num().BitLen() > maxDecimalBits || r.Denom().BitLen() > maxDecimalBits {
		return e.fail("FOAR0002", "the result of %s has too many digits", operator)
	}
	return e.unit(dec(r))
}

// sign is a plus or minus before an expression.
type sign struct {
	minus bool
	of    expr
}

func (s *sign) eval(e *evaluation, f focus) sequence {
	v, ok := e.operand(e.value(s.of, f), "a sign")
	switch {
	case !ok || e.err != nil:
		return nil
	case !v.typ.numeric():
		return e.fail("XPTY0004", "a sign precedes a value of type %v", v.typ)
	case !s.minus:
		return e.unit(v)
	}
	return e.negate(v)
}

// negate changes the sign of a number.
func (e *evaluation) negate(v item) sequence {
	switch v.typ {
	case integer:
		if v.n == math.MinInt64 {
			return e.fail("FOAR0002", "the result is not an integer of 64 bits")
		}
		v.n = -v.n
	case decimal:
		v.d = new(big.Rat).Neg(v.d)
	default:
		v.f = -v.f
	}
	return e.unit(v)
}

// calculateTime applies an operator to dates, times and durations.
func (e *evaluation) calculateTime(operator string, x, y item) sequence {
	moments := x.typ >= dateAtom && x.typ <= dateTime
	durations := (x.typ == yearMonth || x.typ == dayTime)
	other := y.typ == yearMonth || y.typ == dayTime
	switch {
	case moments && x.typ == y.typ && operator == "-":
		return e.unit(item{typ: dayTime, span: x.t.Sub(y.t)})
	case moments && other && (operator == "+" || operator == "-"):
		return e.shift(x, y, operator == "-")
	case durations && y.typ >= dateAtom && y.typ <= dateTime && operator == "+":
		return e.shift(y, x, false)
	case durations && x.typ == y.typ && (operator == "+" || operator == "-"):
		sum := item{typ: x.typ, n: x.n + y.n, span: x.span + y.span}
		if operator == "-" {
			sum.n = x.n - y.n
			sum.span = x.span - y.span
		}
		return e.unit(sum)
	case durations && x.typ == y.typ && operator == "div":
		if y.n == 0 && y.span == 0 {
			return e.fail("FOAR0001", "the divisor of div is a duration of zero")
		}
		if x.typ == yearMonth {
			return e.calculateDecimal("div", new(big.Rat).SetInt64(x.n), new(big.Rat).SetInt64(y.n))
		}
		return e.calculateDecimal("div", new(big.Rat).SetInt64(int64(x.span)), new(big.Rat).SetInt64(int64(y.span)))
	case durations && y.typ.numeric() && (operator == "*" || operator == "div"):
		return e.scale(x, y.float(), operator == "div")
	case x.typ.numeric() && other && operator == "*":
		return e.scale(y, x.float(), false)
	}
	return e.fail("XPTY0004", "%s is not defined for values of types %v and %v", operator, x.typ, y.typ)
}

// scale multiplies a duration with a number, or divides it.
func (e *evaluation) scale(d item, by float64, divide bool) sequence {
	if divide {
		by = 1 / by
	}
	months, span := math.Floor(float64(d.n)*by+0.5), float64(d.span)*by
	if math.IsNaN(by) || math.Abs(months) > math.MaxInt32 || math.Abs(span) >= math.MaxInt64 {
		return e.fail("FODT0002", "the duration is too long")
	}
	return e.unit(item{typ: d.typ, n: int64(months), span: time.Duration(math.Round(span))})
}

// shift adds a duration to a moment, or subtracts it.
func (e *evaluation) shift(m, d item, back bool) sequence {
	months, span := d.n, d.span
	if back {
		months, span = -months, -span
	}
	if m.typ == timeAtom && d.typ == yearMonth {
		return e.fail("XPTY0004", "months cannot be added to a time")
	}
	if months != 0 {
		m.t = addMonths(m.t, months)
	}
	m.t = m.t.Add(span)
	switch m.typ {
	case dateAtom:
		m.t = time.Date(m.t.Year(), m.t.Month(), m.t.Day(), 0, 0, 0, 0, m.t.Location())
	case timeAtom:
		m.t = onReferenceDay(m.t)
	}
	if y := m.t.Year(); y < -maxYear || y > maxYear {
		return e.fail("FODT0001", "the year is beyond %d", maxYear)
	}
	return e.unit(m)
}

// addMonths adds months, and keeps the day within the month.
func addMonths(t time.Time, months int64) time.Time {
	total := int64(t.Year())*12 + int64(t.Month()) - 1 + months
	year, month := int(floorDiv(total, 12)), time.Month(total-floorDiv(total, 12)*12+1)
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(year, month, min(t.Day(), last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

// floorDiv divides towards minus infinity.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
