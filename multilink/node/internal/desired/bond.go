package desired

import (
	"time"

	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Bond are the settings of a bond, as they are configured by REST and stored.
type Bond struct {
	Policy   settings.Policy   `json:"policy"`
	Replay   *bool             `json:"replay"`
	Wait     *float64          `json:"wait_to_restore_ms"`
	Reselect settings.Reselect `json:"reselect,omitempty"`
	Bytes    int               `json:"replay_bytes,omitempty"`
	Age      float64           `json:"replay_age_ms,omitempty"`
	Copies   int               `json:"copies,omitempty"`
}

// complete fills in the defaults, so that a reader sees the values in force.
func (b *Bond) complete() {
	if b.Policy == "" {
		b.Policy = settings.ActiveBackup
	}
	if b.Replay == nil {
		replay := true
		b.Replay = &replay
	}
	if b.Wait == nil {
		wait := settings.DefaultWaitToRestore.Seconds() * 1000
		b.Wait = &wait
	}
}

// config returns the plane's form of a complete form.
func (b *Bond) config() (settings.Bond, error) {
	c := settings.Bond{Policy: b.Policy, NoReplay: !*b.Replay, Reselect: b.Reselect, ReplayBytes: b.Bytes, Copies: b.Copies}
	var err error
	if c.WaitToRestore, err = milliseconds("wait_to_restore_ms", *b.Wait); err != nil {
		return c, err
	}
	c.WaitToRestore = max(c.WaitToRestore, time.Nanosecond) // zero means the default there, and no wait here
	if c.ReplayAge, err = milliseconds("replay_age_ms", b.Age); err != nil {
		return c, err
	}
	if err := c.Check(); err != nil {
		return c, &fault.Fault{Kind: fault.Malformed, Detail: err.Error(), Err: err}
	}
	return c, nil
}
