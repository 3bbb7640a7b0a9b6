package repository

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// floatText is a number as Python's repr writes it: the shortest text that reads
// as the same number, with a point or an exponent.
func floatText(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'f', -1, 64)), "+")
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// numberText is a number of a JSON document as Python's str writes it.
func numberText(n json.Number) string {
	text := n.String()
	if strings.ContainsAny(text, ".eE") {
		v, _ := strconv.ParseFloat(text, 64) // beyond the range it is infinite, as there
		return floatText(v)
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// truthText is a truth value as Python's str writes it.
func truthText(v bool) string {
	if v {
		return "True"
	}
	return "False"
}
