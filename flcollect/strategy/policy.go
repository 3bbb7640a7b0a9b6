package strategy

import "fmt"

// Phase is a part of a round.
type Phase int

// The phases of a round.
const (
	Fit      Phase = iota // clients train the model
	Evaluate              // clients measure the model
)

// String returns "fit" or "evaluate".
func (p Phase) String() string {
	if p == Evaluate {
		return "evaluate"
	}
	return "fit"
}

// Rule is the rule of a phase for sampling and failures.
type Rule struct {
	// Fraction of the connected clients that is sampled, 0 to 1.
	Fraction float64
	// MinClients is the least number that is sampled.
	MinClients int
	// MinCompletion is the least share of results among results and failures for
	// the phase to count, 0 to 1.
	MinCompletion float64
	// RefuseFailures makes a phase with any failure not count.
	RefuseFailures bool
	// Rate, above 0, draws each connected client independently of the others with this
	// probability (Poisson sampling), in place of Fraction and MinClients. A draw without
	// any client counts, and its aggregation is finished without an update.
	Rate float64
}

// Policy is the rules of a job for sampling clients and for failures.
type Policy struct {
	// MinAvailable is how many clients must be connected before any sample.
	MinAvailable int
	// Fit and Evaluate are the rules of the phases.
	Fit, Evaluate Rule
}

// rule returns the rule of a phase.
func (p Policy) rule(phase Phase) Rule {
	if phase == Evaluate {
		return p.Evaluate
	}
	return p.Fit
}

// Sample returns how many of the connected clients take part in a phase: the
// fraction rounded down, at least the minimum. The clients are drawn uniformly,
// without repetition, once Policy.MinAvailable are connected; if fewer are
// connected than Sample returns, the job has to wait. It is 0 for an evaluation
// with the fraction 0, which does not take place. It does not describe a phase whose
// rule has a Rate.
func (p Policy) Sample(phase Phase, available int) int {
	r := p.rule(phase)
	if phase == Evaluate && r.Fraction == 0 {
		return 0
	}
	return max(int(float64(available)*r.Fraction), r.MinClients)
}

// Accept returns nil if a phase with these numbers of results and failures
// counts, and otherwise an error that matches [ErrTooFew] and has the reason.
// Quarantined updates are failures.
func (p Policy) Accept(phase Phase, results, failures int) error {
	r := p.rule(phase)
	switch {
	case results == 0 && failures == 0 && r.Rate > 0:
		return nil
	case results == 0:
		return fmt.Errorf("%w: %v has no results, %d failures", ErrTooFew, phase, failures)
	case r.RefuseFailures && failures > 0:
		return fmt.Errorf("%w: %v has %d failures, accept_failures is false", ErrTooFew, phase, failures)
	case float64(results)/float64(results+failures) < r.MinCompletion:
		return fmt.Errorf("%w: %v has %d results of %d, min_completion_rate_%v is %v",
			ErrTooFew, phase, results, results+failures, phase, r.MinCompletion)
	}
	return nil
}
