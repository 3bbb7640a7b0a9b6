//go:build !unix

package main

import "time"

// rusage returns the processor time that this process has taken: zero, the
// system does not report it.
func rusage() time.Duration { return 0 }
