package peertest_test

import (
	"context"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

// shell starts a script, which is killed at the end of the test.
func shell(t *testing.T, script string) *peertest.Process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no shell of this kind")
	}
	p, err := peertest.Start(exec.Command("sh", "-c", script))
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func TestProcess_FindLine_waitsForAWholeLine(t *testing.T) {
	p := shell(t, "echo before; echo 'listening on here'; exec sleep 600")
	rest, err := p.FindLine(t.Context(), "listening on ")
	require.NoError(t, err)
	require.Equal(t, "here", rest)
	require.Equal(t, "before\nlistening on here\n", p.Output())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.FindLine(ctx, "before the end")
	require.ErrorIs(t, err, context.Canceled)
	p.Kill()
	<-p.Ended()
	p.Kill() // does nothing
}

func TestProcess_FindLine_reportsTheEndOfTheProcess(t *testing.T) {
	p := shell(t, "printf 'listening on'")
	_, err := p.FindLine(t.Context(), "listening on")
	require.ErrorIs(t, err, peertest.ErrEnded, "no line feed came")
	require.EqualError(t, err, `wait for "listening on": the process has ended`)
	require.Equal(t, "listening on", p.Output())
}

func TestStart_reportsAMissingProgram(t *testing.T) {
	_, err := peertest.Start(exec.Command("/there/is/none"))
	require.Error(t, err)
}

func TestPeer_Program_endsWithItsContext(t *testing.T) {
	peer := hello(t, `"never"`)
	t.Setenv(peertest.RequirePeers, "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := peer.Program(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
