//go:build unix

package interop

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// groupLimit bounds how long killed processes may take to be gone. Those that nothing waits for stay
// in the table of processes.
const groupLimit = 10 * time.Second

// StartGroup is [StartProcess] for a program that starts others: they are killed with it at the end
// of the test, also where it has ended before. None of them writes to the folders of the test then.
func StartGroup(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := StartProcess(t, command)
	t.Cleanup(p.KillGroup)
	return p
}

// KillGroup ends a process of [StartGroup] and those that it started, as kill -9 does, and waits for
// their end.
func (p *Process) KillGroup() {
	for over := time.Now().Add(groupLimit); time.Now().Before(over); <-time.After(10 * time.Millisecond) {
		if syscall.Kill(-p.Pid(), syscall.SIGKILL) != nil {
			break // none is left
		}
	}
	<-p.Ended()
}
