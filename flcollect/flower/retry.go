package flower

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/iotenablers/enablers/internal/retry"
)

// The first and the longest pause of a client before it joins again.
const (
	firstRetry = 250 * time.Millisecond
	mostRetry  = 10 * time.Second
)

// patience decides whether a client joins again after a failure.
type patience struct {
	most   time.Duration // of failures in sequence
	since  time.Time     // when the failures began; zero if the last session worked
	pauses retry.Backoff
}

// reset begins anew: the session works.
func (r *patience) reset() {
	r.since = time.Time{}
	r.pauses.Reset()
}

// after returns the pause after a failure; 0 if the client ends. Up to half of each pause is
// left out at random.
func (r *patience) after(err error) time.Duration {
	var final *finalError
	if r.most <= 0 || errors.As(err, &final) || errors.Is(err, ErrUnfit) {
		return 0
	}
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument, codes.Unimplemented, codes.AlreadyExists,
		codes.FailedPrecondition:
		return 0
	}
	if r.since.IsZero() {
		r.since = time.Now()
	}
	if time.Since(r.since) > r.most {
		return 0
	}
	return r.pauses.Next()
}

// finalError is an error of the trainer, which no repetition helps.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }
