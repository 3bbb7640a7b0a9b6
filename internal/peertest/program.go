package peertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// RequirePeers is the environment variable that decides about peers. Tests use the
// peers that are there, and skip without them. With 1 a missing peer is built, and
// a test without it fails. With 0 no peer is used.
const RequirePeers = "ENABLERS_REQUIRE_PEERS"

// ErrExcluded is the error of this package where [RequirePeers] is 0.
var ErrExcluded = errors.New(RequirePeers + "=0 excludes peers")

// interruptLimit bounds how long the go command may take to end a build that is cancelled.
const interruptLimit = 10 * time.Second

// Required reports whether [RequirePeers] is 1.
func Required() bool { return os.Getenv(RequirePeers) == "1" }

// Excluded reports whether [RequirePeers] is 0.
func Excluded() bool { return os.Getenv(RequirePeers) == "0" }

// Peer is a program and what it is built from.
type Peer struct {
	// Module is the folder of the module within the project, with slashes.
	Module string
	// Package is the package to build, as the go command names it there.
	Package string
	// Name is how the file begins in the cache folder.
	Name string
}

// ProgramFor returns the path of the program. Where it is not built yet, and the
// peers are not [Required], the test is skipped with the reason.
func (p Peer) ProgramFor(tb testing.TB) string {
	tb.Helper()
	program, err := p.Program(tb.Context())
	switch {
	case err != nil && Required():
		tb.Fatalf("the program %s is demanded by %s=1: %v", p.Name, RequirePeers, err)
	case err != nil:
		tb.Skipf("no program %s: %v; %s=1 builds it", p.Name, err, RequirePeers)
	}
	return program
}

// Program is ProgramFor outside of a test. The program is in the user's cache folder. The
// first time, and whenever a file of the module has changed since, it is built
// with the go command, which may take minutes and the network; that happens
// only when the peers are [Required]. Several processes may call it at once.
func (p Peer) Program(ctx context.Context) (string, error) {
	if Excluded() {
		return "", ErrExcluded
	}
	source, err := findModule(p.Module)
	if err != nil {
		return "", err
	}
	name, err := p.cacheName(source)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if !Required() {
		return "", errors.New("the program of " + p.Module + " is not built yet")
	}
	return name, p.build(ctx, source, name)
}

// findModule looks for the module in the working folder and those above, since
// tests run in the folder of their package.
func findModule(module string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, filepath.FromSlash(module))
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("find %s: %w", module, fs.ErrNotExist)
		}
		dir = above
	}
}

// cacheName returns where the program is kept. The name changes with what it
// is built from.
func (p Peer) cacheName(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(source, "*"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, p.Package)
	for _, file := range files { // in order of their names
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %x\n", filepath.Base(file), sha256.Sum256(text))
	}
	name := p.Name + "-" + hex.EncodeToString(sum.Sum(nil)[:8])
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(cache, "enablers", name), nil
}

// build builds the program beside its name and then renames it, since tests of
// other packages may build it at the same time.
func (p Peer) build(ctx context.Context, source, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(name), "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, filepath.Base(name))
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", made, p.Package)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // so that it ends its compilers
	command.WaitDelay = interruptLimit
	command.Dir = source
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", p.Module, err, output)
	}
	return os.Rename(made, name)
}
