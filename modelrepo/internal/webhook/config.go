package webhook

import (
	"cmp"
	"time"
)

// Config configures the calls of callbacks. The zero value is the default.
type Config struct {
	// AllowPrivate permits callbacks at addresses that are not public.
	AllowPrivate bool
	// GiveUp is how long an event is kept for a callback that fails. Zero means
	// 24 hours.
	GiveUp time.Duration
	// Timeout is how long a callback may take to answer. Zero means 10 seconds.
	Timeout time.Duration
	// Retry is the pause after the first failure. It doubles with each further
	// one, up to one hour, less up to a half at random. A process that has just begun
	// waits for at most one minute. Zero means one second.
	Retry time.Duration
	// Poll is how often Run looks for events of other processes. Zero means 5
	// seconds.
	Poll time.Duration
	// MaxQueued is how many events one queue holds. Zero means 10,000.
	MaxQueued int
}

// withDefaults returns the configuration with its defaults.
func (c Config) withDefaults() Config {
	c.GiveUp = cmp.Or(c.GiveUp, 24*time.Hour)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Retry = cmp.Or(c.Retry, time.Second)
	c.Poll = cmp.Or(c.Poll, 5*time.Second)
	c.MaxQueued = cmp.Or(c.MaxQueued, 10_000)
	return c
}
