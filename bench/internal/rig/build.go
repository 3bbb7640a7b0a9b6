package rig

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds a command of the project into a folder, and returns the program.
func Build(ctx context.Context, folder, command string) (string, error) {
	program := filepath.Join(folder, command)
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, project+"/cmd/"+command)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build cmd/%s: %w: %s", command, err, output)
	}
	return program, nil
}

// ModuleVersion returns the version of a module that a peer is built from, in the folder of a module.
func ModuleVersion(ctx context.Context, folder, module string) string {
	return Printed(ctx, "go", "-C", folder, "list", "-m", "-f", "{{.Version}}", module)
}

// PeerVersion returns the first line that a command prints about its version, which some print on
// standard error and with a status of failure.
func PeerVersion(ctx context.Context, name string, args ...string) string {
	text, _ := exec.CommandContext(ctx, name, args...).CombinedOutput()
	line, _, _ := strings.Cut(FirstLine(string(text)), " [")
	return strings.TrimPrefix(line, name+" version: ")
}
