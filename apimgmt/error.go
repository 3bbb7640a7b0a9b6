package apimgmt

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Errors that an [Error] is of. Match them with [errors.Is].
var (
	// ErrNotFound means that there is no such enabler or version.
	ErrNotFound = errors.New("apimgmt: not found")
	// ErrInvalid means that a definition or an argument is at fault.
	ErrInvalid = errors.New("apimgmt: invalid")
	// ErrTooLarge means that something is larger than a limit.
	ErrTooLarge = errors.New("apimgmt: too large")
	// ErrConflict means that another enabler, or an entity that is in the gateway by hand,
	// has the route or the name.
	ErrConflict = errors.New("apimgmt: conflict")
	// ErrState means that a version cannot go from its state to the new one.
	ErrState = errors.New("apimgmt: wrong state")
	// ErrPrecondition means that the record is not the one that the caller has seen.
	ErrPrecondition = errors.New("apimgmt: precondition failed")
	// ErrGateway means that the gateway failed, and that the catalogue has not
	// changed.
	ErrGateway = errors.New("apimgmt: gateway failed")
	// ErrUnknown means that the storage failed during a change: the change is going to be
	// committed or rolled back, and a later read shows which.
	ErrUnknown = errors.New("apimgmt: outcome unknown")
)

// Error is a refusal. Its text has no secrets.
type Error struct {
	// Op is the operation, and Key its subject.
	Op, Key string
	// Kind is one of the sentinels.
	Kind error
	// Text is the reason, for the caller.
	Text string
	// Field is the argument at fault, if the kind is ErrInvalid and it is known which:
	// "enabler", "description", "state", "server", "path", or "definition" for the file.
	Field string
	// Conflicts are the routes in common with others, if the kind is ErrConflict.
	Conflicts []Conflict
	// SuggestedPath is an [Upload].Path of which it is likely that it has no conflict, if
	// there are Conflicts.
	SuggestedPath string
	// Cause is the error below it, for the log. It may be nil.
	Cause error
}

// Error is a sentence such as `publish "weather": the gateway failed`.
func (e *Error) Error() string { return fmt.Sprintf("%s %q: %s", e.Op, e.Key, e.Text) }

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// Conflict is a route in common with another enabler or with the gateway's own.
type Conflict struct {
	// Route is the new route, Path its path that Other has too.
	Route string `json:"route"`
	Path  string `json:"path"`
	// Other is the existing route, and Enabler the enabler that it belongs to; empty
	// means that it was put into the gateway without a definition.
	Other   string `json:"other"`
	Enabler string `json:"enabler,omitempty"`
}

// String describes the conflict in a sentence.
func (c Conflict) String() string {
	whose := "of the gateway"
	if c.Enabler != "" {
		whose = fmt.Sprintf("of enabler %q", c.Enabler)
	}
	return fmt.Sprintf("route %q and route %q %s both match %q", c.Route, c.Other, whose, c.Path)
}

func notFound(op, key, text string) error {
	return &Error{Op: op, Key: key, Kind: ErrNotFound, Text: text}
}

// invalid refuses an argument. field may be empty; see [Error.Field].
func invalid(op, key, field string, err error) *Error {
	return &Error{Op: op, Key: key, Kind: ErrInvalid, Text: err.Error(), Field: field, Cause: err}
}

// refused is the error of a change that the gateway refuses, or fails to make.
func refused(op, key string, err error) error {
	switch {
	case errors.Is(err, entity.ErrConflict):
		return &Error{Op: op, Key: key, Kind: ErrConflict, Text: err.Error(), Cause: err}
	case errors.Is(err, entity.ErrInvalid):
		return &Error{Op: op, Key: key, Kind: ErrInvalid, Text: err.Error(), Cause: err}
	}
	return &Error{Op: op, Key: key, Kind: ErrGateway, Text: "the gateway failed, nothing has changed", Cause: err}
}

func unknown(op, key string, err error) error {
	return &Error{Op: op, Key: key, Kind: ErrUnknown, Cause: err,
		Text: "the storage failed half-way; the change is going to be finished or taken back"}
}
