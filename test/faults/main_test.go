//go:build linux

package faults

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/iotenablers/enablers/internal/peertest"
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
	os.Exit(func() int {
		if peertest.Excluded() || !peertest.Required() && os.Getenv(extent) == "" {
			return m.Run() // every test logs why it skips
		}
		status, err := 0, inside()
		if err == nil && os.Getenv(programs) == "" {
			status, err = runInside()
		} else if err == nil {
			return m.Run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
			return 1
		}
		return status
	}())
}

// inside prepares the namespaces if this process runs in them.
func inside() error {
	if os.Getenv(programs) == "" {
		if os.Geteuid() != 0 {
			return errors.New("mounting file systems takes root, and the gate needs it")
		}
		return nil
	}
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

// runInside builds the commands and runs the tests in namespaces of their own.
func runInside() (status int, err error) {
	folder, err := os.MkdirTemp("", "faults")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	if err := os.Mkdir(filepath.Join(folder, "data"), 0o700); err != nil {
		return 0, err
	}
	if err := buildCommands(folder); err != nil {
		return 0, err
	}
	if err := buildStepped(folder); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // the end of this thread would end the tests
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Env = append(os.Environ(), programs+"="+folder)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	var failed *exec.ExitError
	if err := tests.Run(); errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil
	} else if err != nil {
		return 0, fmt.Errorf("run the tests in namespaces of their own: %w", err)
	}
	return 0, nil
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
