package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// errand is what a child process of the test is to do.
type errand struct {
	Namespace, Journal string
	Port               multilink.PortConfig
}

const errandVariable = "HOST_TEST_ERRAND"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	text, child := os.LookupEnv(errandVariable)
	if !child {
		os.Exit(m.Run())
	}
	fmt.Println(runErrand(text))
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or the test ends
}

func runErrand(text string) string {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err.Error()
	}
	h, err := host.Open(context.Background(), &host.Options{Namespace: e.Namespace, Journal: e.Journal})
	if err != nil {
		return err.Error()
	}
	if e.Port.Name == "" {
		return "ready"
	}
	if _, err = h.Port(context.Background(), e.Port); err != nil {
		return err.Error()
	}
	return "ready"
}

// send has a child process do an errand. attributes may be nil.
func send(t *testing.T, e errand, attributes *syscall.SysProcAttr) (child *exec.Cmd, says string) {
	t.Helper()
	text, err := json.Marshal(e)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	child = exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), errandVariable+"="+string(text))
	child.SysProcAttr = attributes
	_, err = child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	says, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return child, strings.TrimSpace(says)
}

// kill ends a child at once, as nothing in it can notice.
func kill(t *testing.T, child *exec.Cmd) {
	t.Helper()
	require.NoError(t, child.Process.Signal(syscall.SIGKILL))
	var exit *exec.ExitError
	require.True(t, errors.As(child.Wait(), &exit))
}

func TestOpen_removesTheLeftoversOfAKilledHost(t *testing.T) {
	for name, config := range map[string]multilink.PortConfig{"own bridge": made(), "bridge of others": joined()} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.lan()
			before := n.state()
			path := journal(t)
			child, says := send(t, errand{n.path, path, config}, nil)
			require.Equal(t, "ready", says)
			_, err := host.Open(t.Context(), &host.Options{Namespace: n.path, Journal: path})
			require.ErrorIs(t, err, multilink.ErrDuplicate, "it lives")
			kill(t, child)
			require.NotContains(t, n.run("ip link"), "ml0", "the kernel removes the TAP device")
			require.Contains(t, n.run("ip address show "+config.Bridge), "10.9.0.1/24", "the rest stays")

			h := n.host(host.Options{Journal: path})
			require.Equal(t, before, n.state())
			_, err = h.Port(t.Context(), config)
			require.NoError(t, err)
			require.NoError(t, h.Close())
			require.Equal(t, before, n.state())
			require.NoFileExists(t, path)
		})
	}
}

func TestOpen_findsABridgeWithoutAJournal(t *testing.T) {
	n := newNetwork(t)
	n.lan()
	before := n.state()
	config := made()
	config.Members = []string{"lan0"}
	child, says := send(t, errand{n.path, "", config}, nil)
	require.Equal(t, "ready", says)
	kill(t, child)
	other := n.host(host.Options{Name: "other"})
	require.NoError(t, other.Close())
	require.Contains(t, n.run("ip link"), "br0", "one of another name leaves it alone")
	n.host(host.Options{})
	require.Equal(t, before, n.state())
}

func TestOpen_keepsWhatAnotherOwnerTookOver(t *testing.T) {
	n := newNetwork(t)
	n.lan()
	path := journal(t)
	child, says := send(t, errand{n.path, path, made()}, nil)
	require.Equal(t, "ready", says)
	kill(t, child)
	// The administrator cleans up by hand, and uses the same names again.
	n.run("ip link del br0", "ip link add br0 type bridge", "ip link set br0 up", "ip address add 10.9.0.1/24 dev br0",
		"ip link del lan1", "ip link add lan1 type veth peer name far1", "ip link set lan1 up",
		"ip link set lan0 master br0", "ip link set lan1 master br0")
	before := n.state()
	n.host(host.Options{Journal: path})
	// Only lan0 is the same interface, whose joining is undone.
	require.Equal(t, strings.Replace(before, `lan0 of "br0"`, `lan0 of ""`, 1), n.state())
}

func TestHost_Port_namesAMissingCapability(t *testing.T) {
	n := newNetwork(t)
	// No capabilities, but the namespace is entered before by another program.
	text, err := json.Marshal(errand{Port: multilink.PortConfig{Name: "ml0"}})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), "nsenter", "--net="+n.path, "setpriv", "--bounding-set=-all", "--inh-caps=-all", self)
	child.Env = append(os.Environ(), errandVariable+"="+string(text))
	_, err = child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	says, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	kill(t, child)
	require.Contains(t, says, `create TAP device "ml0"`)
	require.Contains(t, says, "the process lacks CAP_NET_ADMIN: give it by AmbientCapabilities=CAP_NET_ADMIN")
	require.Contains(t, says, "setcap cap_net_admin+ep")
	require.Contains(t, says, multilink.ErrDenied.Error())
}
