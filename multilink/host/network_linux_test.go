package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"

	"github.com/iotenablers/enablers/multilink/host"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// network is a network namespace of a test's own.
type network struct {
	t    testing.TB
	path string
}

// newNetwork creates a namespace. Without the right to, the test is skipped.
func newNetwork(t testing.TB) *network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and TAP devices")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip("needs /dev/net/tun: ", err)
	}
	runtime.LockOSThread()
	origin, err := netns.Get()
	require.NoError(t, err)
	defer origin.Close()
	made, err := netns.New()
	if err != nil {
		runtime.UnlockOSThread()
		t.Skip("needs the right to make network namespaces: ", err)
	}
	require.NoError(t, netns.Set(origin))
	runtime.UnlockOSThread()
	t.Cleanup(func() { require.NoError(t, made.Close()) })
	n := &network{t, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), int(made))}
	n.run("ip link set lo up")
	return n
}

// run runs commands within the namespace and returns what they print.
func (n *network) run(commands ...string) string {
	n.t.Helper()
	var printed strings.Builder
	for _, command := range commands {
		out, err := n.try(command)
		require.NoError(n.t, err, "%s: %s", command, out)
		printed.WriteString(out)
	}
	return printed.String()
}

// try runs one command that may fail.
func (n *network) try(command string) (string, error) {
	c := exec.CommandContext(n.t.Context(), "nsenter", append([]string{"--net=" + n.path}, strings.Fields(command)...)...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// host creates a host in the namespace, which is closed with the test.
func (n *network) host(options host.Options) *host.Host {
	n.t.Helper()
	options.Namespace = n.path
	h, err := host.Open(context.Background(), &options)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { require.NoError(n.t, h.Close()) })
	return h
}

// journal returns the path of a journal that does not exist yet.
func journal(t *testing.T) string { return filepath.Join(t.TempDir(), "journal") }
