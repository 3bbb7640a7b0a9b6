//go:build linux

package images

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/iotenablers/enablers/internal/peertest"
)

const (
	// scratchVariable names the folder with the images, inside the namespaces.
	scratchVariable = "IMAGES_SCRATCH"
	// builtVariable names a folder of images that are built already.
	builtVariable = "ENABLERS_IMAGES"
	// version is that of the images.
	version = "devel"
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
			fmt.Fprintln(os.Stderr, "images:", err)
			return 1
		}
		return status
	}())
}

// runInside builds the images and runs the tests in namespaces of their own.
func runInside() (status int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("containers and mounts take root, and the gate needs them")
	}
	scratch, err := os.MkdirTemp("", "images")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := provide(filepath.Join(scratch, "images")); err != nil {
		return 0, err
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

// provide puts the images into a folder: those that are built already, or new ones.
func provide(folder string) error {
	if built := os.Getenv(builtVariable); built != "" {
		return os.Symlink(built, folder)
	}
	build := exec.Command("../../deploy/images/build.sh", folder, "linux/"+runtime.GOARCH)
	build.Env = append(os.Environ(), "VERSION="+version)
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("%s: %w", build, err)
	}
	return nil
}

// prepare gives the namespaces a loopback, a hierarchy of control groups for podman, and the
// device of tunnels as distributions have it: for every user, who still needs the capability.
func prepare() error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts in the namespace: %w", err)
	}
	if err := syscall.Mount("none", "/sys/fs/cgroup", "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount control groups: %w", err)
	}
	if err := syscall.Mount("none", "/dev/net", "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount a file system for the device: %w", err)
	}
	if err := syscall.Mknod("/dev/net/tun", syscall.S_IFCHR|0o666, 10<<8|200); err != nil {
		return fmt.Errorf("make /dev/net/tun: %w", err)
	}
	if err := os.Chmod("/dev/net/tun", 0o666); err != nil {
		return err
	}
	if output, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("bring the loopback up: %w: %s", err, output)
	}
	return nil
}

// needsImages skips a test where the peers are not required.
func needsImages(t *testing.T) (scratch string) {
	t.Helper()
	scratch = os.Getenv(scratchVariable)
	if scratch == "" {
		t.Skipf("containers take root, podman and skopeo: it runs with %s=1", peertest.RequirePeers)
	}
	return scratch
}
