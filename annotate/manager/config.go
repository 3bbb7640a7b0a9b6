package manager

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/fleet"
	"github.com/iotenablers/enablers/storage"
)

// Config is what a [Manager] needs.
type Config struct {
	// Environment is what the channels share; its Drivers are required. With
	// Shared its Instance is required too, and its Permit is the Manager's.
	annotate.Environment
	// Documents keeps channels and annotations. Nil means standalone mode:
	// nothing is kept, and there are no annotations.
	Documents storage.Documents
	// Secret encrypts stored user names and passwords; 32 bytes. Empty means
	// that they are stored in clear.
	Secret string
	// RestoreStopped restores every stored channel as stopped. Otherwise a
	// channel is restored in its state. Where instances share the storage it
	// applies to the first instance that starts, and not to those that join it.
	RestoreStopped bool
	// MaxShutdown is how long stopping all channels, or one, may take. Zero
	// means 20 seconds.
	MaxShutdown time.Duration
	// RetryMin and RetryMax bound the pause before a channel that should run
	// and does not is started again; the pause doubles each time. Zero means 1
	// second and 1 minute.
	RetryMin, RetryMax time.Duration
	// Shared means that other instances use the same Documents at the same time,
	// each under its own Environment.Instance, and that each channel is to run on
	// one of them. Without it the storage is this Manager's alone, and it runs all
	// channels.
	Shared bool
	// LeaseDuration is the time without a renewal of its lease after which other
	// instances take over the channels of an instance. A lease is renewed six times
	// in that time, and those of the others are read eight times. An instance that
	// cannot reach the storage stops its channels after two thirds of it, if there
	// are others: a storage whose answers take less than a third of it is fast enough.
	// Only with Shared; from [MinLease] to [MaxLease], zero means 10 seconds.
	LeaseDuration time.Duration
	// PollInterval is the time between two reads of the channels for changes of
	// other instances. Only with Shared; zero means 2 seconds.
	PollInterval time.Duration
}

// filled returns the configuration with its defaults, or an error that names an invalid
// field.
func (c Config) filled() (Config, error) {
	c, err := c.filledSharing()
	if err != nil {
		return c, err
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"MaxShutdown", c.MaxShutdown}, {"RetryMin", c.RetryMin}, {"RetryMax", c.RetryMax},
		{"LeaseDuration", c.LeaseDuration}, {"PollInterval", c.PollInterval},
	} {
		if field.value < 0 {
			return c, fmt.Errorf("manager: Config.%s: must not be negative, got %v", field.name, field.value)
		}
	}
	c.MaxShutdown = cmp.Or(c.MaxShutdown, 20*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, time.Second)
	c.RetryMax = max(cmp.Or(c.RetryMax, time.Minute), c.RetryMin)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// The bounds of Config.LeaseDuration.
const (
	MinLease = time.Second
	MaxLease = fleet.MaxDuration
)

// maxInstance is the greatest length of an instance's name in bytes.
const maxInstance = 200

// CheckInstance returns an error for a name that an instance cannot have with Config.Shared.
func CheckInstance(name string) error {
	if err := storage.ValidKey(name); err != nil || len(name) > maxInstance {
		return fmt.Errorf(
			"manager: Environment.Instance: expected at most %d bytes of UTF-8 text without control characters, got %.*q",
			maxInstance, maxInstance, name)
	}
	return nil
}

// filledSharing fills in the fields about several instances.
func (c Config) filledSharing() (Config, error) {
	if !c.Shared {
		return c, nil
	}
	if c.Instance == "" {
		return c, errors.New("manager: Environment.Instance: required with Config.Shared, and different for each instance")
	}
	if err := CheckInstance(c.Instance); err != nil {
		return c, err
	}
	c.LeaseDuration = cmp.Or(c.LeaseDuration, 10*time.Second)
	c.PollInterval = cmp.Or(c.PollInterval, 2*time.Second)
	if c.LeaseDuration < MinLease || c.LeaseDuration > MaxLease {
		return c, fmt.Errorf("manager: Config.LeaseDuration: expected %v to %v, got %v", MinLease, MaxLease, c.LeaseDuration)
	}
	return c, nil
}
