//go:build !linux

package kafkatest

import "os/exec"

// dieWithParent does nothing: there is no such help here.
func dieWithParent(*exec.Cmd) {}
