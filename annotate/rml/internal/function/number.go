package function

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
)

// maxFactorial bounds the arguments of functions that multiply as many numbers.
const maxFactorial = 1000

// grelNumber and grelInteger return the first and second number parameter of a
// function.
func grelNumber() Parameter {
	return grel("param_dec_n", "p_dec_n", "param_n", "p_n", "param_int_n", "p_int_n", "param_int_i", "p_int_i",
		"valueParam", "valueParameter", "param_any_e", "p_any_e")
}

func grelNumber2() Parameter {
	return grel("param_dec_n2", "param_n2", "p_dec_n2", "p_n2", "param_int_i2", "p_int_i2", "param_dec_m", "p_dec_m",
		"param_dec_n_exp", "p_any_exp", "p_dec_exp",
		"param_dec_e", "p_dec_e", "p_int_e", "valueParam2", "valueParameter2")
}

// grelNumbers are the functions of GREL on numbers with a fraction.
func grelNumbers() []Function {
	one := func(name string, result result, apply func(float64) float64) Function {
		return grelFunction(name, result, func(c Call) ([]string, error) {
			f, err := parseNumber(c.Arg(0))
			if err != nil {
				return nil, err
			}
			return number(apply(f))
		}, grelNumber())
	}
	two := func(name string, result result, apply func(a, b float64) float64) Function {
		return grelFunction(name, result, func(c Call) ([]string, error) {
			a, err := parseNumber(c.Arg(0))
			if err != nil {
				return nil, err
			}
			b, err := parseNumber(c.Arg(1))
			if err != nil {
				return nil, err
			}
			return number(apply(a, b))
		}, grelNumber(), grelNumber2())
	}
	return []Function{
		one("math_ceil", integerResult, math.Ceil),
		one("math_floor", integerResult, math.Floor),
		one("math_round", integerResult, round),
		one("math_even", integerResult, func(f float64) float64 { return 2 * math.Ceil(f/2) }),
		one("math_odd", integerResult, func(f float64) float64 { return 2*math.Ceil((f-1)/2) + 1 }),
		one("math_abs", numberResult, math.Abs),
		one("math_exp", numberResult, math.Exp),
		one("math_ln", numberResult, math.Log),
		one("math_log", numberResult, math.Log10),
		one("math_sin", numberResult, math.Sin),
		one("math_cos", numberResult, math.Cos),
		one("math_tan", numberResult, math.Tan),
		one("math_asin", numberResult, math.Asin),
		one("math_acos", numberResult, math.Acos),
		one("math_atan", numberResult, math.Atan),
		one("math_sinh", numberResult, math.Sinh),
		one("math_cosh", numberResult, math.Cosh),
		one("math_tanh", numberResult, math.Tanh),
		one("math_degrees", numberResult, func(f float64) float64 { return f * 180 / math.Pi }),
		one("math_radians", numberResult, func(f float64) float64 { return f * math.Pi / 180 }),
		two("math_atan2", numberResult, math.Atan2),
		two("math_max", numberResult, math.Max),
		two("math_min", numberResult, math.Min),
		two("math_pow", numberResult, math.Pow),
		two("math_mod", numberResult, func(a, b float64) float64 { return a - b*math.Floor(a/b) }),
		two("math_quotient", integerResult, func(a, b float64) float64 { return math.Trunc(a / b) }),
	}
}

// round returns the nearest integer; halves round up.
func round(f float64) float64 {
	nearest := math.Round(f)
	if f < 0 && f-nearest == 0.5 {
		nearest++
	}
	return nearest
}

// grelIntegers are the functions of GREL on integers. They are exact: results
// may have more than 64 bits.
func grelIntegers() []Function {
	two := func(name string, apply func(a, b int64) (*big.Int, error)) Function {
		return grelFunction(name, integerResult, func(c Call) ([]string, error) {
			a, err := parseInteger(c.Arg(0))
			if err != nil {
				return nil, err
			}
			b, err := parseInteger(c.Arg(1))
			if err != nil {
				return nil, err
			}
			n, err := apply(a, b)
			if err != nil {
				return nil, err
			}
			return text(n.String())
		}, grelNumber(), grelNumber2())
	}
	numbers := grelArray()
	numbers = numbers.or(grel("param_int_i", "p_int_i", "param_int_i2", "p_int_i2", "param_int_rep_i", "p_rep_i",
		"valueParam", "valueParameter"))
	return []Function{
		grelFunction("math_fact", integerResult, func(c Call) ([]string, error) {
			n, err := parseInteger(c.Arg(0))
			if err != nil {
				return nil, err
			}
			product, err := factorial(n, 1)
			if err != nil {
				return nil, err
			}
			return text(product.String())
		}, grelNumber()),
		two("math_factn", factorial),
		two("math_combin", combinations),
		two("math_gcd", greatestDivisor),
		two("math_lcm", leastMultiple),
		two("math_randomNumber", randomNumber),
		grelFunction("math_multinomial", integerResult, func(c Call) ([]string, error) {
			return multinomial(c.Arguments[0])
		}, numbers),
	}
}

// factorial multiplies n, n-step, n-2*step and so on, as long as the factors
// are positive.
func factorial(n, step int64) (*big.Int, error) {
	switch {
	case n < 0:
		return nil, fmt.Errorf("%d has no factorial", n)
	case step < 1:
		return nil, fmt.Errorf("the step %d is below one", step)
	case n/step > maxFactorial:
		return nil, limitErrorf("the factorial of %d in steps of %d has more than %d factors", n, step, maxFactorial)
	}
	product := big.NewInt(1)
	for ; n > 0; n -= step {
		product.Mul(product, big.NewInt(n))
	}
	return product, nil
}

// combinations counts the ways to choose k of n.
func combinations(n, k int64) (*big.Int, error) {
	switch {
	case n < 0 || k < 0:
		return nil, errors.New("the number of combinations is of numbers that are not below zero")
	case k > n:
		return big.NewInt(0), nil
	case min(k, n-k) > maxFactorial:
		return nil, limitErrorf("to choose %d of %d takes more than %d factors", k, n, maxFactorial)
	}
	return new(big.Int).Binomial(n, k), nil
}

func greatestDivisor(a, b int64) (*big.Int, error) {
	x, y := big.NewInt(a), big.NewInt(b)
	return new(big.Int).GCD(nil, nil, x.Abs(x), y.Abs(y)), nil
}

func leastMultiple(a, b int64) (*big.Int, error) {
	divisor, _ := greatestDivisor(a, b)
	if divisor.Sign() == 0 {
		return divisor, nil
	}
	product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	return product.Abs(product.Quo(product, divisor)), nil
}

// randomNumber returns a random integer between two bounds, inclusive.
func randomNumber(from, to int64) (*big.Int, error) {
	if from > to {
		return nil, fmt.Errorf("no number is at least %d and at most %d", from, to)
	}
	width := uint64(to) - uint64(from) + 1 // #nosec G115 -- arithmetic modulo 2^64; 0 means all of it
	n := rand.Uint64()                     // #nosec G404 -- nothing secret hangs on it
	if width != 0 {
		n = rand.Uint64N(width) // #nosec G404 -- likewise
	}
	return big.NewInt(int64(uint64(from) + n)), nil // #nosec G115 -- likewise
}

// multinomial returns (a+b+...)! / (a! b! ...).
func multinomial(values []string) ([]string, error) {
	if len(values) == 0 {
		return nil, nil
	}
	total, product := int64(0), big.NewInt(1)
	for _, s := range values {
		n, err := parseInteger(s)
		switch {
		case err != nil:
			return nil, err
		case n < 0:
			return nil, fmt.Errorf("%d is below zero", n)
		case n > maxFactorial || total+n > maxFactorial:
			return nil, limitErrorf("the numbers add up to more than %s", strconv.Itoa(maxFactorial))
		}
		total += n
		product.Mul(product, new(big.Int).Binomial(total, n))
	}
	return text(product.String())
}
