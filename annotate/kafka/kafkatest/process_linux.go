package kafkatest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the process end when the test's process does, however
// that happens.
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
