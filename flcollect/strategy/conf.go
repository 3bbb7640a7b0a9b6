package strategy

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/conf"
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

// anything is the greatest bound of a number.
const anything = conf.Anything

// reader takes the parameters of a strategy out of a Conf. The first error stays.
type reader struct {
	*conf.Reader
	strategy string
}

func newReader(strategy string, given Conf) *reader { return &reader{conf.NewReader(given), strategy} }

// end reports the first error, or a field that nobody asked for.
func (r *reader) end() error {
	if fault := r.End(); fault != nil {
		return &FieldError{r.strategy, fault.Field, fault.Reason}
	}
	return nil
}

// policy reads the parameters that every strategy has. Minimum is the default
// of the three least numbers of clients.
func (r *reader) policy(minimum int) Policy {
	p := Policy{
		Fit: Rule{Fraction: r.Number("fraction_fit", 1, 0, 1), MinClients: r.Count("min_fit_clients", minimum, 1)},
		Evaluate: Rule{
			Fraction:   r.Number("fraction_evaluate", 1, 0, 1),
			MinClients: r.Count("min_evaluate_clients", minimum, 1),
		},
	}
	p.MinAvailable = r.Count("min_available_clients", minimum, 1)
	return p
}

// failures reads accept_failures, which all strategies but the fault-tolerant one have.
func (r *reader) failures(p Policy) Policy {
	refuse := !r.Truth("accept_failures", true)
	p.Fit.RefuseFailures, p.Evaluate.RefuseFailures = refuse, refuse
	return p
}
