package webhook

import (
	"math/rand/v2"
	"time"
)

const longestRetry = time.Hour

// backoff returns the pause after a failure that followed a number of others: twice as
// long each time, up to longestRetry, less a random part of up to half.
func backoff(first time.Duration, failures int) time.Duration {
	pause := longestRetry
	if failures < 30 && first<<failures > 0 {
		pause = min(pause, first<<failures)
	}
	return pause - rand.N(pause/2+1)
}
