//go:build !linux

package kafkatest

import "os/exec"

// dieWithParent does nothing: the system has no such feature.
func dieWithParent(*exec.Cmd) {}
