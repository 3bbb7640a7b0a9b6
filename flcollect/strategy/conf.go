package strategy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Conf holds the parameters of a strategy by the names of the REST interface's
// strategy_conf. Values are numbers of any Go type, json.Number, bool, or text
// that reads as one of them; nil counts as not given.
type Conf map[string]any

// FieldError is the error of one parameter.
type FieldError struct {
	// Strategy is the name that was asked for.
	Strategy string
	// Field is the name of the parameter; "strategy" for an unknown strategy.
	Field string
	// Reason says what is wrong.
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("configure strategy %q: %s: %s", e.Strategy, e.Field, e.Reason)
}

// reader takes parameters out of a Conf. The first error stays.
type reader struct {
	strategy string
	conf     Conf
	taken    []string
	err      error
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = &FieldError{r.strategy, field, fmt.Sprintf(format, args...)}
	}
}

// value returns what is given for a field, nil if nothing.
func (r *reader) value(field string) any {
	r.taken = append(r.taken, field)
	return r.conf[field]
}

// number reads a finite number between two bounds.
func (r *reader) number(field string, otherwise, least, most float64) float64 {
	given := r.value(field)
	if given == nil {
		return otherwise
	}
	v, ok := toNumber(given)
	switch {
	case !ok:
		r.fail(field, "%v is no number", given)
	case v < least && most == anything:
		r.fail(field, "%v is less than %v", v, least)
	case !(v >= least && v <= most):
		r.fail(field, "%v is not between %v and %s", v, least, strconv.FormatFloat(most, 'f', -1, 64))
	}
	return v
}

// count reads a whole number of at least some bound.
func (r *reader) count(field string, otherwise, least int) int {
	v := r.number(field, float64(otherwise), float64(least), math.MaxInt32)
	if v != math.Trunc(v) {
		r.fail(field, "%v is no whole number", v)
	}
	return int(v)
}

// truth reads a truth value.
func (r *reader) truth(field string, otherwise bool) bool {
	switch given := r.value(field).(type) {
	case nil:
		return otherwise
	case bool:
		return given
	default:
		switch strings.ToLower(fmt.Sprint(given)) {
		case "true", "1", "on", "yes":
			return true
		case "false", "0", "off", "no":
			return false
		}
		r.fail(field, "%v is no truth value", given)
		return otherwise
	}
}

// end reports the first error, or a field that nobody asked for.
func (r *reader) end() error {
	var unknown []string
	for field, given := range r.conf {
		if given != nil && !slices.Contains(r.taken, field) {
			unknown = append(unknown, field)
		}
	}
	slices.Sort(unknown)
	for _, field := range unknown {
		r.fail(field, "unknown to this strategy, which has %s", strings.Join(r.taken, ", "))
	}
	return r.err
}

func toNumber(given any) (float64, bool) {
	var text string
	switch v := given.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	default:
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

const anything = math.MaxFloat64

// policy reads the parameters that every strategy has. Minimum is the default
// of the three least numbers of clients.
func (r *reader) policy(minimum int) Policy {
	p := Policy{
		Fit:      Rule{Fraction: r.number("fraction_fit", 1, 0, 1), MinClients: r.count("min_fit_clients", minimum, 1)},
		Evaluate: Rule{Fraction: r.number("fraction_evaluate", 1, 0, 1), MinClients: r.count("min_evaluate_clients", minimum, 1)},
	}
	p.MinAvailable = r.count("min_available_clients", minimum, 1)
	return p
}

// failures reads accept_failures, which all strategies but the fault-tolerant one have.
func (r *reader) failures(p Policy) Policy {
	refuse := !r.truth("accept_failures", true)
	p.Fit.RefuseFailures, p.Evaluate.RefuseFailures = refuse, refuse
	return p
}
