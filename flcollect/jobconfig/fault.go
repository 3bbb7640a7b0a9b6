package jobconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Error reports the faults of a configuration.
type Error struct {
	// Faults are in the order of the fields, 1 to 100 of them.
	Faults []Fault
}

// Error implements error. It names the first fault and the number of others.
func (e *Error) Error() string {
	if len(e.Faults) == 0 {
		return "read job configuration: invalid"
	}
	text := "read job configuration: " + e.Faults[0].String()
	if more := len(e.Faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Fault is a fault of a configuration and its place.
type Fault struct {
	// Path is the place: names of members and indices of list elements. It is
	// empty for the body itself.
	Path []any
	// Kind is the kind of the fault.
	Kind Kind
	// Bound is the bound that the value exceeds, in decimal; empty for kinds
	// without one.
	Bound string
	// Reason says what is wrong where Kind is [Malformed], [Unknown] or [Invalid].
	Reason string
	// Offset is the character of the body at which it stops being JSON, from 0,
	// where Kind is [Malformed].
	Offset int
}

// String returns the fault as "server_conf.num_rounds: is not a whole number".
func (f Fault) String() string {
	text := f.Reason
	if text == "" {
		text = strings.ReplaceAll(kindTexts[f.Kind], "%", f.Bound)
	}
	if len(f.Path) == 0 {
		return text
	}
	path := make([]string, len(f.Path))
	for i, step := range f.Path {
		path[i] = fmt.Sprint(step)
	}
	return strings.Join(path, ".") + ": " + text
}

// Kind is the kind of a [Fault].
type Kind int

// The kinds of faults.
const (
	Missing        Kind = iota // a required value is not there
	Null                       // a value is null that must not be
	NotObject                  // an object is expected
	NotList                    // a list is expected
	NotText                    // text is expected
	NotInteger                 // a whole number is expected
	NotNumber                  // a number is expected
	NotBool                    // a truth value is expected
	NotScalar                  // text, a number or a truth value is expected
	TooSmall                   // the number is less than Bound
	TooGreat                   // the number is greater than Bound
	TooShort                   // the text has fewer than Bound characters
	TooLong                    // the text has more than Bound characters
	TooFewItems                // the list has fewer than Bound elements
	TooManyItems               // the list has more than Bound elements
	TooManyMembers             // the object has more than Bound members
	Malformed                  // the body is not JSON; Reason and Offset say where
	Unknown                    // the name has no meaning here; Reason says which have
	Invalid                    // the strategy or mechanism refuses the value; Reason says why
)

// kindTexts are the texts of the kinds that have no reason; % is the bound.
var kindTexts = map[Kind]string{
	Missing:        "is required",
	Null:           "must not be null",
	NotObject:      "is not an object",
	NotList:        "is not a list",
	NotText:        "is not text",
	NotInteger:     "is not a whole number",
	NotNumber:      "is not a number",
	NotBool:        "is not a truth value",
	NotScalar:      "is not text, a number or a truth value",
	TooSmall:       "is less than %",
	TooGreat:       "is greater than %",
	TooShort:       "has fewer than % characters",
	TooLong:        "has more than % characters",
	TooFewItems:    "has fewer than % elements",
	TooManyItems:   "has more than % elements",
	TooManyMembers: "has more than % members",
}

// maxFaults bounds the faults that are reported.
const maxFaults = 100

// report adds a fault of a value, unless there are [maxFaults] already.
func (v value) report(f Fault) {
	if len(v.parser.faults) < maxFaults {
		f.Path = slices.Clone(v.path)
		v.parser.faults = append(v.parser.faults, f)
	}
}

// fail reports a fault that needs no bound and no reason.
func (v value) fail(kind Kind) { v.report(Fault{Kind: kind}) }

// exceeds reports a fault with a bound.
func (v value) exceeds(kind Kind, bound string) { v.report(Fault{Kind: kind, Bound: bound}) }

// reject reports a fault with a reason.
func (v value) reject(kind Kind, format string, args ...any) {
	v.report(Fault{Kind: kind, Reason: fmt.Sprintf(format, args...)})
}
