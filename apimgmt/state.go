package apimgmt

import (
	"fmt"
	"slices"
)

// State is where a version of an API is in its life. The package documentation
// says what each means.
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
	if s := State(text); slices.Contains(states(), s) {
		return s, nil
	}
	return "", fmt.Errorf("state %q is none of draft, published, deprecated and sunset", clip(text))
}

func states() []State { return []State{Published, Deprecated, Draft, Sunset} }

// Routed reports whether requests to such a version are served.
func (s State) Routed() bool { return s == Published || s == Deprecated }

// allows reports whether a version may go to another state, or stay.
func (s State) allows(next State) bool {
	switch {
	case s == next:
		return true
	case s == Draft:
		return next == Published
	}
	return next != Draft
}

// clip shortens what a stranger has sent, for a message.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
