// Package conf reads the parameters of strategies and of privacy mechanisms, which
// the REST interface accepts in many forms.
package conf

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Anything is the bound of a number without a bound. Numbers are always finite.
const Anything = math.MaxFloat64

// Reader reads parameters from an object. Values are numbers of any Go type,
// json.Number, booleans, or text that can be parsed as one of them; nil counts as
// not given. It keeps the first fault and continues with the default. It must not
// be used concurrently. Make one with [NewReader].
type Reader struct {
	values map[string]any
	taken  []string
	fault  *Fault
}

// Fault is the error of a parameter.
type Fault struct {
	// Field is the name of the parameter.
	Field string
	// Reason is what is wrong with it.
	Reason string
}

// NewReader returns a reader of an object, which may be nil and is not changed.
func NewReader(values map[string]any) *Reader { return &Reader{values: values} }

// Fail records a fault of a field, unless there is one already.
func (r *Reader) Fail(field, format string, args ...any) {
	if r.fault == nil {
		r.fault = &Fault{field, fmt.Sprintf(format, args...)}
	}
}

// Require records a fault if the field is not given.
func (r *Reader) Require(field string) {
	if r.values[field] == nil {
		r.Fail(field, "is required")
	}
}

// value returns the value of a field, or nil.
func (r *Reader) value(field string) any {
	r.taken = append(r.taken, field)
	return r.values[field]
}

// Number reads a number between two bounds. The default may be outside of them.
func (r *Reader) Number(field string, otherwise, least, most float64) float64 {
	given := r.value(field)
	if given == nil {
		return otherwise
	}
	v, ok := number(given)
	switch {
	case !ok:
		r.Fail(field, "%v is no number", given)
	case v < least && most == Anything:
		r.Fail(field, "%v is less than %v", v, least)
	case v < least || v > most:
		r.Fail(field, "%v is not between %v and %s", v, least, strconv.FormatFloat(most, 'f', -1, 64))
	default:
		return v
	}
	return otherwise
}

// Count reads an integer from a bound to 2^31-1.
func (r *Reader) Count(field string, otherwise, least int) int {
	v := r.Number(field, float64(otherwise), float64(least), math.MaxInt32)
	if v != math.Trunc(v) {
		r.Fail(field, "%v is no whole number", v)
		return otherwise
	}
	return int(v)
}

// Truth reads a boolean.
func (r *Reader) Truth(field string, otherwise bool) bool {
	given := r.value(field)
	if given == nil {
		return otherwise
	}
	switch strings.ToLower(fmt.Sprint(given)) {
	case "true", "1", "on", "yes":
		return true
	case "false", "0", "off", "no":
		return false
	}
	r.Fail(field, "%v is no truth value", given)
	return otherwise
}

// End returns the first fault, or nil. A field that was not read is a fault: a
// mistyped name must not silently select the default.
func (r *Reader) End() *Fault {
	var unknown []string
	for field, given := range r.values {
		if given != nil && !slices.Contains(r.taken, field) {
			unknown = append(unknown, field)
		}
	}
	if len(unknown) > 0 {
		r.Fail(slices.Min(unknown), "unknown here; there are %s", strings.Join(r.taken, ", "))
	}
	return r.fault
}

// number returns a value as a finite number.
func number(given any) (float64, bool) {
	switch given.(type) {
	case float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, json.Number, string:
		text := strings.TrimSpace(fmt.Sprint(given))
		if strings.Trim(text, "+-.0123456789eE") != "" {
			return 0, false // no hexadecimal digits, no infinity
		}
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil
	}
	return 0, false
}
