package flcollect

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// value is a place in the body of a configuration, and what is there. Its
// methods read it as pydantic 1 does, and report what they cannot read; then
// they return the zero value.
type value struct {
	parser *parser
	loc    []any
	raw    json.RawMessage // nil if there is nothing
}

// fail reports a fault of the value.
func (v value) fail(kind, format string, args ...any) {
	if len(v.parser.details) < maxDetails {
		v.parser.details = append(v.parser.details, Detail{Loc: v.loc, Msg: fmt.Sprintf(format, args...), Type: kind})
	}
}

// child is a place below, where nothing is so far.
func (v value) child(step any) value {
	return value{parser: v.parser, loc: append(slices.Clone(v.loc), step)}
}

// null reports whether the value is there and null.
func (v value) null() bool { return len(v.raw) > 0 && v.raw[0] == 'n' }

// given reports whether an optional value has to be read.
func (v value) given() bool { return v.raw != nil && !v.null() }

// has reports whether the value is an object with a member of the name.
func (v value) has(name string) bool {
	var raw map[string]json.RawMessage
	return json.Unmarshal(v.raw, &raw) == nil && raw[name] != nil
}

// required reports whether a value that has to be there can be read.
func (v value) required() bool {
	switch {
	case v.raw == nil:
		v.fail("value_error.missing", "field required")
	case v.null():
		v.fail("type_error.none.not_allowed", "none is not an allowed value")
	}
	return v.given()
}

// members are the members of an object.
type members struct {
	of  value
	raw map[string]json.RawMessage
}

// object reads an object of up to so many members, which is required.
func (v value) object(most int) (members, bool) {
	if !v.required() {
		return members{}, false
	}
	m := members{of: v}
	if v.raw[0] != '{' || json.Unmarshal(v.raw, &m.raw) != nil {
		v.fail("type_error.dict", "value is not a valid dict")
		return members{}, false
	}
	if len(m.raw) > most {
		v.fail("value_error.dict.max_items", "ensure this value has at most %d members", most)
		return members{}, false
	}
	return m, true
}

// at returns a member.
func (m members) at(name string) value {
	v := m.of.child(name)
	v.raw = m.raw[name]
	return v
}

// names returns the names of the members, sorted.
func (m members) names() []string { return slices.Sorted(maps.Keys(m.raw)) }

// list reads a list of up to so many items, which is required.
func (v value) list(most int) []value {
	if !v.required() {
		return nil
	}
	var raw []json.RawMessage
	if v.raw[0] != '[' || json.Unmarshal(v.raw, &raw) != nil {
		v.fail("type_error.list", "value is not a valid list")
		return nil
	}
	if len(raw) > most {
		v.fail("value_error.list.max_items", "ensure this value has at most %d items", most)
		return nil
	}
	items := make([]value, len(raw))
	for i := range raw {
		items[i] = v.child(i)
		items[i].raw = raw[i]
	}
	return items
}

// decoded returns text, a json.Number, a truth value, or nil for everything
// else.
func (v value) decoded() any {
	switch v.raw[0] {
	case '"':
		var text string
		if json.Unmarshal(v.raw, &text) != nil {
			return nil
		}
		return text
	case 't', 'f':
		return v.raw[0] == 't'
	case 'n', '{', '[':
		return nil
	default:
		return json.Number(v.raw)
	}
}

// name reads text that is required and not empty.
func (v value) name() string {
	if !v.required() {
		return ""
	}
	return v.text(1)
}

// text reads text of at least so many characters. A number counts as its
// digits.
func (v value) text(least int) string {
	var text string
	switch given := v.decoded().(type) {
	case string:
		text = given
	case json.Number:
		text = given.String()
	default:
		v.fail("type_error.str", "str type expected")
		return ""
	}
	switch length := utf8.RuneCountInString(text); {
	case length < least:
		v.fail("value_error.any_str.min_length", "ensure this value has at least %d characters", least)
	case length > maxText:
		v.fail("value_error.any_str.max_length", "ensure this value has at most %d characters", maxText)
	default:
		return text
	}
	return ""
}

// word reads text that is about a truth value, and may be given as one: then it
// is Python's word for it.
func (v value) word() string {
	switch v.decoded() {
	case true:
		return "True"
	case false:
		return "False"
	}
	return v.text(0)
}

// identifier reads a whole number, which may be given as text, and returns it in
// decimal. It is required.
func (v value) identifier() string {
	if !v.required() {
		return ""
	}
	before := len(v.parser.details)
	n := v.integer(math.MinInt64, math.MaxInt64)
	if len(v.parser.details) > before {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// integer reads a whole number between two bounds.
func (v value) integer(least, most int64) int64 {
	n, ok := wholeNumber(v.digits())
	switch {
	case !ok:
		v.fail("type_error.integer", "value is not a valid integer")
	case n < least:
		v.fail("value_error.number.not_ge", "ensure this value is greater than or equal to %d", least)
	case n > most:
		v.fail("value_error.number.not_le", "ensure this value is less than or equal to %d", most)
	default:
		return n
	}
	return 0
}

// number reads a finite number between two bounds.
func (v value) number(least, most float64) float64 {
	n, ok := finiteNumber(v.digits())
	switch {
	case !ok:
		v.fail("type_error.float", "value is not a valid float")
	case n < least:
		v.fail("value_error.number.not_ge", "ensure this value is greater than or equal to %v", least)
	case n > most:
		v.fail("value_error.number.not_le", "ensure this value is less than or equal to %.0f", most)
	default:
		return n
	}
	return 0
}

// timeout reads a number of seconds up to a bound, or false, which is no timeout
// (the specification has it say whether there is one).
func (v value) timeout(most time.Duration) time.Duration {
	if v.decoded() == false {
		return 0
	}
	before := len(v.parser.details)
	seconds := v.number(0, most.Seconds())
	if len(v.parser.details) > before || seconds == 0 {
		return 0
	}
	exact, err := time.ParseDuration(v.digits() + "s")
	if err != nil { // it has an exponent
		exact = time.Duration(math.Round(seconds * 1e9))
	}
	return max(exact, 1) // it is bounded, if by nearly nothing
}

// digits is the text of a number, which may be given as text.
func (v value) digits() string {
	switch given := v.decoded().(type) {
	case json.Number:
		return given.String()
	case string:
		return strings.TrimSpace(given)
	}
	return ""
}

// truth reads a truth value; null is none.
func (v value) truth() bool {
	if v.null() {
		v.fail("type_error.none.not_allowed", "none is not an allowed value")
		return false
	}
	switch given := v.decoded().(type) {
	case bool:
		return given
	case json.Number, string:
		switch strings.ToLower(fmt.Sprint(given)) {
		case "1", "on", "t", "true", "y", "yes":
			return true
		case "0", "off", "f", "false", "n", "no":
			return false
		}
	}
	v.fail("type_error.bool", "value could not be parsed to a boolean")
	return false
}

// scalar returns text, an int64, a float64 or a truth value, as the JSON has it;
// it is false for everything else.
func (v value) scalar() (any, bool) {
	switch given := v.decoded().(type) {
	case nil:
		return nil, false
	case json.Number:
		if n, err := strconv.ParseInt(given.String(), 10, 64); err == nil {
			return n, true
		}
		return v.number(-math.MaxFloat64, math.MaxFloat64), true
	case string:
		return v.text(0), true
	default:
		return given, true
	}
}

// parameter reads a parameter of a strategy. Those of the specification
// (section 2, strategy_conf) have a type.
func (v value) parameter(field string) any {
	switch field {
	case "min_fit_clients", "min_evaluate_clients", "min_available_clients":
		return v.integer(math.MinInt64, math.MaxInt64)
	case "accept_failures", "norm_clip":
		return v.truth()
	case "fraction_fit", "fraction_evaluate", "server_learning_rate", "server_momentum",
		"min_completion_rate_fit", "min_completion_rate_evaluate",
		"eta", "eta_l", "beta_1", "beta_2", "tau", "q_param", "qffl_learning_rate":
		return v.number(-math.MaxFloat64, math.MaxFloat64)
	}
	given, ok := v.scalar()
	if !ok {
		v.fail("type_error", "a number, a truth value or text is expected")
	}
	return given
}

// wholeNumber reads digits, and numbers such as 3.0 and 1e3.
func wholeNumber(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, ok := finiteNumber(text)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// finiteNumber reads a number in decimal.
func finiteNumber(text string) (float64, bool) {
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false // no hexadecimal digits, no infinity
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}
