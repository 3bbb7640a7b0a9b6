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
	values   map[string]any
	read     []Parameter
	required []string
	fault    *Fault
}

// Parameter describes a parameter of a strategy or of a privacy mechanism.
type Parameter struct {
	// Name is its name in the configuration of a job.
	Name string
	// Meaning is a sentence about it.
	Meaning string
	// Kind is "number", "integer" or "boolean".
	Kind string
	// Default is what applies where none is given: a float64, an int or a bool. It is nil
	// where there is no default.
	Default any
	// Least and Most are the bounds of a number, infinite where it has none.
	Least, Most float64
	// Required reports whether it has to be given.
	Required bool
}

// The kinds of parameters.
const (
	Number  = "number"
	Integer = "integer"
	Boolean = "boolean"
)

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
	r.required = append(r.required, field)
	if r.values[field] == nil {
		r.Fail(field, "is required")
	}
}

// Parameters describes what was read, in that order, with its meanings by name.
func (r *Reader) Parameters(meanings map[string]string) []Parameter {
	described := slices.Clone(r.read)
	for i, p := range described {
		p.Meaning, p.Required = meanings[p.Name], slices.Contains(r.required, p.Name)
		if number, ok := p.Default.(float64); p.Required || ok && math.IsInf(number, 0) {
			p.Default = nil
		}
		if p.Least == -Anything {
			p.Least = math.Inf(-1)
		}
		if p.Most == Anything || p.Kind == Integer && p.Most == math.MaxInt32 {
			p.Most = math.Inf(1)
		}
		described[i] = p
	}
	return described
}

// value returns the value of a parameter, or nil.
func (r *Reader) value(p Parameter) any {
	r.read = append(r.read, p)
	return r.values[p.Name]
}

// Number reads a number between two bounds. The default may be outside of them.
func (r *Reader) Number(field string, otherwise, least, most float64) float64 {
	return r.number(Parameter{Name: field, Kind: Number, Default: otherwise, Least: least, Most: most}, otherwise)
}

func (r *Reader) number(p Parameter, otherwise float64) float64 {
	given, field, least, most := r.value(p), p.Name, p.Least, p.Most
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
	p := Parameter{Name: field, Kind: Integer, Default: otherwise, Least: float64(least), Most: math.MaxInt32}
	v := r.number(p, float64(otherwise))
	if v != math.Trunc(v) {
		r.Fail(field, "%v is no whole number", v)
		return otherwise
	}
	return int(v)
}

// Truth reads a boolean.
func (r *Reader) Truth(field string, otherwise bool) bool {
	given := r.value(Parameter{Name: field, Kind: Boolean, Default: otherwise})
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
	var taken, unknown []string
	for _, p := range r.read {
		taken = append(taken, p.Name)
	}
	for field, given := range r.values {
		if given != nil && !slices.Contains(taken, field) {
			unknown = append(unknown, field)
		}
	}
	if len(unknown) > 0 {
		r.Fail(slices.Min(unknown), "unknown here; there are %s", strings.Join(taken, ", "))
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
