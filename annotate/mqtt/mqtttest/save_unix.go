//go:build unix

package mqtttest

import (
	"os"
	"syscall"
)

// tellToSave sends the signal on which mosquitto writes its state to disk.
func tellToSave(p *os.Process) error { return p.Signal(syscall.SIGUSR1) }
