//go:build unix

package relationaltest

import (
	"os"
	"os/exec"
	"syscall"
)

// unprivilegedID is the user and group of servers where the tests run as root.
// Servers of databases refuse root.
const unprivilegedID = 65534

func own(folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(folder, unprivilegedID, unprivilegedID)
}

func unprivileged(c *exec.Cmd) {
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID}}
	}
}
