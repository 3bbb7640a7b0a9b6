package kernel

import (
	"fmt"
	"log/slog"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Config is the configuration of a plane.
type Config struct {
	// Name identifies the plane in its network namespace: a new one removes
	// what another of its name left behind. Same form as a link's. Required.
	Name string
	// Logger takes what is not returned. Nil is silent.
	Logger *slog.Logger
}

func (c Config) check() error {
	if !settings.ValidName(c.Name) {
		return fmt.Errorf("open plane %q: name: must be 1 to 32 letters, digits, '.', '-' or '_': %w", c.Name, multilink.ErrInvalid)
	}
	return nil
}
