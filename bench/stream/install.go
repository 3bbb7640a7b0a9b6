package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// pins are the files with the versions that are installed, and the programs
// that use those that are libraries.
//
//go:embed kafka/pom.xml peers
var pins embed.FS

// install fetches the jars of a folder of pins into the folder of that name in
// the cache, and compiles the Java files there, unless that is done already.
func install(ctx context.Context, cache, name string) error {
	dir := filepath.Join(cache, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	hash := sha256.New()
	sources := []string{}
	err := fs.WalkDir(pins, name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := pins.ReadFile(file)
		if err != nil {
			return err
		}
		hash.Write(content)
		if path.Ext(file) == ".java" {
			sources = append(sources, path.Base(file))
		}
		return os.WriteFile(filepath.Join(dir, path.Base(file)), content, 0o600)
	})
	if err != nil {
		return err
	}
	stamp, mark := fmt.Sprintf("%x", hash.Sum(nil)), filepath.Join(dir, "installed")
	if done, err := os.ReadFile(mark); err == nil && string(done) == stamp {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil {
		return err
	}
	commands := [][]string{{"mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory=lib"}}
	if len(sources) > 0 {
		commands = append(commands, append([]string{"javac", "-cp", filepath.Join("lib", "*")}, sources...))
	}
	for _, command := range commands {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = dir
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command[0], err, output)
		}
	}
	return os.WriteFile(mark, []byte(stamp), 0o600)
}
