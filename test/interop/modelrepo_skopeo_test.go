package interop

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// skopeo runs the tool, without asking who signed what.
func skopeo(t *testing.T, arguments ...string) string {
	t.Helper()
	program, err := exec.LookPath("skopeo")
	if peertest.Excluded() || (err != nil && !peertest.Required()) {
		t.Skip("skopeo is not installed")
	}
	require.NoError(t, err)
	command := exec.Command(program, append([]string{"--insecure-policy", "--tmpdir", t.TempDir()}, arguments...)...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return string(said)
}

func TestSkopeoCopiesAnExportThatImportsUnchanged(t *testing.T) {
	from := emptyRepository(t)
	model := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	second := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.1"}
	require.NoError(t, errors.Join(
		from.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}),
		from.CreateModel(t.Context(), model, modelrepo.ModelUpdate{LatestVersion: "1.0"}),
		from.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}),
		from.CreateVersion(t.Context(), second, modelrepo.VersionUpdate{}),
	))
	large := bytes.Repeat([]byte("model weights "), 1<<18)
	for format, content := range map[string][]byte{
		"text/turtle":              []byte("# SOSA\n"),
		"application/octet-stream": large,
		"old":                      []byte("# old\n"),
	} {
		_, err := from.Upload(t.Context(), at, format, bytes.NewReader(content),
			&modelrepo.UploadOptions{ContentType: "text/plain; charset=utf-8"})
		require.NoError(t, err)
	}
	layout, copied := t.TempDir(), filepath.Join(t.TempDir(), "copied")
	require.NoError(t, from.ExportDir(t.Context(), modelrepo.Path{Namespace: "w3c"}, layout, nil))

	raw := skopeo(t, "inspect", "--raw", "oci:"+layout+":w3c/sosa:1.0")
	require.Contains(t, raw, modelrepo.ArtifactType)
	for _, tag := range []string{"w3c/sosa:1.0", "w3c/sosa:1.1"} {
		skopeo(t, "copy", "oci:"+layout+":"+tag, "oci:"+copied+":"+tag)
	}
	to := emptyRepository(t)
	result, err := to.ImportDir(t.Context(), copied, nil)
	require.NoError(t, err)
	require.Equal(t, 2, result.Created)
	require.Equal(t, archive(t, from), archive(t, to))

	// The archive that another tool makes of a folder comes in its order.
	packed := filepath.Join(t.TempDir(), "packed.tar")
	said, err := exec.Command("tar", "-C", copied, "-cf", packed, ".").CombinedOutput()
	require.NoError(t, err, "%s", said)
	file, err := os.Open(packed)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	to = emptyRepository(t)
	_, err = to.Import(t.Context(), file, nil)
	require.NoError(t, err)
	require.Equal(t, archive(t, from), archive(t, to))
}

func emptyRepository(t *testing.T) *modelrepo.Store {
	t.Helper()
	s, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	return s
}

func archive(t *testing.T, s *modelrepo.Store) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, s.Export(t.Context(), modelrepo.Path{Namespace: "w3c"}, &b, nil))
	return b.String()
}
