//go:build !unix

package main

import "os/exec"

// killWithChildren makes a command that is cancelled end; elsewhere than on
// Unix the processes that it has started are left to themselves.
func killWithChildren(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Kill() }
}
