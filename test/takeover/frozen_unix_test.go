//go:build unix

package takeover_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/test/interop"
)

// An annotator that stood still for longer than its lease, as on a machine that was suspended,
// finds its channels at others when it goes on, and publishes nothing beside them.
func TestAnnotator_threeOnOneStore_frozenUnderLoad(t *testing.T) {
	send := func(signal syscall.Signal) func(*interop.Server) {
		return func(s *interop.Server) { require.NoError(t, syscall.Kill(s.Pid(), signal)) }
	}
	underLoad(t, mosquitto(mqtttest.StartMosquitto(t)), send(syscall.SIGSTOP), send(syscall.SIGCONT))
}
