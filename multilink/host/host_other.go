//go:build !linux

package host

import (
	"context"
	"fmt"
	"runtime"

	"github.com/iotenablers/enablers/multilink"
)

// Host is a [multilink.Host] on Linux. [Open] creates it. Elsewhere there is none.
type Host struct{}

// Port is a [multilink.FramePort] at a TAP device. [Host.Port] creates it.
type Port struct{}

// Open returns ErrUnsupported: this is not Linux.
func Open(ctx context.Context, options *Options) (*Host, error) {
	if _, err := options.complete(); err != nil {
		return nil, err
	}
	return nil, unsupported()
}

func unsupported() error {
	return fmt.Errorf("open host: %s is not supported: %w", runtime.GOOS, multilink.ErrUnsupported)
}

// In returns ErrUnsupported.
func (h *Host) In(func() error) error { return unsupported() }

// Port returns ErrUnsupported.
func (h *Host) Port(context.Context, multilink.PortConfig) (multilink.FramePort, error) {
	return nil, unsupported()
}

// Link returns ErrUnsupported.
func (h *Host) Link(context.Context, string) (multilink.Link, error) { return nil, unsupported() }

// Links returns ErrUnsupported.
func (h *Host) Links(context.Context) ([]multilink.LinkInfo, error) { return nil, unsupported() }

// Underlay returns ErrUnsupported.
func (h *Host) Underlay(context.Context, multilink.UnderlayConfig) (multilink.Underlay, error) {
	return nil, unsupported()
}

// Close returns nil.
func (h *Host) Close() error { return nil }

// Read returns ErrUnsupported.
func (p *Port) Read(*multilink.Batch) error { return unsupported() }

// Write returns ErrUnsupported.
func (p *Port) Write([][]byte) error { return unsupported() }

// MTU returns zero.
func (p *Port) MTU() int { return 0 }

// Offload reports false.
func (p *Port) Offload() bool { return false }

// Dropped returns zero.
func (p *Port) Dropped() uint64 { return 0 }

// Close returns nil.
func (p *Port) Close() error { return nil }
