package kong

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// ErrForbidden is wrapped by the error of a call that Kong refuses for lack of a
// token, or of rights (401, 403).
var ErrForbidden = errors.New("kong: admin API refuses access")

// ErrBusy means that another process is publishing for the same owner. Nothing was
// changed; try again.
var ErrBusy = errors.New("kong: owner is being published by another process")

// ErrAnswer is wrapped by the error of an answer that is not one of Kong's.
var ErrAnswer = errors.New("kong: answer of the admin API cannot be read")

// Error is an answer by which Kong refuses a call. It wraps [entity.ErrInvalid]
// (400), [entity.ErrConflict] (a name or an id that is taken) or [ErrForbidden]
// where it is one.
type Error struct {
	// Do is the operation, such as `create route "things"`.
	Do string
	// Status is the status of HTTP.
	Status int
	// Message is Kong's own, in which the fields are named. It is empty where it
	// would show a secret.
	Message string
	// Violation is Kong's name of the kind of error, such as "schema violation".
	Violation string
}

// Error is a sentence such as `create route "things": Kong answers 400: schema
// violation (paths.1: should start with: /)`.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = http.StatusText(e.Status)
	}
	return fmt.Sprintf("%s: Kong answers %d: %s", e.Do, e.Status, text)
}

// Unwrap returns the sentinels of the error.
func (e *Error) Unwrap() []error {
	switch {
	case e.taken():
		return []error{entity.ErrInvalid, entity.ErrConflict}
	case e.Status == http.StatusBadRequest:
		return []error{entity.ErrInvalid}
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return []error{ErrForbidden}
	}
	return nil
}

// taken reports whether another entity has the id or a unique field.
func (e *Error) taken() bool {
	return e.Status == http.StatusConflict || e.Violation == "primary key violation"
}

// isStatus reports whether an error is an answer with one of the statuses.
func isStatus(err error, statuses ...int) bool {
	var answer *Error
	if !errors.As(err, &answer) {
		return false
	}
	for _, status := range statuses {
		if answer.Status == status {
			return true
		}
	}
	return false
}
