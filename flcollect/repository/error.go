package repository

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of a [Store] and of a [Client], matched with errors.Is.
var (
	// ErrNotFound is returned for a record that does not exist, or has no file.
	ErrNotFound = errors.New("repository: not found")
	// ErrExists is returned for a record whose names are taken.
	ErrExists = errors.New("repository: already exists")
	// ErrTooLarge is returned for a file beyond [Config].MaxFile.
	ErrTooLarge = errors.New("repository: too large")
	// ErrUnavailable is matched by the error of a [Client] whose repository does
	// not answer, or answers that it cannot at the moment.
	ErrUnavailable = errors.New("repository: unavailable")
)

// InvalidError is the error of a record that does not have its form.
type InvalidError struct {
	// Faults has at least one element.
	Faults []Fault
}

// Error implements error.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		at := make([]string, len(f.Loc))
		for k, part := range f.Loc {
			at[k] = fmt.Sprint(part)
		}
		texts[i] = strings.Join(at, ".") + ": " + f.Msg
	}
	return "repository: invalid record: " + strings.Join(texts, "; ")
}

// refusal is an error of the repository with the message of the REST interface.
type refusal struct {
	op, key string
	kind    error
	text    string
}

func (e *refusal) Error() string { return fmt.Sprintf("%s %q: %v", e.op, e.key, e.kind) }

func (e *refusal) Unwrap() error { return e.kind }

// failed puts the verb and the key before a cause.
func failed(op, key string, cause error) error { return fmt.Errorf("%s %q: %w", op, key, cause) }
