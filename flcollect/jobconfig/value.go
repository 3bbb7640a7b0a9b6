package jobconfig

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

// value is a place in the body of a configuration with the JSON that is there. Its
// methods accept what pydantic 1 accepts, because existing clients rely on it. They
// report what they cannot read and then return the zero value.
type value struct {
	parser *parser
	path   []any
	raw    json.RawMessage // nil if there is no value
}

// child returns a place below, without a value.
func (v value) child(step any) value {
	return value{parser: v.parser, path: append(slices.Clone(v.path), step)}
}

// null reports whether the value is there and null.
func (v value) null() bool { return len(v.raw) > 0 && v.raw[0] == 'n' }

// given reports whether an optional value is there and not null.
func (v value) given() bool { return v.raw != nil && !v.null() }

// has reports whether the value is an object with a member of the name.
func (v value) has(name string) bool {
	var raw map[string]json.RawMessage
	return json.Unmarshal(v.raw, &raw) == nil && raw[name] != nil
}

// required reports whether a required value is there, and reports it missing if not.
func (v value) required() bool {
	switch {
	case v.raw == nil:
		v.fail(Missing)
	case v.null():
		v.fail(Null)
	}
	return v.given()
}

// members are the members of an object.
type members struct {
	of  value
	raw map[string]json.RawMessage
}

// object reads a required object of at most so many members.
func (v value) object(most int) (members, bool) {
	if !v.required() {
		return members{}, false
	}
	m := members{of: v}
	if v.raw[0] != '{' || json.Unmarshal(v.raw, &m.raw) != nil {
		v.fail(NotObject)
		return members{}, false
	}
	if len(m.raw) > most {
		v.exceeds(TooManyMembers, strconv.Itoa(most))
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

// list reads a required list of at most so many elements.
func (v value) list(most int) []value {
	if !v.required() {
		return nil
	}
	var raw []json.RawMessage
	if v.raw[0] != '[' || json.Unmarshal(v.raw, &raw) != nil {
		v.fail(NotList)
		return nil
	}
	if len(raw) > most {
		v.exceeds(TooManyItems, strconv.Itoa(most))
		return nil
	}
	items := make([]value, len(raw))
	for i := range raw {
		items[i] = v.child(i)
		items[i].raw = raw[i]
	}
	return items
}

// decoded returns text, a json.Number, a truth value, or nil for any other value.
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

// name reads required text that is not empty.
func (v value) name() string {
	if !v.required() {
		return ""
	}
	return v.text(1)
}

// text reads text of at least so many characters. A number is read as its digits.
func (v value) text(least int) string {
	var text string
	switch given := v.decoded().(type) {
	case string:
		text = given
	case json.Number:
		text = given.String()
	default:
		v.fail(NotText)
		return ""
	}
	switch length := utf8.RuneCountInString(text); {
	case length < least:
		v.exceeds(TooShort, strconv.Itoa(least))
	case length > maxText:
		v.exceeds(TooLong, strconv.Itoa(maxText))
	default:
		return text
	}
	return ""
}

// word reads text. A truth value is read as Python prints it.
func (v value) word() string {
	switch v.decoded() {
	case true:
		return "True"
	case false:
		return "False"
	}
	return v.text(0)
}

// identifier reads a required whole number, which may be given as text, and returns it
// in decimal.
func (v value) identifier() string {
	if !v.required() {
		return ""
	}
	before := len(v.parser.faults)
	n := v.integer(math.MinInt64, math.MaxInt64)
	if len(v.parser.faults) > before {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// integer reads a whole number between two bounds.
func (v value) integer(least, most int64) int64 {
	n, ok := wholeNumber(v.digits())
	switch {
	case !ok:
		v.fail(NotInteger)
	case n < least:
		v.exceeds(TooSmall, strconv.FormatInt(least, 10))
	case n > most:
		v.exceeds(TooGreat, strconv.FormatInt(most, 10))
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
		v.fail(NotNumber)
	case n < least:
		v.exceeds(TooSmall, fmt.Sprint(least))
	case n > most:
		v.exceeds(TooGreat, fmt.Sprintf("%.0f", most))
	default:
		return n
	}
	return 0
}

// timeout reads a number of seconds up to a bound, or false, which means no timeout
// (the specification has a truth value there).
func (v value) timeout(most time.Duration) time.Duration {
	if v.decoded() == false {
		return 0
	}
	before := len(v.parser.faults)
	seconds := v.number(0, most.Seconds())
	if len(v.parser.faults) > before || seconds == 0 {
		return 0
	}
	exact, err := time.ParseDuration(v.digits() + "s")
	if err != nil { // it has an exponent
		exact = time.Duration(math.Round(seconds * 1e9))
	}
	return max(exact, 1) // zero would mean no timeout
}

// digits returns the text of a number, which may be given as text.
func (v value) digits() string {
	switch given := v.decoded().(type) {
	case json.Number:
		return given.String()
	case string:
		return strings.TrimSpace(given)
	}
	return ""
}

// truth reads a truth value; null is not one.
func (v value) truth() bool {
	if v.null() {
		v.fail(Null)
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
	v.fail(NotBool)
	return false
}

// scalar returns text, an int64, a float64 or a truth value, with the type that the JSON
// gives it. It returns false for any other value.
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
