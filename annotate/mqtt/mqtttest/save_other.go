//go:build !unix

package mqtttest

import (
	"errors"
	"os"
)

// tellToSave fails: the system has no such signal.
func tellToSave(*os.Process) error { return errors.ErrUnsupported }
