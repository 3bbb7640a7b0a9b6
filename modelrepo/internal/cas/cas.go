package cas

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Moved reports whether an update or a deletion failed because the document is no
// longer at the revision that was read.
func Moved(err error) bool {
	return errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound)
}

// Pause waits before the next attempt: not at all at first, then for a random time
// that grows to a tenth of a second. It fails when the context ends.
func Pause(ctx context.Context, attempt int) error {
	const free, longest = 3, 100 * time.Millisecond
	if attempt < free {
		return ctx.Err()
	}
	limit := min(longest, time.Millisecond<<min(attempt-free, 7))
	timer := time.NewTimer(rand.N(limit) + 1)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Cleanup returns a context for removing the traces of an operation, which goes on
// for up to five seconds after the operation's own context has ended. Traces that
// remain are removed by the repair of the repository.
func Cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}
