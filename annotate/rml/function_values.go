package rml

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// grelArrays are the array functions of GREL; an array is all the values of
// its parameter.
func grelArrays() []Function {
	array := parameter(nsGREL, "p_array_a", "param_array_a", "param_a", "p_a", "array_a").list()
	sep := parameter(nsGREL, "p_string_sep", "param_string_sep", "param_sep", "p_sep")
	from := parameter(nsGREL, "p_int_i_from", "param_int_i_from", "param_i_from")
	to := parameter(nsGREL, "p_int_i_opt_to", "param_int_i_opt_to", "param_i_opt_to").optional()
	values := func(name string, apply func([]string) []string) Function {
		return grelFunction(name, func(c Call) ([]string, error) { return apply(slices.Clone(c.Arguments[0])), nil }, array)
	}
	return []Function{
		grelFunction("array_join", func(c Call) ([]string, error) {
			if !c.Has(0) {
				return nil, nil
			}
			return text(strings.Join(c.Arguments[0], c.Arg(1)))
		}, array, sep),
		grelFunction("array_length", func(c Call) ([]string, error) { return integer(len(c.Arguments[0])) }, array),
		grelFunction("array_sum", func(c Call) ([]string, error) {
			sum := 0.0
			for _, s := range c.Arguments[0] {
				f, err := parseNumber(s)
				if err != nil {
					return nil, err
				}
				sum += f
			}
			return number(sum)
		}, array),
		grelFunction("array_get", func(c Call) ([]string, error) { return slice(c, true) }, array, from, to),
		grelFunction("array_slice", func(c Call) ([]string, error) { return slice(c, false) }, array, from, to),
		values("array_reverse", func(a []string) []string { slices.Reverse(a); return a }),
		values("array_sort", func(a []string) []string { slices.Sort(a); return a }),
		values("array_uniques", func(a []string) []string {
			var unique []string
			for _, s := range a {
				if !slices.Contains(unique, s) {
					unique = append(unique, s)
				}
			}
			return unique
		}),
	}
}

// slice gives the values from a position up to another, or one of them.
func slice(c Call, one bool) ([]string, error) {
	a := c.Arguments[0]
	from, err := position(c.Arg(1), len(a))
	if err != nil {
		return nil, err
	}
	to := len(a)
	switch {
	case c.Has(2):
		if to, err = position(c.Arg(2), len(a)); err != nil {
			return nil, err
		}
	case one:
		to = from + 1
	}
	from, to = max(from, 0), min(to, len(a))
	if from >= to {
		return nil, nil
	}
	return a[from:to], nil
}

func parseNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return f, nil
}

// grelNumbers are the mathematical functions of GREL.
func grelNumbers() []Function {
	n := parameter(nsGREL, "p_dec_n", "param_dec_n", "param_n", "p_n", "p_int_n", "param_int_n", "valueParam", "valueParameter")
	m := parameter(nsGREL, "p_dec_n2", "param_dec_n2", "p_dec_m", "param_dec_m", "param_n2", "p_int_e", "p_dec_e", "param_dec_e", "valueParam2", "valueParameter2")
	one := func(name string, apply func(float64) float64) Function {
		return grelFunction(name, func(c Call) ([]string, error) {
			f, err := parseNumber(c.Arg(0))
			if err != nil {
				return nil, err
			}
			return number(apply(f))
		}, n)
	}
	two := func(name string, apply func(a, b float64) float64) Function {
		return grelFunction(name, func(c Call) ([]string, error) {
			a, err := parseNumber(c.Arg(0))
			if err != nil {
				return nil, err
			}
			b, err := parseNumber(c.Arg(1))
			if err != nil {
				return nil, err
			}
			f := apply(a, b)
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("%s of %q and %q has no value", name, c.Arg(0), c.Arg(1))
			}
			return number(f)
		}, n, m)
	}
	return []Function{
		one("math_abs", math.Abs), one("math_ceil", math.Ceil), one("math_floor", math.Floor), one("math_round", math.Round),
		one("math_exp", math.Exp), one("math_ln", math.Log), one("math_log", math.Log10),
		one("math_sin", math.Sin), one("math_cos", math.Cos), one("math_tan", math.Tan),
		one("math_asin", math.Asin), one("math_acos", math.Acos), one("math_atan", math.Atan),
		one("math_degrees", func(f float64) float64 { return f * 180 / math.Pi }),
		one("math_radians", func(f float64) float64 { return f * math.Pi / 180 }),
		two("math_max", math.Max), two("math_min", math.Min), two("math_mod", math.Mod), two("math_pow", math.Pow),
		two("math_quotient", func(a, b float64) float64 { return math.Trunc(a / b) }), two("math_atan2", math.Atan2),
	}
}

// grelControls are the functions of GREL on truth values and on missing ones.
func grelControls() []Function {
	b := parameter(nsGREL, "bool_b", "p_bool_b", "param_bool_b", "param_b", "p_b", "valueParam", "valueParameter")
	list := parameter(nsGREL, "p_bool_b", "bool_b", "param_bool_b", "param_b", "p_rep_b", "param_rep_b", "valueParam", "valueParameter").list()
	yes := parameter(nsGREL, "any_true", "p_any_true", "param_any_true", "param_true", "p_any_e_true", "valueParam", "valueParameter").optional()
	no := parameter(nsGREL, "any_false", "p_any_false", "param_any_false", "param_false", "p_any_e_false", "valueParam2", "valueParameter2").optional()
	condition := parameter(nsGREL, "bool_b", "p_bool_b", "param_bool_b", "param_b").optional()
	logic := func(name string, apply func([]string) bool) Function {
		return grelFunction(name, func(c Call) ([]string, error) { return boolean(apply(c.Arguments[0])) }, list)
	}
	isTrue := func(s string) bool { return s == "true" }
	return []Function{
		logic("boolean_and", func(a []string) bool { return !slices.ContainsFunc(a, func(s string) bool { return !isTrue(s) }) }),
		logic("boolean_or", func(a []string) bool { return slices.ContainsFunc(a, isTrue) }),
		logic("boolean_xor", func(a []string) bool {
			odd := false
			for _, s := range a {
				odd = odd != isTrue(s)
			}
			return odd
		}),
		grelFunction("boolean_not", func(c Call) ([]string, error) { return boolean(!isTrue(c.Arg(0))) }, b),
		grelFunction("controls_if", func(c Call) ([]string, error) {
			if isTrue(c.Arg(0)) {
				return c.Arguments[1], nil
			}
			return c.Arguments[2], nil
		}, condition, yes, no),
		grelFunction("other_coalesce", func(c Call) ([]string, error) {
			if !c.Has(0) {
				return nil, nil
			}
			return text(c.Arg(0))
		}, parameter(nsGREL, "p_array_a", "param_array_a", "param_rep_e", "p_rep_e", "valueParam", "valueParameter").list()),
	}
}

// idlabFunctions are the functions of IDLab that depend on their arguments
// alone: none reads a file, calls a service or keeps a state.
func idlabFunctions() []Function {
	str := parameter(nsIDLab, "_str", "str")
	str.IRIs = append(str.IRIs, grelValue.IRIs...)
	other := parameter(nsIDLab, "_otherStr", "otherStr")
	delimiter := parameter(nsIDLab, "_delimiter", "delimiter").optional()
	define := func(name, output string, apply func(Call) ([]string, error), parameters ...Parameter) Function {
		outputs := map[string][]string{
			"text": {nsIDLab + "_stringOut", nsIDLab + "stringOut", nsGREL + "stringOut"},
			"bool": {nsIDLab + "_boolOut", nsIDLab + "o_boolOut", nsIDLab + "boolOut"},
			"list": {nsIDLab + "_listOut", nsIDLab + "listOut"},
		}
		return Function{IRI: nsIDLab + name, Parameters: parameters, Outputs: outputs[output], Apply: apply}
	}
	return []Function{
		define("alwaysReturnsABC", "text", func(Call) ([]string, error) { return text("ABC") }),
		define("toUpperCaseURL", "text", func(c Call) ([]string, error) {
			upper := strings.ToUpper(c.Arg(0))
			if !strings.HasPrefix(upper, "HTTP://") && !strings.HasPrefix(upper, "HTTPS://") {
				upper = "http://" + upper
			}
			return text(upper)
		}, str),
		define("equal", "bool", func(c Call) ([]string, error) { return boolean(c.Has(0) && c.Has(1) && c.Arg(0) == c.Arg(1)) }, grelValue.optional(), grelValue2.optional()),
		define("notEqual", "bool", func(c Call) ([]string, error) {
			return boolean(c.Has(0) != c.Has(1) || c.Arg(0) != c.Arg(1))
		}, grelValue.optional(), grelValue2.optional()),
		define("isNull", "bool", func(c Call) ([]string, error) { return boolean(!c.Has(0)) }, str.optional()),
		define("isNotNull", "bool", func(c Call) ([]string, error) { return boolean(c.Has(0)) }, str.optional()),
		define("trueCondition", "text", func(c Call) ([]string, error) {
			if c.Arg(0) != "true" {
				return nil, nil
			}
			return text(c.Arg(1))
		}, parameter(nsIDLab, "_strBoolean", "strBoolean"), str),
		define("decide", "text", func(c Call) ([]string, error) {
			if c.Arg(0) != c.Arg(1) {
				return nil, nil
			}
			return text(c.Arg(2))
		}, str, parameter(nsIDLab, "_expectedStr", "expectedStr"), parameter(nsIDLab, "_result", "result")),
		define("stringContainsOtherString", "bool", func(c Call) ([]string, error) {
			parts := []string{c.Arg(0)}
			if c.Arg(2) != "" {
				parts = strings.Split(c.Arg(0), c.Arg(2))
			}
			return boolean(slices.Contains(parts, c.Arg(1)) || c.Arg(2) == "" && strings.Contains(c.Arg(0), c.Arg(1)))
		}, str, other, delimiter),
		define("listContainsElement", "bool", func(c Call) ([]string, error) {
			return boolean(slices.Contains(c.Arguments[0], c.Arg(1)))
		}, parameter(nsIDLab, "_list", "list").list(), str),
		define("concat", "text", func(c Call) ([]string, error) { return text(c.Arg(0) + c.Arg(2) + c.Arg(1)) }, str, other, delimiter),
		define("concatSequence", "text", func(c Call) ([]string, error) {
			if !c.Has(0) {
				return nil, nil
			}
			return text(strings.Join(c.Arguments[0], c.Arg(1)))
		}, sequence(), delimiter),
		define("inRange", "bool", inRange, parameter(nsIDLab, "_test", "p_test"),
			parameter(nsIDLab, "_from", "p_from").optional(), parameter(nsIDLab, "_to", "p_to").optional()),
		define("slugify", "text", func(c Call) ([]string, error) { return text(slugify(c.Arg(0))) }, str),
	}
}

// sequence is a parameter that is bound once for each member of an rdf:Seq.
func sequence() Parameter {
	p := parameter(nsIDLab, "_seq").list()
	for i := 1; i <= 32; i++ {
		p.IRIs = append(p.IRIs, fmt.Sprintf("http://www.w3.org/1999/02/22-rdf-syntax-ns#_%d", i))
	}
	return p
}

// inRange says whether a number is at least from and below to.
func inRange(c Call) ([]string, error) {
	f, err := parseNumber(c.Arg(0))
	if err != nil {
		return nil, err
	}
	within := true
	for i, holds := range []func(bound float64) bool{func(b float64) bool { return f >= b }, func(b float64) bool { return f < b }} {
		if !c.Has(i + 1) {
			continue
		}
		bound, err := parseNumber(c.Arg(i + 1))
		if err != nil {
			return nil, err
		}
		within = within && holds(bound)
	}
	if !c.Has(1) && !c.Has(2) {
		return nil, errors.New("the range has neither a beginning nor an end")
	}
	return boolean(within)
}

// slugify keeps letters and digits, in lower case, and joins what is between
// them with dashes.
func slugify(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}
