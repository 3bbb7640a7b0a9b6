package bonding

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/multilink"
)

// away reports whether both ends have left the primary link, as the output says.
func away(output string) bool {
	for _, side := range []string{"  client: ", "  server: "} {
		last := strings.LastIndex(output, side)
		if last < 0 {
			return false
		}
		if event, _, _ := strings.Cut(output[last:], "\n"); strings.Contains(event, " to wifi0 ") {
			return false
		}
	}
	return true
}

// perform plays the demonstration. That nothing is lost is tried where the machine
// is quiet, in test/multilink/namespaces.
func perform(t *testing.T, s *testbed) string {
	var out servertest.Log
	cut := s.cut
	s.cut = func(link string) error { // the outage begins when it is noticed
		err := cut(link)
		require.Eventually(t, func() bool { return away(out.String()) }, patience, 10*time.Millisecond, &out)
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := Config{Listener: listener, Output: &out}
	const while = 200 * time.Millisecond
	err = play(t.Context(), config, s, script{calm: while, outage: while, every: 5 * time.Millisecond, rounds: 2})
	require.NoError(t, errors.Join(err, s.close()), &out)
	require.True(t, strings.HasPrefix(out.String(), "listening on http://"+listener.Addr().String()+"\n"), &out)
	require.Equal(t, 2, strings.Count(out.String(), "what a user noticed of it: "), &out)
	t.Log("\n" + out.String())
	require.Contains(t, out.String(), "failover from wifi0 to mesh0")
	require.Contains(t, out.String(), "return from mesh0 to wifi0")
	return out.String()
}

func TestRun_failsOverInMemory(t *testing.T) {
	t.Parallel()
	s, err := memoryTestbed()
	require.NoError(t, err)
	require.Contains(t, perform(t, s), " 0 twice")
}

func TestRun_failsOverInNamespaces(t *testing.T) {
	t.Parallel()
	s, err := namespaceTestbed(t.Context())
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) || errors.Is(err, multilink.ErrDenied) {
		t.Skipf("network namespaces take root on Linux: %v", err)
	}
	require.NoError(t, err)
	require.Contains(t, perform(t, s), " 0 twice")
}

func TestRun_runsUntilInterrupted(t *testing.T) {
	t.Parallel()
	s, err := memoryTestbed()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out servertest.Log
	played := make(chan error, 1)
	go func() {
		played <- play(ctx, Config{Listener: listener, Output: &out}, s, script{calm: time.Hour, every: 5 * time.Millisecond})
	}()
	out.Await(t, "connected; the client sends a packet")
	interrupt()
	require.NoError(t, errors.Join(<-played, s.close()), &out)
	require.Contains(t, out.String(), "Ctrl-C ends it")
	require.Regexp(t, "ended\n$", out.String())
}
