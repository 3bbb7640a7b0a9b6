package namespaces

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// spinVariable has the test binary be a busy loop.
const spinVariable = "NAMESPACES_TEST_SPIN"

// spin takes a core until the standard input ends. It prints the longest time for which the system has kept it from
// running: the measure of what any other process may have met meanwhile.
func spin() {
	runtime.GOMAXPROCS(1)
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	var longest time.Duration
	for last := time.Now(); !over.Load(); {
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	fmt.Println(int64(longest))
}

// busyLoop is a process that takes a core.
type busyLoop struct {
	t       *testing.T
	command *exec.Cmd
	input   io.Closer
	output  strings.Builder
}

func spinning(t *testing.T) *busyLoop {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	b := &busyLoop{t: t, command: exec.CommandContext(t.Context(), self)}
	b.command.Env = append(os.Environ(), spinVariable+"=1")
	b.command.Stdout = &b.output
	b.input, err = b.command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, b.command.Start())
	return b
}

// end ends the process and returns for how long it was stopped at most.
func (b *busyLoop) end() time.Duration {
	b.t.Helper()
	require.NoError(b.t, b.input.Close())
	require.NoError(b.t, b.command.Wait())
	longest, err := strconv.ParseInt(strings.TrimSpace(b.output.String()), 10, 64)
	require.NoError(b.t, err, b.output.String())
	return time.Duration(longest)
}
