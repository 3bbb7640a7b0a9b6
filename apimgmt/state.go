package apimgmt

import (
	"fmt"
	"slices"
)

// State is the state of a version of an API. The package documentation describes each.
type State string

// The states.
const (
	Draft      State = "draft"
	Published  State = "published"
	Deprecated State = "deprecated"
	Sunset     State = "sunset"
)

// ParseState reads the name of a state.
func ParseState(text string) (State, error) {
	s := State(text)
	if err := s.check(); err != nil {
		return "", err
	}
	return s, nil
}

// check returns what is wrong with a state that a caller has given.
func (s State) check() error {
	if slices.Contains(states(), s) {
		return nil
	}
	return fmt.Errorf("state %q is not one of draft, published, deprecated and sunset", clip(string(s)))
}

// states are all states, in the order in which their versions stand for an enabler.
func states() []State { return []State{Published, Deprecated, Draft, Sunset} }

// Routed reports whether requests to such a version are served.
func (s State) Routed() bool { return s == Published || s == Deprecated }

// Next returns the states that a version can be brought into from this one.
func (s State) Next() []State {
	if s == Draft {
		return []State{Published}
	}
	return slices.DeleteFunc([]State{Published, Deprecated, Sunset}, func(next State) bool { return next == s })
}

// allows reports whether a version may go to another state, or stay.
func (s State) allows(next State) bool { return s == next || slices.Contains(s.Next(), next) }
