package peertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fetchLimit bounds how long Maven may take to fetch libraries.
const fetchLimit = 8 * time.Minute

// Jars returns a class path of Java with the libraries and what they need, each pinned as
// "group:artifact:version". Where Java is missing, or the libraries are not fetched yet and
// the peers are not [Required], the test is skipped with the reason.
func Jars(tb testing.TB, libraries ...string) string {
	tb.Helper()
	path, err := ClassPath(libraries...)
	switch {
	case err != nil && Required():
		tb.Fatalf("Java libraries are demanded by %s=1: %v", RequirePeers, err)
	case err != nil:
		tb.Skipf("no Java libraries: %v; %s=1 fetches them", err, RequirePeers)
	}
	return path
}

// ClassPath is Jars outside of a test. Every list of libraries has a folder of its own in the
// user's cache folder. The first time Maven fetches them, which may take minutes and the
// network; that happens only when the peers are [Required]. Several processes may call it at
// once: one of them fetches, the others wait for it.
func ClassPath(libraries ...string) (string, error) {
	folder, err := jarsFolder(libraries)
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "*"), nil
}

// jarsFolder returns the folder of the libraries.
func jarsFolder(libraries []string) (string, error) {
	if Excluded() {
		return "", ErrExcluded
	}
	project, err := mavenProject(libraries)
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("find Java: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(project))
	name := strings.Split(libraries[0], ":")
	folder := filepath.Join(cache, "enablers", "jars-"+name[1]+"-"+name[2]+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if !Required() {
		return "", fmt.Errorf("%s is not fetched yet", strings.Join(libraries, " "))
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(folder); err == nil { // by who held the lock
		return folder, nil
	}
	if err := fetchJars(folder, project); err != nil {
		return "", fmt.Errorf("fetch %s: %w", strings.Join(libraries, " "), err)
	}
	return folder, nil
}

// mavenProject returns a project that depends on the libraries.
func mavenProject(libraries []string) (string, error) {
	if len(libraries) == 0 {
		return "", errors.New("fetch Java libraries: none is named")
	}
	var project strings.Builder
	project.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		"<groupId>enablers.peers</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging><dependencies>\n")
	for _, library := range libraries {
		part := strings.Split(library, ":")
		if len(part) != 3 || slices.Contains(part, "") {
			return "", fmt.Errorf("fetch %q: expected group:artifact:version", library)
		}
		fmt.Fprintf(&project, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n",
			part[0], part[1], part[2])
	}
	project.WriteString("</dependencies></project>\n")
	return project.String(), nil
}

// fetchJars creates the folder, under its name only when all libraries are there.
func fetchJars(folder, project string) error {
	scratch, err := os.MkdirTemp(filepath.Dir(folder), "fetching-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	pom := filepath.Join(scratch, "pom.xml")
	if err := os.WriteFile(pom, []byte(project), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	jars := filepath.Join(scratch, "jars")
	command := exec.CommandContext(ctx, "mvn", "-B", "-q", "-f", pom,
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars)
	command.WaitDelay = time.Second // its own processes may hold the pipe
	if output, err := command.CombinedOutput(); err != nil {
		return said(errors.Join(err, ctx.Err()), output)
	}
	return os.Rename(jars, folder)
}
