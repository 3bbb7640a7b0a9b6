//go:build !unix

package relationaltest

import "os/exec"

func own(string) error { return nil }

func unprivileged(*exec.Cmd) {}
