package kafkatest

import (
	"errors"
	"os"
)

// askToEnd fails: the system has no such signal.
func askToEnd(*os.Process) error { return errors.ErrUnsupported }
