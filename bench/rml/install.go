package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// pins are the files with the versions of the peers that are installed, and
// the programs that run those that are libraries.
//
//go:embed carml rmlmapper rocketrml morphkgc
var pins embed.FS

// installer installs one peer into a folder outside the repository.
type installer struct {
	ctx context.Context
	dir string
}

const stampFile = "installed"

// ensure runs install unless it has already succeeded with the same pins.
func (i installer) ensure(install func(installer) error) error {
	if install == nil {
		return nil
	}
	name := filepath.Base(i.dir)
	stamp, err := i.copyPins(name)
	if err != nil {
		return err
	}
	if done, err := os.ReadFile(filepath.Join(i.dir, stampFile)); err == nil && string(done) == stamp {
		return nil
	}
	if err := install(i); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(i.dir, stampFile), []byte(stamp), 0o600)
}

// copyPins copies the files of a peer and returns a digest of them.
func (i installer) copyPins(name string) (string, error) {
	if err := os.MkdirAll(i.dir, 0o755); err != nil {
		return "", err
	}
	hash := sha256.New()
	err := fs.WalkDir(pins, name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := pins.ReadFile(file)
		if err != nil {
			return err
		}
		hash.Write(content)
		return os.WriteFile(filepath.Join(i.dir, path.Base(file)), content, 0o600)
	})
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}

func (i installer) npm(string) error {
	return i.run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
}

func (i installer) pip(string) error {
	if err := i.run("python3", "-m", "venv", "venv"); err != nil {
		return err
	}
	return i.run(filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "-r",
		"requirements.txt")
}

// maven fetches the jars, and compiles a Java file unless it is empty.
func (i installer) maven(_, source string) error {
	if err := os.RemoveAll(filepath.Join(i.dir, "lib")); err != nil {
		return err
	}
	err := i.run("mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory=lib")
	if err != nil || source == "" {
		return err
	}
	return i.run("javac", "-cp", filepath.Join("lib", "*"), source)
}

func (i installer) run(name string, args ...string) error {
	cmd := exec.CommandContext(i.ctx, name, args...)
	cmd.Dir = i.dir
	if strings.Contains(name, string(filepath.Separator)) {
		cmd.Path = filepath.Join(i.dir, name)
	}
	output, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", name, err, lastLine(output))
}

// lastLine returns the line of what a program printed that explains most about an
// error: the last that names one, or else the last.
func lastLine(output []byte) string {
	var last string
	named := false
	for line := range bytes.Lines(output) {
		text := strings.TrimSpace(string(line))
		names := strings.Contains(text, "Error") || strings.Contains(text, "Exception")
		if text == "" || strings.HasPrefix(text, "at ") || (named && !names) {
			continue
		}
		last, named = text, names
	}
	if len(last) > 200 {
		last = last[:200] + "…"
	}
	return last
}

var errNoTime = errors.New("GNU time is not installed: the peak of memory cannot be measured")
