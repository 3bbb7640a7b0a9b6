package persist

import (
	"time"

	"github.com/iotenablers/enablers/internal/retry"
)

// Pauses returns the pauses between attempts of one caller.
func Pauses() retry.Backoff { return retry.Backoff{Least: 250 * time.Millisecond, Most: time.Minute} }
