// Package publiccontext describes the public TenSEAL contexts that a training collector stores
// for its jobs, and limits their replacement.
package publiccontext

import (
	"errors"
	"slices"
	"time"
)

// Errors of public contexts.
var (
	// ErrNotFound is returned where no public context is stored for a job.
	ErrNotFound = errors.New("flcollect: there is no public context for the job")
	// ErrCondition is returned where the stored context is not one that a [Condition] allows
	// to be replaced or deleted.
	ErrCondition = errors.New("flcollect: the stored context is another one")
	// ErrMismatch is matched by the error of a context that does not fit the job that is being
	// trained. It names the parameters of both.
	ErrMismatch = errors.New("flcollect: the context does not fit the job")
	// ErrTooLarge is returned for a context beyond the limit of the server.
	ErrTooLarge = errors.New("flcollect: the context is too large")
)

// Info describes the public TenSEAL context that is stored for a job. Clients load it;
// the server itself needs none, because encrypted updates describe themselves.
type Info struct {
	// SHA256 is the digest of the serialised context in lower-case hex, and Size
	// its length in bytes.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Stored is when it was stored.
	Stored time.Time `json:"stored"`
}

// Condition limits a change to a stored context with certain digests. The zero value
// allows every change. The texts are digests, or "*" for any context.
type Condition struct {
	// Match holds if one of them is stored, NoneMatch if none of them is. Empty
	// lists hold always.
	Match, NoneMatch []string
}

// Holds reports whether the condition allows a change to a stored context. The digest
// is empty if no context is stored.
func (c Condition) Holds(digest string) bool {
	among := func(list []string) bool {
		return digest != "" && (slices.Contains(list, digest) || slices.Contains(list, "*"))
	}
	return (len(c.Match) == 0 || among(c.Match)) && !among(c.NoneMatch)
}
