//go:build unix

package kafkatest

import (
	"os"
	"syscall"
)

// askToEnd sends the signal on which Kafka shuts down.
func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
