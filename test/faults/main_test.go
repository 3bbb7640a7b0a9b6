//go:build linux

package faults

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// The environment of the tests.
const (
	extent   = "FAULTS"          // full or on, see the package documentation
	programs = "FAULTS_PROGRAMS" // the folder with the commands, inside the namespaces
)

// full reports whether every place of the matrix is tried.
func full() bool { return os.Getenv(extent) == "full" }

// count returns how often something is tried.
func count(part, whole int) int {
	if full() {
		return whole
	}
	return part
}

func TestMain(m *testing.M) {
	if peertest.Excluded() || (!peertest.Required() && os.Getenv(extent) == "") {
		os.Exit(m.Run()) // every test logs why it skips
	}
	os.Exit(interop.Namespaces{
		Variable: programs, Reason: "mounting file systems takes root, and the gate needs it", Build: build, Prepare: prepare,
	}.Main(m))
}

// build builds the commands into a folder that gets the data as well.
func build(folder string) error {
	if err := os.Mkdir(filepath.Join(folder, "data"), 0o700); err != nil {
		return err
	}
	return errors.Join(buildCommands(folder), buildStepped(folder))
}

func prepare() error {
	if err := syscall.Mount("faults", dataRoot(), "tmpfs", 0, "size=4g,mode=0700"); err != nil {
		return fmt.Errorf("mount a file system for the data folders: %w", err)
	}
	return prepareNetwork()
}

// dataRoot is where data folders are: in memory, since a killed process loses nothing that
// the kernel has taken.
func dataRoot() string { return filepath.Join(os.Getenv(programs), "data") }

// prepareNetwork brings the loopback up, and makes a link for multi-link.
func prepareNetwork() error {
	for _, line := range [][]string{
		{"link", "set", "lo", "up"}, {"tuntap", "add", "dev", "wlan0", "mode", "tap"}, {"link", "set", "wlan0", "up"},
	} {
		if output, err := exec.Command("ip", line...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", line, err, output)
		}
	}
	_, err := net.InterfaceByName("wlan0")
	return err
}

// needsFaults skips a test where the matrix does not run.
func needsFaults(t *testing.T) {
	t.Helper()
	if os.Getenv(programs) == "" {
		t.Skipf("the matrix of faults takes root and minutes: it runs with %s=1, or with %s=on", peertest.RequirePeers, extent)
	}
	t.Parallel()
}

// eachBlock runs a test over every server.
func eachBlock(t *testing.T, test func(t *testing.T, b block)) {
	needsFaults(t)
	for _, b := range blocks() {
		t.Run(b.command, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// dataFolder returns the path of a new folder in memory, which does not exist yet.
func dataFolder(t *testing.T) string {
	t.Helper()
	above, err := os.MkdirTemp(dataRoot(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(above) // the file system ends with the process
		}
	})
	return filepath.Join(above, "data")
}
