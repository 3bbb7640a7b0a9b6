package function

import (
	"cmp"
	"slices"
	"strings"
)

// grelArrays are the array functions of GREL. An array is the list of all
// values of its parameter.
func grelArrays() []Function {
	values := func(name string, apply func([]string) []string) Function {
		return grelFunction(name, listResult, func(c Call) ([]string, error) {
			return apply(slices.Clone(c.Arguments[0])), nil
		}, grelArray())
	}
	return []Function{
		grelFunction("array_join", textResult, func(c Call) ([]string, error) {
			return join(c.Arguments[0], c.Arg(1))
		}, grelArray(), grelSeparator().optional()),
		grelFunction("array_length", integerResult, func(c Call) ([]string, error) {
			return integer(len(c.Arguments[0]))
		}, grelArray()),
		grelFunction("array_sum", numberResult, func(c Call) ([]string, error) {
			return number(sum(c.Arguments[0]))
		}, grelArray()),
		grelFunction("array_get", listResult, func(c Call) ([]string, error) { return slice(c, true) },
			grelArray(), grelFrom(), grelTo()),
		grelFunction("array_slice", listResult, func(c Call) ([]string, error) { return slice(c, false) },
			grelArray(), grelFrom(), grelTo()),
		values("array_reverse", func(a []string) []string { slices.Reverse(a); return a }),
		values("array_sort", sorted),
		values("array_uniques", func(a []string) []string {
			seen := make(map[string]bool, len(a))
			return slices.DeleteFunc(a, func(s string) bool {
				known := seen[s]
				seen[s] = true
				return known
			})
		}),
	}
}

// join joins values with a separator. Without values it returns no result.
func join(values []string, separator string) ([]string, error) {
	if len(values) == 0 {
		return nil, nil
	}
	size := len(separator) * (len(values) - 1)
	for _, s := range values {
		size += len(s)
	}
	if size > MaxText {
		return nil, TooLong()
	}
	return text(strings.Join(values, separator))
}

// sum adds the numbers among values and skips the rest.
func sum(values []string) float64 {
	total := 0.0
	for _, s := range values {
		if f, err := parseNumber(s); err == nil {
			total += f
		}
	}
	return total
}

// sorted sorts values by their numbers when all of them are numbers, and by
// the characters otherwise, upper case before lower.
func sorted(values []string) []string {
	type numbered struct {
		number float64
		text   string
	}
	numbers := make([]numbered, len(values))
	for i, s := range values {
		f, err := parseNumber(s)
		if err != nil {
			slices.Sort(values)
			return values
		}
		numbers[i] = numbered{f, s}
	}
	slices.SortStableFunc(numbers, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	for i, n := range numbers {
		values[i] = n.text
	}
	return values
}

// slice returns the values from a position up to another, or one value.
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
	to = min(to, len(a))
	if from < 0 || from >= to {
		return nil, nil
	}
	return a[from:to], nil
}
