package flower

import (
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The first and the longest pause of a client before it joins again.
const (
	firstRetry = 250 * time.Millisecond
	mostRetry  = 10 * time.Second
)

// retry decides whether a client joins again after a failure.
type retry struct {
	patience time.Duration
	since    time.Time // when the failures began; zero if the last session worked
	pause    time.Duration
}

// reset begins anew: the session works.
func (r *retry) reset() { r.since, r.pause = time.Time{}, 0 }

// after returns the pause after a failure; 0 if the client ends. Up to half of each pause is
// left out at random, so that clients do not come in step.
func (r *retry) after(err error) time.Duration {
	var final *finalError
	if r.patience <= 0 || errors.As(err, &final) || errors.Is(err, ErrUnfit) {
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
	if time.Since(r.since) > r.patience {
		return 0
	}
	r.pause = min(max(2*r.pause, firstRetry), mostRetry)
	return r.pause/2 + rand.N(r.pause/2)
}

// finalError is an error of the trainer, which no repetition helps.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }
