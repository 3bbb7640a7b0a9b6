//go:build linux

package packages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

// scratchVariable names the folder with the packages, inside the namespaces.
const scratchVariable = "PACKAGES_SCRATCH"

const (
	page = "../../docs/deploy.md"
	// version is stamped into what the tests build. It is that of the page.
	version = "v1.2.3"
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if !peertest.Required() {
			return m.Run() // every test logs why it skips
		}
		status, err := 0, error(nil)
		if os.Getenv(scratchVariable) == "" {
			status, err = runInside()
		} else if err = prepare(); err == nil {
			return m.Run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "packages:", err)
			return 1
		}
		return status
	}())
}

// runInside builds the packages and runs the tests in namespaces of their own.
func runInside() (status int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("dpkg and mounts take root, and the gate needs them")
	}
	scratch, err := os.MkdirTemp("", "packages")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	build := exec.Command("../../deploy/packages/build.sh", filepath.Join(scratch, "packages"), "linux/"+runtime.GOARCH)
	build.Env = append(os.Environ(), "VERSION="+version)
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w", build, err)
	}
	runtime.LockOSThread() // the end of this thread would end the tests
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Env = append(os.Environ(), scratchVariable+"="+scratch)
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

// machine is the folder with the root that is thrown away: this machine's, whose changes are
// kept in memory.
func machine() string { return filepath.Join(os.Getenv(scratchVariable), "memory", "root") }

func prepare() error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts in the namespace: %w", err)
	}
	memory := filepath.Dir(machine())
	if err := os.Mkdir(memory, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("none", memory, "tmpfs", 0, "size=2g,mode=0755"); err != nil {
		return fmt.Errorf("mount a file system for changes: %w", err)
	}
	for _, folder := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(memory, folder), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%[1]s/upper,workdir=%[1]s/work", memory)
	if err := syscall.Mount("overlay", machine(), "overlay", 0, options); err != nil {
		return fmt.Errorf("mount a copy of this machine's root: %w", err)
	}
	for _, folder := range []string{"/proc", "/dev"} {
		if err := syscall.Mount(folder, machine()+folder, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", folder, err)
		}
	}
	if output, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("bring the loopback up: %w: %s", err, output)
	}
	return nil
}

// pkg returns the file of a package, by a pattern.
func pkg(t *testing.T, pattern string) string {
	t.Helper()
	scratch := os.Getenv(scratchVariable)
	if scratch == "" {
		t.Skipf("dpkg and mounts take root: it runs with %s=1", peertest.RequirePeers)
	}
	found, err := filepath.Glob(filepath.Join(scratch, "packages", pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// output runs a command, and returns what it writes to standard output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	require.NoError(t, command.Run(), "%s: %s%s", command, &out, &errs)
	return out.String()
}

// inside runs a command on the machine that is thrown away.
func inside(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, "chroot", append([]string{machine()}, args...)...)
}

// bring copies a package to the machine that is thrown away, and returns its name there.
func bring(t *testing.T, file string) string {
	t.Helper()
	output(t, "cp", file, machine()+"/tmp/")
	return "/tmp/" + filepath.Base(file)
}
