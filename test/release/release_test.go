//go:build linux

package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	page      = "../../docs/deploy.md"
	version   = "v1.2.3" // of the page
	candidate = "v1.2.4-rc.1"
	sections  = "\n## [1.2.4-rc.1] - 2026-01-03\n\n- Something newer.\n" +
		"\n## [1.2.3] - 2026-01-02\n\n### Added\n\n- Something new.\n\n## [1.2.2]\n\n- Something old.\n"
)

// checkout is a clone whose last commit is the version's, and a home folder whose key may sign it.
type checkout struct {
	t            *testing.T
	folder, home string
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	if !peertest.Required() {
		t.Skipf("a release takes minutes, git and ssh-keygen: it runs with %s=1", peertest.RequirePeers)
	}
	c := checkout{t, filepath.Join(t.TempDir(), "clone"), t.TempDir()}
	c.run(".", nil, "git", "clone", "-q", "--shared", "../..", c.folder)
	require.NoError(t, os.Mkdir(filepath.Join(c.home, ".ssh"), 0o700))
	key := filepath.Join(c.home, ".ssh", "release")
	c.run(".", nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	c.append("deploy/release/allowed_signers", "release@iotenablers "+string(public))
	c.append("CHANGELOG.md", sections)
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

// environment has the home folder of the checkout, and the folders of Go of this one.
func (c checkout) environment(more []string) []string {
	c.t.Helper()
	folders := strings.Fields(c.output(exec.Command("go", "env", "GOCACHE", "GOMODCACHE")))
	require.Len(c.t, folders, 2)
	return append(append(os.Environ(), "HOME="+c.home, "GOCACHE="+folders[0], "GOMODCACHE="+folders[1]), more...)
}

func (c checkout) output(command *exec.Cmd) string {
	c.t.Helper()
	text, err := command.CombinedOutput()
	require.NoError(c.t, err, "%s: %s", command, text)
	return string(text)
}

func (c checkout) run(folder string, environment []string, name string, args ...string) string {
	c.t.Helper()
	command := exec.Command(name, args...)
	command.Dir, command.Env = folder, append(os.Environ(), environment...)
	return c.output(command)
}

// typed runs commands of the page in a shell, in the checkout.
func (c checkout) typed(commands string, environment ...string) string {
	c.t.Helper()
	command := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = c.folder, c.environment(environment)
	return c.output(command)
}

// refuse makes a release, which has to fail with a message.
func (c checkout) refuse(message, version, target string, environment ...string) {
	c.t.Helper()
	command := exec.Command("deploy/release/release.sh", version, target, "linux/amd64")
	command.Dir, command.Env = c.folder, c.environment(environment)
	text, err := command.CombinedOutput()
	require.Error(c.t, err)
	require.Contains(c.t, string(text), message)
	require.NotContains(c.t, string(text), "building", "it is refused before all is built")
	require.NoDirExists(c.t, filepath.Join(target, "enablers_1.2.3_linux_amd64.tar.gz"))
}

func TestRelease_refusesWhatCannotBeOne(t *testing.T) {
	c := newCheckout(t)
	target := filepath.Join(t.TempDir(), "out")
	c.refuse(`version "1.2.3": expected one such as v1.2.3`, "1.2.3", target, "ALLOW_UNSIGNED=1")
	c.refuse(`no section "## [3.2.1]"`, "v3.2.1", target, "ALLOW_UNSIGNED=1")
	c.refuse("no SIGNING_KEY", version, target)
	c.refuse(`no file "misspelled"`, version, target, "SIGNING_KEY=misspelled")
	other := filepath.Join(t.TempDir(), "other")
	c.run(".", nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", other)
	c.refuse("does not pass deploy/release/allowed_signers", version, target, "SIGNING_KEY="+other)

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
	c.refuse("added", version, target, "ALLOW_UNSIGNED=1", "REVISION=0123456789012345678901234567890123456789")
}

// The page's commands make a release in a folder of the checkout, of two commands and one platform.
func TestRelease_isSignedAndWhole(t *testing.T) {
	c := newCheckout(t)
	commands := interop.Block(t, page, "release.sh v1.2.3 release")
	c.typed(strings.Replace(commands, "v1.2.3 release\n", "v1.2.3 release linux/amd64\n", 1), "COMMANDS=multilink,rml")
	out := filepath.Join(c.folder, "release")

	names := c.names(out)
	require.Equal(t, []string{
		"NOTES.md", "SHA256SUMS", "SHA256SUMS.sig", "compose.yaml", "enablers-1.2.3.tgz", "enablers_1.2.3_linux_amd64.tar.gz",
		"example.env", "multilink.cdx.json", "multilink.provenance.json", "multilink.tar",
		"multilink_1.2.3_amd64.deb", "multilink_1.2.3_x86_64.ipk",
		"rml.cdx.json", "rml.provenance.json", "rml.tar", "rml_1.2.3_amd64.deb",
	}, names)

	check := interop.Block(t, page, "ssh-keygen -Y verify")
	printed := c.typed(check)
	require.Contains(t, printed, `Good "file" signature for release@iotenablers`)
	require.Equal(t, len(names)-2, strings.Count(printed, ": OK\n"))
	require.NoError(t, os.Remove(filepath.Join(out, "rml.tar")))
	require.Equal(t, len(names)-3, strings.Count(c.typed(check), ": OK\n"), "one may download some of the files")
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	require.NoError(t, err)
	verify := exec.Command("ssh-keygen", "-Y", "verify", "-f", "../deploy/release/allowed_signers", "-I", "release@iotenablers",
		"-n", "file", "-s", "SHA256SUMS.sig")
	verify.Dir, verify.Stdin = out, bytes.NewReader(append(sums, '\n'))
	require.Error(t, verify.Run(), "other checksums")

	require.Equal(t, "### Added\n\n- Something new.\n", c.read(out, "NOTES.md"))
	c.run(out, nil, "tar", "xzf", "enablers_1.2.3_linux_amd64.tar.gz")
	folder := filepath.Join(out, "enablers_1.2.3_linux_amd64")
	require.Equal(t, "multilink "+version+"\n", c.run(folder, nil, "./multilink", "-version"))
	require.Contains(t, c.run(folder, nil, "./rml", "-version"), version)
	require.FileExists(t, filepath.Join(folder, "LICENSE"))

	commit := strings.TrimSpace(c.run(c.folder, nil, "git", "rev-parse", "HEAD"))
	for _, name := range []string{"rml.provenance.json", "multilink.provenance.json"} {
		require.Contains(t, c.read(out, name), commit)
		require.NotContains(t, c.read(out, name), "dirty", "its own files change nothing")
	}

	// Chart and compose name the image that was built.
	require.Contains(t, c.run(out, nil, "tar", "xOf", "multilink.tar", "index.json"), `"iotenablers/multilink:1.2.3"`)
	chart := c.run(out, nil, "tar", "xzOf", "enablers-1.2.3.tgz", "enablers/Chart.yaml")
	require.Regexp(t, `(?m)^version: 1\.2\.3$`, chart)
	require.Regexp(t, `(?m)^appVersion: "1\.2\.3"$`, chart)
	require.Contains(t, c.run(out, nil, "tar", "xzOf", "enablers-1.2.3.tgz", "enablers/values.yaml"), "\n  repository: iotenablers\n")
	require.Contains(t, c.read(out, "compose.yaml"), "${ENABLERS_REPOSITORY:-iotenablers}/multilink:${ENABLERS_VERSION:-1.2.3}")
	require.NotContains(t, c.read(out, "compose.yaml"), ":-devel")
}

// Two releases of one commit are equal, whatever the surroundings. Names of all files are such
// that every store of files keeps them as they are.
func TestRelease_ofACandidateIsTheSameTwice(t *testing.T) {
	c := newCheckout(t)
	key := "SIGNING_KEY=" + c.read(c.home, ".ssh/release")
	const repository = "registry.example.org/edge"
	var sums []string
	for _, environment := range [][]string{
		nil, {"TZ=Asia/Tokyo", "GOAMD64=v3", "GOFLAGS=-tags=other -gcflags=all=-N", "GOENV=nowhere", "LC_ALL=C", "GZIP=-1"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		c.typed("umask 077; deploy/release/release.sh "+candidate+" "+out+" linux/amd64",
			append(environment, key, "COMMANDS=rml", "IMAGE_REPOSITORY="+repository)...)
		sums = append(sums, c.read(out, "SHA256SUMS"))
		for _, name := range c.names(out) {
			require.Regexp(t, regexp.MustCompile(`^[A-Za-z0-9._-]+$`), name)
		}
		require.Contains(t, c.names(out), "rml_1.2.4.rc.1_amd64.deb")
		require.Contains(t, c.run(out, nil, "tar", "xOf", "rml.tar", "index.json"), `"`+repository+`/rml:1.2.4-rc.1"`)
		require.Contains(t, c.run(out, nil, "tar", "xzOf", "enablers-1.2.4-rc.1.tgz", "enablers/values.yaml"), "repository: "+repository+"\n")
		require.Contains(t, c.read(out, "compose.yaml"), "${ENABLERS_REPOSITORY:-"+repository+"}/annotator:${ENABLERS_VERSION:-1.2.4-rc.1}")
	}
	require.Equal(t, sums[0], sums[1])
}

func (c checkout) names(folder string) (names []string) {
	c.t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(c.t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (c checkout) read(folder, name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(c.t, err)
	return string(text)
}
