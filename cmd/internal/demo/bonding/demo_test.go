package bonding

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
)

// perform plays the demonstration. That nothing is lost is tried where the machine
// is quiet, in test/multilink/namespaces.
func perform(t *testing.T, s *stage) string {
	var out strings.Builder
	require.NoError(t, errors.Join(play(t.Context(), &out, s, 5*time.Millisecond), s.close()), &out)
	t.Log("\n" + out.String())
	require.Contains(t, out.String(), "failover from wifi0 to mesh0")
	require.Contains(t, out.String(), "return from mesh0 to wifi0")
	return out.String()
}

func TestRun_failsOverInMemory(t *testing.T) {
	s, err := memoryStage()
	require.NoError(t, err)
	require.Contains(t, perform(t, s), " 0 twice")
}

func TestRun_failsOverInNamespaces(t *testing.T) {
	s, err := realStage()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) || errors.Is(err, multilink.ErrDenied) {
		t.Skipf("network namespaces take root on Linux: %v", err)
	}
	require.NoError(t, err)
	require.Contains(t, perform(t, s), " 0 twice")
}
