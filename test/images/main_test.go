//go:build linux

package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
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
	if !peertest.Required() {
		os.Exit(m.Run()) // every test logs why it skips
	}
	os.Exit(interop.Namespaces{
		Variable: scratchVariable, Reason: "containers and mounts take root, and the gate needs them", Build: provide, Prepare: prepare,
	}.Main(m))
}

// provide puts the images into a folder: those that are built already, or new ones.
func provide(scratch string) error {
	folder := filepath.Join(scratch, "images")
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
