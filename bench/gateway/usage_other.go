//go:build !unix

package main

import (
	"errors"
	"time"
)

// ownProcessorTime is known on Unix only.
func ownProcessorTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
