package function

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// text returns the result of a function that is one string.
func text(s string) ([]string, error) { return []string{s}, nil }

func boolean(b bool) ([]string, error) { return text(strconv.FormatBool(b)) }

func integer(n int) ([]string, error) { return text(strconv.Itoa(n)) }

// number renders a number as a decimal, without a fraction when it has none.
func number(f float64) ([]string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("the result is not a finite number")
	}
	if f == 0 {
		f = 0 // and not -0
	}
	return text(strconv.FormatFloat(f, 'f', -1, 64))
}

// isTrue parses a boolean: true in any case, or the 1 of xsd:boolean.
func isTrue(s string) bool { return strings.EqualFold(s, "true") || s == "1" }

// parseNumber reads a decimal number, with an exponent or without.
func parseNumber(s string) (float64, error) {
	trimmed := strings.TrimSpace(s)
	f, err := strconv.ParseFloat(trimmed, 64)
	if err != nil || strings.Trim(trimmed, "0123456789+-.eE") != "" {
		return 0, fmt.Errorf("%q is not a number", brief(s))
	}
	return f, nil
}

// parseInteger reads an integer of 64 bits, which may have a fraction of zeros.
func parseInteger(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(strings.TrimSpace(s), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0") != "" {
		return 0, fmt.Errorf("%q is not an integer of 64 bits", brief(s))
	}
	return n, nil
}

// brief shortens a value for an error.
func brief(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
