//go:build unix

package relationaltest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the user that servers run as where the tests run as root, which they refuse.
const nobody = 65534

func own(folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(folder, nobody, nobody)
}

func unprivileged(c *exec.Cmd) {
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}
