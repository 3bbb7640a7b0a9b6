package settings

import (
	"fmt"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/fault"
)

// Reselect says when a bond leaves a usable link for another one. The names
// and meanings are those of Linux's bonding.
type Reselect string

// When to leave a usable link.
const (
	ReselectAlways  Reselect = "always"  // for any of smaller priority number
	ReselectBetter  Reselect = "better"  // for one that is also no slower
	ReselectFailure Reselect = "failure" // only when it fails
)

// The defaults and bounds of [Bond].WaitToRestore.
const (
	DefaultWaitToRestore = 500 * time.Millisecond
	RelapseSpan          = time.Minute // between failures that double the wait
	MaxRelapses          = 5           // that double it: 32 times
)

// Bond says how a bond chooses its links and repairs losses. The zero value is the default: active
// backup with replay.
type Bond struct {
	// Policy of frames whose class names none. Empty is ActiveBackup.
	Policy Policy
	// NoReplay forgets frames once they are sent. A failover then loses what
	// was under way.
	NoReplay bool
	// WaitToRestore is how long a link must be good before it is used again.
	// Zero is 500 ms. It doubles with every relapse within a minute, up to 32
	// times.
	WaitToRestore time.Duration
	// Reselect is when a usable link is left for a better one. Empty is
	// ReselectAlways.
	Reselect Reselect
	// ReplayBytes and ReplayAge bound what is kept for sending again, for each
	// peer. Zero is 8 MiB and 500 ms. What is acknowledged leaves at once, so
	// that much is kept only through an outage.
	ReplayBytes int
	ReplayAge   time.Duration
	// Copies is how many links Redundant uses at most. Zero is all.
	Copies int
}

// Check reports the first field of c that is not allowed. It wraps ErrInvalid.
func (c Bond) Check() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("bond: %s: %s: %w", field, fmt.Sprintf(format, args...), fault.ErrInvalid)
	}
	switch {
	case c.Policy != "" && !c.Policy.Valid():
		return bad("policy", "must be one of %v, got %q", Policies(), c.Policy)
	case c.Reselect != "" && c.Reselect != ReselectAlways && c.Reselect != ReselectBetter && c.Reselect != ReselectFailure:
		return bad("reselect", "must be always, better or failure, got %q", c.Reselect)
	case c.WaitToRestore < 0 || c.WaitToRestore > time.Hour:
		return bad("wait_to_restore", "must be 0 to 1h, got %v", c.WaitToRestore)
	case c.ReplayBytes < 0 || c.ReplayBytes > 1<<30:
		return bad("replay_bytes", "must be 0 to 1 GiB, got %d", c.ReplayBytes)
	case c.ReplayAge < 0 || c.ReplayAge > 10*time.Second:
		return bad("replay_age", "must be 0 to 10s, got %v", c.ReplayAge)
	case c.Copies < 0:
		return bad("copies", "must be 0 or more, got %d", c.Copies)
	}
	return nil
}
