//go:build linux

package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

const (
	version = "v9.8.7"
	section = "\n## [9.8.7] - 2026-01-02\n\n### Added\n\n- Something new.\n\n## [9.8.6]\n\n- Something old.\n"
)

// checkout is a clone whose last commit is the version's.
type checkout struct {
	t      *testing.T
	folder string
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	if !peertest.Required() {
		t.Skipf("a release takes minutes, git and ssh-keygen: it runs with %s=1", peertest.RequirePeers)
	}
	c := checkout{t, filepath.Join(t.TempDir(), "clone")}
	c.run(".", nil, "git", "clone", "-q", "--shared", "../..", c.folder)
	c.append("CHANGELOG.md", section)
	c.run(c.folder, nil, "git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-qam", "release")
	return c
}

func (c checkout) append(file, text string) {
	c.t.Helper()
	name := filepath.Join(c.folder, file)
	old, err := os.ReadFile(name)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(name, append(old, text...), 0o644))
}

func (c checkout) run(folder string, environment []string, name string, args ...string) string {
	c.t.Helper()
	command := exec.Command(name, args...)
	command.Dir, command.Env = folder, append(os.Environ(), environment...)
	text, err := command.CombinedOutput()
	require.NoError(c.t, err, "%s: %s", command, text)
	return string(text)
}

// refuse makes a release, which has to fail with a message.
func (c checkout) refuse(message, version, target string, environment ...string) {
	c.t.Helper()
	command := exec.Command("deploy/release/release.sh", version, target, "linux/amd64")
	command.Dir, command.Env = c.folder, append(os.Environ(), environment...)
	text, err := command.CombinedOutput()
	require.Error(c.t, err)
	require.Contains(c.t, string(text), message)
	require.NoDirExists(c.t, filepath.Join(target, "enablers_9.8.7_linux_amd64.tar.gz"))
}

func TestRelease_refusesWhatCannotBeOne(t *testing.T) {
	c := newCheckout(t)
	target := filepath.Join(t.TempDir(), "out")
	c.refuse(`version "9.8.7": expected one such as v1.2.3`, "9.8.7", target, "ALLOW_UNSIGNED=1")
	c.refuse(`no section "## [3.2.1]"`, "v3.2.1", target, "ALLOW_UNSIGNED=1")
	c.refuse("no SIGNING_KEY", version, target)

	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "old"), nil, 0o600))
	c.refuse("is not empty", version, full, "ALLOW_UNSIGNED=1")

	c.run(c.folder, nil, "git", "tag", version, "HEAD~1")
	c.refuse("check the tag out", version, target, "ALLOW_UNSIGNED=1")
	c.run(c.folder, nil, "git", "tag", "-d", version)

	c.append("LICENSE", "more\n")
	c.refuse("LICENSE", version, target, "ALLOW_UNSIGNED=1")
	c.run(c.folder, nil, "git", "checkout", "-q", "LICENSE")
	require.NoError(t, os.WriteFile(filepath.Join(c.folder, "added"), nil, 0o600))
	c.refuse("added", version, target, "ALLOW_UNSIGNED=1")
}

func TestRelease_isSignedAndWhole(t *testing.T) {
	c := newCheckout(t)
	c.run(c.folder, nil, "git", "tag", version)
	keys := t.TempDir()
	key := filepath.Join(keys, "key")
	c.run(".", nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
	out := filepath.Join(t.TempDir(), "out")
	c.run(c.folder, []string{"SIGNING_KEY=" + key, "COMMANDS=multilink,rml"}, "deploy/release/release.sh", version, out, "linux/amd64")

	var names []string
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{
		"NOTES.md", "SHA256SUMS", "SHA256SUMS.sig", "enablers_9.8.7_linux_amd64.tar.gz",
		"multilink.cdx.json", "multilink.provenance.json", "multilink.tar",
		"multilink_9.8.7_amd64.deb", "multilink_9.8.7_x86_64.ipk",
		"rml.cdx.json", "rml.provenance.json", "rml.tar", "rml_9.8.7_amd64.deb",
	}, names)
	require.Equal(t, len(names)-2, strings.Count(c.run(out, nil, "sha256sum", "-c", "--strict", "SHA256SUMS"), ": OK\n"))

	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	signers := filepath.Join(keys, "allowed_signers")
	require.NoError(t, os.WriteFile(signers, append([]byte("release@iotenablers "), public...), 0o600))
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	require.NoError(t, err)
	verify := func(text []byte) error {
		command := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "release@iotenablers", "-n", "file",
			"-s", filepath.Join(out, "SHA256SUMS.sig"))
		command.Stdin = bytes.NewReader(text)
		return command.Run()
	}
	require.NoError(t, verify(sums))
	require.Error(t, verify(append(sums, '\n')))

	notes, err := os.ReadFile(filepath.Join(out, "NOTES.md"))
	require.NoError(t, err)
	require.Equal(t, "### Added\n\n- Something new.\n", string(notes))

	c.run(out, nil, "tar", "xzf", "enablers_9.8.7_linux_amd64.tar.gz")
	folder := filepath.Join(out, "enablers_9.8.7_linux_amd64")
	require.Equal(t, "multilink "+version+"\n", c.run(folder, nil, "./multilink", "-version"))
	require.Contains(t, c.run(folder, nil, "./rml", "-version"), version)
	require.FileExists(t, filepath.Join(folder, "LICENSE"))
	commit := strings.TrimSpace(c.run(c.folder, nil, "git", "rev-parse", "HEAD"))
	provenance, err := os.ReadFile(filepath.Join(out, "rml.provenance.json"))
	require.NoError(t, err)
	require.Contains(t, string(provenance), commit)
}
