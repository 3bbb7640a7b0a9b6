//go:build !unix

package mqtttest

import (
	"errors"
	"os"
)

// tellToSave fails: mosquitto has no way to be told here.
func tellToSave(*os.Process) error { return errors.ErrUnsupported }

// tellToEnd fails likewise.
func tellToEnd(*os.Process) error { return errors.ErrUnsupported }
