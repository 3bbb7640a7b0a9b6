package cli

import "errors"

// The exit statuses of commands.
const (
	statusFailed = 1
	statusUsage  = 2
)

// usageError is an error of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as one of the command line, or of another setting. The text stays.
// Nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// Status returns the exit status of a command that ends with the error: 0 without one, 2 if
// [Usage] has marked it, and otherwise 1.
func Status(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return statusUsage
	}
	return statusFailed
}
