package modelrepo

import (
	"errors"
	"fmt"
)

// What a repository refuses, wrapped in an [*Error]. Match with [errors.Is].
var (
	// ErrNotFound is returned when there is no such namespace, model, version
	// or content.
	ErrNotFound = errors.New("modelrepo: not found")
	// ErrExists is returned when the name of a new one is taken.
	ErrExists = errors.New("modelrepo: already exists")
	// ErrContentExists is returned by an upload that would overwrite and was
	// not allowed to.
	ErrContentExists = errors.New("modelrepo: content already exists")
	// ErrNotEmpty is returned when what is to be deleted holds something.
	ErrNotEmpty = errors.New("modelrepo: not empty")
	// ErrInvalid is returned for names, format tags and values that break the
	// rules.
	ErrInvalid = errors.New("modelrepo: not valid")
	// ErrPrecondition is returned when the content is not the one that the
	// caller named.
	ErrPrecondition = errors.New("modelrepo: precondition failed")
	// ErrDigest is returned when the bytes do not have the announced digest.
	ErrDigest = errors.New("modelrepo: digest mismatch")
	// ErrIncomplete is returned when the content could not be read to its end.
	ErrIncomplete = errors.New("modelrepo: incomplete content")
	// ErrExpired is returned by an upload that did not move for longer than
	// the grace period, so that what it had uploaded may have been collected.
	ErrExpired = errors.New("modelrepo: upload expired")
	// ErrOffset is returned for a piece of an upload that does not begin where
	// the ones before it end.
	ErrOffset = errors.New("modelrepo: wrong offset")
	// ErrTooLong is returned for a piece of an upload that goes on behind the
	// announced end of the content.
	ErrTooLong = errors.New("modelrepo: longer than announced")
	// ErrChecksum is returned for a piece of an upload that does not have the
	// announced checksum.
	ErrChecksum = errors.New("modelrepo: checksum mismatch")
	// ErrImmutable is returned when an immutable version would change.
	ErrImmutable = errors.New("modelrepo: immutable")
	// ErrTooLarge is returned for content or metadata that are larger than
	// [Limits] allow, and for documentation of too many files or bytes.
	ErrTooLarge = errors.New("modelrepo: too large")
	// ErrQuota is returned when a namespace or a model holds as much as
	// [Limits] allow.
	ErrQuota = errors.New("modelrepo: quota exceeded")
)

// Error is a refusal.
type Error struct {
	// Op is what was to be done, such as "create model".
	Op string
	// Path is where, such as "w3c/sosa".
	Path string
	// Text is a sentence for people, as clients of the REST interface get it.
	Text string
	// Err is one of the sentinels of this package, alone or with a cause.
	Err error
}

// Error returns the operation, the path and the reason.
func (e *Error) Error() string { return fmt.Sprintf("%s %q: %v: %s", e.Op, e.Path, e.Err, e.Text) }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// refuse returns an *Error about a place.
func refuse(op string, at Path, kind error, format string, args ...any) error {
	return &Error{Op: op, Path: at.String(), Text: fmt.Sprintf(format, args...), Err: kind}
}

// failed puts the operation and the place before an error of the store.
func failed(op string, at Path, cause error) error {
	var known *Error
	if errors.As(cause, &known) {
		return cause
	}
	return fmt.Errorf("%s %q: %w", op, at.String(), cause)
}

// clipped returns the text, or the beginning of a long one.
func clipped(text string) string { return fmt.Sprintf("%.120s", text) }
