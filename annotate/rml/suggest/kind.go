package suggest

import (
	"regexp"
	"strings"
)

// kind is what all values of a column have in common.
type kind uint8

const (
	unknown kind = iota // only null and empty values
	integer
	decimal
	double
	boolean
	dateTime
	date
	iri
	text
)

// datatype returns the local name of the datatype in XML Schema, empty for a plain string.
func (k kind) datatype() string {
	return [...]string{unknown: "", integer: "integer", decimal: "decimal", double: "double", boolean: "boolean",
		dateTime: "dateTime", date: "date", iri: "", text: ""}[k]
}

// with returns the kind that includes both.
func (k kind) with(other kind) kind {
	switch {
	case k == other || other == unknown:
		return k
	case k == unknown:
		return other
	case k <= double && other <= double:
		return max(k, other)
	}
	return text
}

var (
	integers  = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]{0,17})$`)
	decimals  = regexp.MustCompile(`^[+-]?[0-9]{1,18}\.[0-9]{1,18}$`)
	doubles   = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]{1,3}$`)
	dateTimes = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]` +
		`(\.[0-9]+)?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])?$`)
	dates = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`)
	iris  = regexp.MustCompile(`^(https?://|urn:[A-Za-z0-9-]+:)[^\s<>"{}|\\^` + "`" + `]+$`)
)

// classify returns the kind of a value of CSV or XML, or of a string of JSON.
func classify(value string, isTyped bool) kind {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return unknown
	case dateTimes.MatchString(value):
		return dateTime
	case dates.MatchString(value):
		return date
	case iris.MatchString(value):
		return iri
	case isTyped: // a string in JSON is one even if it looks like a number
		return text
	case value == "true" || value == "false":
		return boolean
	}
	return classifyNumber(value)
}

// classifyNumber returns the kind of a number, and text for anything else.
func classifyNumber(value string) kind {
	switch {
	case integers.MatchString(value):
		return integer
	case decimals.MatchString(value):
		return decimal
	case doubles.MatchString(value):
		return double
	}
	return text
}
