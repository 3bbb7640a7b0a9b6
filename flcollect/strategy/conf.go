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
	// Strategy is the name of the strategy.
	Strategy string
	// Field is the name of the parameter; "strategy" for an unknown strategy.
	Field string
	// Reason is what is wrong with it.
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("configure strategy %q: %s: %s", e.Strategy, e.Field, e.Reason)
}

// anything is the bound of a number without a bound.
const anything = conf.Anything

// reader reads the parameters of a strategy from a Conf. It keeps the first
// error.
type reader struct {
	*conf.Reader
	strategy string
}

func newReader(strategy string, given Conf) *reader { return &reader{conf.NewReader(given), strategy} }

// end returns the first error, or an error for a field that no call has read.
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
