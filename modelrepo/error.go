package modelrepo

import (
	"errors"
	"fmt"
)

// The refusals of a repository, wrapped in an [*Error]. Match them with [errors.Is].
var (
	// ErrNotFound is returned when there is no such namespace, model, version
	// or content.
	ErrNotFound = errors.New("modelrepo: not found")
	// ErrExists is returned when the name of a new namespace, model or version is
	// taken.
	ErrExists = errors.New("modelrepo: already exists")
	// ErrContentExists is returned by an upload that would overwrite content without
	// permission.
	ErrContentExists = errors.New("modelrepo: content already exists")
	// ErrNotEmpty is returned when a namespace, model or version to delete is not
	// empty.
	ErrNotEmpty = errors.New("modelrepo: not empty")
	// ErrInvalid is returned for names, format tags and values that break the
	// rules.
	ErrInvalid = errors.New("modelrepo: not valid")
	// ErrPrecondition is returned when the content does not meet the [Condition].
	ErrPrecondition = errors.New("modelrepo: precondition failed")
	// ErrDigest is returned when the bytes do not have the announced digest.
	ErrDigest = errors.New("modelrepo: digest mismatch")
	// ErrIncomplete is returned when the content could not be read to its end.
	ErrIncomplete = errors.New("modelrepo: incomplete content")
	// ErrExpired is returned by an upload that received nothing for the grace period,
	// so that its bytes may have been collected.
	ErrExpired = errors.New("modelrepo: upload expired")
	// ErrOffset is returned for a piece that does not begin at the offset of its
	// upload.
	ErrOffset = errors.New("modelrepo: wrong offset")
	// ErrTooLong is returned for a piece that goes beyond the announced length.
	ErrTooLong = errors.New("modelrepo: longer than announced")
	// ErrChecksum is returned for a piece that does not have the announced checksum.
	ErrChecksum = errors.New("modelrepo: checksum mismatch")
	// ErrImmutable is returned when an immutable version would change.
	ErrImmutable = errors.New("modelrepo: immutable")
	// ErrAliased is returned when a version to delete is one that aliases of its model name.
	ErrAliased = errors.New("modelrepo: aliases name the version")
	// ErrTooLarge is returned for content, metadata or documentation that exceed a
	// limit.
	ErrTooLarge = errors.New("modelrepo: too large")
	// ErrDamaged is returned when the bytes of stored content are missing, or do not have
	// its digest. An upload of the same bytes repairs it.
	ErrDamaged = errors.New("modelrepo: damaged content")
	// ErrQuota is returned when a namespace or a model would exceed its [Limits].
	ErrQuota = errors.New("modelrepo: quota exceeded")
)

// Error is a refused operation.
type Error struct {
	// Op is the operation, such as "create model".
	Op string
	// Path is the path of the operation, such as "w3c/sosa".
	Path string
	// Text is the sentence that clients of the REST interface get.
	Text string
	// Err is one of the sentinels of this package, alone or with a cause.
	Err error
}

// Error returns the operation, the path and the reason.
func (e *Error) Error() string { return fmt.Sprintf("%s %q: %v: %s", e.Op, e.Path, e.Err, e.Text) }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// refuse returns an [*Error].
func refuse(op string, at Path, kind error, format string, args ...any) error {
	return &Error{Op: op, Path: at.String(), Text: fmt.Sprintf(format, args...), Err: kind}
}

// failed adds the operation and the path to an error of the storage.
func failed(op string, at Path, cause error) error {
	var known *Error
	if errors.As(cause, &known) {
		return cause
	}
	return fmt.Errorf("%s %q: %w", op, at.String(), cause)
}

// clipped returns the text, or the beginning of a long one.
func clipped(text string) string { return fmt.Sprintf("%.120s", text) }
