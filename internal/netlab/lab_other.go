//go:build !linux

package netlab

import (
	"errors"
	"fmt"
)

// Lab is there on Linux only.
type Lab struct{}

func unsupported() error { return fmt.Errorf("create network namespace: %w", errors.ErrUnsupported) }

// New returns errors.ErrUnsupported.
func New(...string) (*Lab, error) { return nil, unsupported() }

// Pass returns errors.ErrUnsupported.
func (*Lab) Pass(string, Side, bool) error { return unsupported() }

// Cut returns errors.ErrUnsupported.
func (*Lab) Cut(string) error { return unsupported() }

// Restore returns errors.ErrUnsupported.
func (*Lab) Restore(string) error { return unsupported() }

// Carrier returns errors.ErrUnsupported.
func (*Lab) Carrier(string, Side, bool) error { return unsupported() }

// In returns errors.ErrUnsupported.
func (*Lab) In(Side, func() error) error { return unsupported() }

// Path is empty.
func (*Lab) Path(Side) string { return "" }

// Close does nothing.
func (*Lab) Close() error { return nil }
