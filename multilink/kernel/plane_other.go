//go:build !linux

package kernel

import (
	"context"
	"fmt"
	"runtime"

	"github.com/iotenablers/enablers/multilink"
)

// Plane is a [multilink.Plane] of the kernel's own bonding and WireGuard. There
// is none on this system.
type Plane struct{ multilink.Plane }

// Open returns [multilink.ErrUnsupported]: only Linux has such a plane.
func Open(ctx context.Context, config Config) (*Plane, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("open plane %q: %w", config.Name, Available())
}

// Available returns [multilink.ErrUnsupported]: only Linux has such a plane.
func Available() error {
	return fmt.Errorf("a plane of the kernel requires Linux, got %s: %w", runtime.GOOS, multilink.ErrUnsupported)
}
