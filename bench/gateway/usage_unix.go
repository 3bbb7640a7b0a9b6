//go:build unix

package main

import (
	"syscall"
	"time"
)

// ownProcessorTime returns what this process has used, without its children.
func ownProcessorTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
