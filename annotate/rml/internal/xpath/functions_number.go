package xpath

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// numberFunctions are the functions on numbers and the aggregates (sections 4 and 14.4 of Functions
// and Operators).
func numberFunctions() map[string]function {
	all := map[string]function{
		"number": def("| I?", func(e *evaluation, f focus, a []sequence) sequence {
			v := e.atomize(e.contextOr(f, a, 0))
			if len(v) != 1 {
				return e.unit(dbl(math.NaN()))
			}
			return e.unit(e.number(v[0]))
		}).reaching(inFocus),
		"abs":   def("n?", whole(math.Abs, func(r *big.Rat) *big.Rat { return new(big.Rat).Abs(r) })),
		"floor": def("n?", whole(math.Floor, floorRat)),
		"ceiling": def("n?", whole(math.Ceil, func(r *big.Rat) *big.Rat {
			return new(big.Rat).Neg(floorRat(new(big.Rat).Neg(r)))
		})),
		"round":              def("n? | i", rounding(false)),
		"round-half-to-even": def("n? | i", rounding(true)),
		"format-number":      def("n? s | s?", formatNumber),
		"sum":                def("a* | a?", sum),
		"avg":                def("a*", average),
		"min":                def("a* | s", extreme(-1)),
		"max":                def("a* | s", extreme(1)),
		"math:pi":            def("", func(e *evaluation, _ focus, _ []sequence) sequence { return e.unit(dbl(math.Pi)) }),
		"math:pow":           def("d? n", power),
		"math:atan2": def("d d", func(e *evaluation, _ focus, a []sequence) sequence {
			return e.unit(dbl(math.Atan2(a[0][0].f, a[1][0].f)))
		}),
	}
	for name, fn := range map[string]func(float64) float64{
		"exp": math.Exp, "exp10": func(x float64) float64 { return math.Pow(10, x) }, "log": math.Log, "log10": math.Log10,
		"sqrt": math.Sqrt, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	} {
		all["math:"+name] = def("d?", func(e *evaluation, _ focus, a []sequence) sequence {
			if len(a[0]) == 0 {
				return nil
			}
			return e.unit(dbl(fn(a[0][0].f)))
		})
	}
	return all
}

// whole returns a function of a number from those for doubles and for decimals.
func whole(ofFloat func(float64) float64, ofRat func(*big.Rat) *big.Rat) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		if len(a[0]) == 0 {
			return nil
		}
		v := a[0][0]
		switch v.typ {
		case integer:
			r := ofRat(v.rat())
			if !r.Num().IsInt64() {
				return e.fail("FOAR0002", "the result is not an integer of 64 bits")
			}
			v.n = r.Num().Int64()
		case decimal:
			v.d = ofRat(v.d)
		default:
			v.f = ofFloat(v.f)
		}
		return e.unit(v)
	}
}

// floorRat rounds towards minus infinity.
func floorRat(r *big.Rat) *big.Rat {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	_ = m // Euclidean division rounds down for a positive divisor
	return new(big.Rat).SetInt(q)
}

// maxPrecision is how many places before or after the decimal point rounding may name.
const maxPrecision = 400

// rounding returns round or round-half-to-even.
func rounding(toEven bool) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		if len(a[0]) == 0 {
			return nil
		}
		v, places := a[0][0], int64(0)
		if len(a) > 1 {
			places = min(max(a[1][0].n, -maxPrecision), maxPrecision)
		}
		if v.typ <= decimal {
			r := roundRat(v.rat(), places, toEven)
			if v.typ == decimal {
				return e.unit(dec(r))
			}
			if !r.Num().IsInt64() {
				return e.fail("FOAR0002", "the result is not an integer of 64 bits")
			}
			return e.unit(integral(r.Num().Int64()))
		}
		if v.f == 0 || math.IsNaN(v.f) || math.IsInf(v.f, 0) {
			return e.unit(v)
		}
		bits := 64
		if v.typ == float {
			bits = 32
		}
		r, _ := new(big.Rat).SetString(strconv.FormatFloat(v.f, 'g', -1, bits))
		f, _ := roundRat(r, places, toEven).Float64()
		v.f = math.Copysign(f, v.f)
		return e.unit(v)
	}
}

// roundRat rounds to a number of decimal places.
func roundRat(r *big.Rat, places int64, toEven bool) *big.Rat {
	power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(places, -places)), nil))
	if places < 0 {
		power.Inv(power)
	}
	scaled := new(big.Rat).Mul(r, power)
	down := floorRat(scaled)
	rest := new(big.Rat).Sub(scaled, down)
	if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || (c == 0 && (!toEven || down.Num().Bit(0) == 1)) {
		down.Add(down, big.NewRat(1, 1))
	}
	return down.Quo(down, power)
}

// number returns an atomic value as a double, NaN if it is not a number.
func (e *evaluation) number(v item) item {
	switch v.typ {
	case untyped, stringAtom:
		return dbl(e.textNumber(v.s))
	case integer:
		return dbl(float64(v.n))
	}
	if e.spendText(len(v.s)) {
		if n, err := e.convert(v, double); err == nil {
			return n
		}
	}
	return dbl(math.NaN())
}

// textNumber returns a text as a double, which is NaN for what is not a number.
func (e *evaluation) textNumber(text string) float64 {
	if e.spendText(len(text)) {
		if f, ok := parseDouble(strings.Trim(text, blanks), double); ok {
			return f
		}
	}
	return math.NaN()
}

// numbers converts untyped values to doubles; with nan strings too, those that are not numbers as NaN.
func (e *evaluation) numbers(s sequence, nan bool) sequence {
	textual := func(i item) bool { return i.typ == untyped || (nan && i.typ == stringAtom) }
	if !slices.ContainsFunc(s, textual) {
		return s
	}
	if !e.hold(len(s) * itemBytes) {
		return nil
	}
	s = slices.Clone(s)
	for i := range s {
		switch {
		case !textual(s[i]):
		case nan:
			s[i] = e.number(s[i])
		default:
			s[i] = e.cast(s[i], double)
		}
	}
	return s
}

// total adds the items of a sequence that is not empty.
func (e *evaluation) total(s sequence) sequence {
	s = e.numbers(s, e.compatible)
	if e.err != nil {
		return nil
	}
	v := s[0]
	if !v.typ.numeric() && v.typ != yearMonth && v.typ != dayTime {
		return e.fail("FORG0006", "values of type %v cannot be added", v.typ)
	}
	for _, x := range s[1:] {
		if !e.spend(1) {
			return nil
		}
		if next := e.calculate("+", v, x); len(next) == 1 {
			v = next[0]
		}
	}
	return e.unit(v)
}

func sum(e *evaluation, _ focus, a []sequence) sequence {
	if len(a[0]) > 0 {
		return e.total(a[0])
	}
	if len(a) > 1 {
		return a[1]
	}
	return e.unit(integral(0))
}

func average(e *evaluation, _ focus, a []sequence) sequence {
	if len(a[0]) == 0 {
		return nil
	}
	v := e.total(a[0])
	if e.err != nil {
		return nil
	}
	return e.calculate("div", v[0], integral(int64(len(a[0]))))
}

// extreme returns min, of a sign below zero, or max.
func extreme(sign int) func(*evaluation, focus, []sequence) sequence {
	return func(e *evaluation, _ focus, a []sequence) sequence {
		s := e.numbers(a[0], false)
		if e.err != nil || len(s) == 0 || !e.collation(a, 1) {
			return nil
		}
		best, widest := s[0], s[0].typ
		for _, v := range s[1:] {
			if v.typ.numeric() {
				widest = max(widest, v.typ)
			}
			result, nan, ok := order(v, best, true)
			if !e.spend(1+min(len(v.s), len(best.s))/bytesPerStep) || !ok {
				return e.fail("FORG0006", "values of types %v and %v have no order", v.typ, best.typ)
			}
			if (nan && v.float() != v.float()) || (!nan && result*sign > 0) {
				best = v
			}
		}
		if best.typ.numeric() && widest >= float {
			best = e.cast(best, widest)
		} else if _, _, ok := order(best, best, true); !ok {
			return e.fail("FORG0006", "values of type %v have no order", best.typ)
		}
		return e.unit(best)
	}
}

func power(e *evaluation, _ focus, a []sequence) sequence {
	if len(a[0]) == 0 {
		return nil
	}
	return e.unit(dbl(math.Pow(a[0][0].f, a[1][0].float())))
}
