package peertest_test

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/internal/peertest"
)

// sdist writes a source archive of "greeting" of the version, which builds with
// what it has itself, and has pip look nowhere else.
func sdist(t *testing.T, version string) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", folder)
	file, err := os.Create(filepath.Join(folder, "greeting-"+version+".tar.gz"))
	require.NoError(t, err)
	packed := gzip.NewWriter(file)
	archive := tar.NewWriter(packed)
	top := "greeting-" + version + "/"
	info := "Metadata-Version: 2.1\nName: greeting\nVersion: " + version + "\n"
	for _, f := range []struct{ name, text string }{
		{"pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n"},
		{"PKG-INFO", info},
		{"backend.py", `import os
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    name = "greeting-` + version + `.dist-info"
    os.makedirs(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\nName: greeting\nVersion: ` + version + `\n")
    return name
def build_wheel(*args, **kwargs):
    raise RuntimeError("nobody builds this")
`},
		{"tests/case.txt", "a case"},
	} {
		require.NoError(t, archive.WriteHeader(&tar.Header{
			Name: top + f.name, Mode: 0o600, Size: int64(len(f.text)), Typeflag: tar.TypeReg,
		}))
		_, err := archive.Write([]byte(f.text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, packed.Close())
	require.NoError(t, file.Close())
}

func TestPythonSourceFolder_fetchesOnceAndOnlyWhereRequired(t *testing.T) {
	cache(t)
	sdist(t, "1.0")
	t.Setenv(peertest.RequirePeers, "")
	_, err := peertest.PythonSourceFolder("greeting==1.0")
	require.ErrorContains(t, err, "the source of greeting==1.0 is not fetched yet")

	t.Setenv(peertest.RequirePeers, "1")
	var both errgroup.Group
	folders := make([]string, 2)
	for i := range folders {
		both.Go(func() (err error) {
			folders[i], err = peertest.PythonSourceFolder("greeting==1.0")
			return err
		})
	}
	require.NoError(t, both.Wait())
	require.Equal(t, folders[0], folders[1])
	text, err := os.ReadFile(filepath.Join(folders[0], "tests", "case.txt"))
	require.NoError(t, err)
	require.Equal(t, "a case", string(text))

	t.Setenv(peertest.RequirePeers, "")
	again, err := peertest.PythonSource(t, "greeting==1.0")
	require.NoError(t, err)
	require.Equal(t, folders[0], again)
}

func TestPythonSourceFolder_reportsWhyItFails(t *testing.T) {
	cache(t)
	sdist(t, "1.0")
	t.Setenv(peertest.RequirePeers, "1")
	_, err := peertest.PythonSourceFolder("greeting==2.0")
	require.ErrorContains(t, err, "fetch the source of greeting==2.0")
	require.ErrorContains(t, err, "No matching distribution found")
	_, err = peertest.PythonSourceFolder("greeting")
	require.EqualError(t, err, "fetch the source of greeting: no version is pinned")
	t.Setenv(peertest.RequirePeers, "0")
	_, err = peertest.PythonSourceFolder("greeting==1.0")
	require.ErrorIs(t, err, peertest.ErrExcluded)
}
