package peertest

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sourceLimit bounds the unpacked bytes of a source archive.
const sourceLimit = 256 << 20

// PythonSource returns the folder of the unpacked source archive of a Python
// package, pinned as "name==version". It is for packages whose archives have
// public test suites. Where it is not there yet, and the peers are not [Required],
// the error says so, and a test does without.
func PythonSource(tb testing.TB, name string) (string, error) {
	tb.Helper()
	folder, err := PythonSourceFolder(name)
	if err != nil && Required() {
		tb.Fatalf("the source of %s is demanded by %s=1: %v", name, RequirePeers, err)
	}
	return folder, err
}

// PythonSourceFolder is PythonSource outside of a test. The folder is in the
// user's cache folder. It is built the first time with pip, which takes about a minute and the
// network; that happens only when the peers are [Required]. Several processes
// may call it at once: one of them fetches, the others wait for it.
func PythonSourceFolder(name string) (string, error) {
	if Excluded() {
		return "", ErrExcluded
	}
	project, version, pinned := strings.Cut(name, "==")
	if !pinned {
		return "", fmt.Errorf("fetch the source of %s: no version is pinned", name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	top := project + "-" + version
	folder := filepath.Join(cache, "enablers", "source-"+top)
	if fetched(folder) {
		return filepath.Join(folder, top), nil
	}
	if !Required() {
		return "", fmt.Errorf("the source of %s is not fetched yet; %s=1 fetches it", name, RequirePeers)
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if !fetched(folder) {
		if err := fetch(folder, name, top); err != nil {
			return "", fmt.Errorf("fetch the source of %s: %w", name, err)
		}
	}
	return filepath.Join(folder, top), nil
}

// fetched reports whether everything was unpacked.
func fetched(folder string) bool {
	_, err := os.Stat(marker(folder))
	return err == nil
}

// fetch downloads and unpacks the archive. What an earlier attempt has left is
// removed. The pip of a virtual environment is used: that of the search path
// may be missing.
func fetch(folder, name, top string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installLimit)
	defer cancel()
	venv := filepath.Join(folder, "venv")
	for _, command := range []*exec.Cmd{
		exec.CommandContext(ctx, "python3", "-m", "venv", venv),
		exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), "-m", "pip", "download", "--quiet", "--no-input",
			"--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", "--dest", folder, name),
	} {
		if output, err := command.CombinedOutput(); err != nil {
			return said(err, output)
		}
	}
	if err := os.RemoveAll(venv); err != nil {
		return err
	}
	if err := unpack(folder, filepath.Join(folder, top+".tar.gz")); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, top)); err != nil {
		return err
	}
	return os.WriteFile(marker(folder), nil, 0o600)
}

// unpack writes the regular files of an archive below the folder.
func unpack(folder, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder) // nothing is written elsewhere
	if err != nil {
		return err
	}
	defer root.Close()
	bounded := &io.LimitedReader{R: plain, N: sourceLimit}
	entries := tar.NewReader(bounded)
	for {
		header, err := entries.Next()
		switch {
		case bounded.N == 0:
			return fmt.Errorf("unpack %s: more than %d bytes", filepath.Base(archive), sourceLimit)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
		case header.Typeflag != tar.TypeReg:
			continue
		}
		if err := write(root, filepath.FromSlash(header.Name), entries); err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
