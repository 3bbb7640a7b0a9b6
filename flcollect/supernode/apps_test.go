package supernode_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/supernode"
)

func TestApps_Find_takesTheNewestVersion(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"1.9.0", "1.10.0", "1.10.0rc1", "1.2", "2.0.dev1", "0.99"} {
		addApp(t, dir, "acme", "vision", version)
	}
	addApp(t, dir, "acme", "sound", "3.0")
	apps, err := supernode.OpenApps(t.Context(), dir)
	require.NoError(t, err)
	app, err := apps.Find("acme/vision==1.9.0")
	require.NoError(t, err)
	require.Equal(t, "acme/vision==1.9.0", app.String())
	app, err = apps.Find("acme/vision")
	require.NoError(t, err)
	require.Equal(t, "2.0.dev1", app.Version)
	_, err = apps.Find("acme/vision==7")
	require.ErrorIs(t, err, supernode.ErrNoApp)
	require.ErrorContains(t, err, `"acme/sound==3.0"`)
	require.ErrorContains(t, err, `"acme/vision==1.10.0"`)
	list, err := apps.List()
	require.NoError(t, err)
	var names []string
	for _, app := range list {
		names = append(names, app.String())
	}
	require.Equal(t, []string{"acme/sound==3.0", "acme/vision==2.0.dev1", "acme/vision==1.10.0", "acme/vision==1.10.0rc1",
		"acme/vision==1.9.0", "acme/vision==1.2", "acme/vision==0.99"}, names)
}

func TestApps_folder_isReadAgainWhenItChanges(t *testing.T) {
	dir := t.TempDir()
	apps, err := supernode.OpenApps(t.Context(), dir)
	require.NoError(t, err)
	_, err = apps.Find("acme/vision")
	require.ErrorContains(t, err, "has no apps")
	content := addApp(t, dir, "acme", "vision", "1.0")
	app, err := apps.Find("acme/vision")
	require.NoError(t, err)
	got, err := app.Content()
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.NoError(t, os.WriteFile(app.File, []byte("other"), 0o600))
	_, err = app.Content()
	require.ErrorContains(t, err, "has changed while a run uses it")
	_, err = apps.Find("acme/vision")
	require.ErrorContains(t, err, "acme.vision.1-0.fab: check a FAB")
	require.Len(t, apps.Problems(), 1)
	require.NoError(t, os.Remove(app.File))
	_, err = apps.Find("acme/vision")
	require.ErrorContains(t, err, "has no apps")
	require.Empty(t, apps.Problems())
	require.NoError(t, os.RemoveAll(dir))
	_, err = apps.Find("acme/vision")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = supernode.OpenApps(t.Context(), dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestServer_OpenRun_namesWhatIsWrong(t *testing.T) {
	w := start(t, supernode.Config{})
	for problem, config := range map[string]supernode.RunConfig{
		"it has the ID 0":                {App: "acme/vision"},
		"no such app":                    {ID: 1, App: "acme/none"},
		`records are "none"`:             {ID: 1, App: "acme/vision", Records: "none"},
		`value "x": a run's configurati`: {ID: 1, App: "acme/vision", Config: map[string]any{"x": []int{1}}},
	} {
		_, err := w.OpenRun(config)
		require.ErrorContains(t, err, problem)
	}
	w.run(supernode.RunConfig{ID: 5})
	_, err := w.OpenRun(supernode.RunConfig{ID: 5, App: "acme/vision"})
	require.ErrorContains(t, err, "it is open already")
	none, err := supernode.New(supernode.Config{})
	require.NoError(t, err)
	_, err = none.OpenRun(supernode.RunConfig{ID: 1, App: "acme/vision"})
	require.ErrorContains(t, err, "the collector has no folder of apps")
}

// raw returns an archive of the files as they are.
func raw(t testing.TB, files ...[2]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	for _, file := range files {
		w, err := archive.Create(file[0])
		require.NoError(t, err)
		_, err = w.Write([]byte(file[1]))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return buffer.Bytes()
}

func TestCheckFAB_refusesWhatIsNoApp(t *testing.T) {
	good := project("acme", "vision", "1.0")
	for problem, content := range map[string][]byte{
		"zip: not a valid zip file":             []byte("PK"),
		"has no .info/CONTENT":                  raw(t, [2]string{"pyproject.toml", good}),
		"has other content than":                raw(t, [2]string{"pyproject.toml", good}, [2]string{".info/CONTENT", "pyproject.toml,00,8"}),
		"expected name, SHA-256 and bits":       raw(t, [2]string{"pyproject.toml", good}, [2]string{".info/CONTENT", "pyproject.toml"}),
		"which is not there, or twice":          raw(t, [2]string{"pyproject.toml", good}, [2]string{".info/CONTENT", "a.py,00,8"}),
		`does not list "b.py"`:                  append([]byte(nil), unlisted(t)...),
		`"../x.py" is not one of a file`:        bundle(t, [2]string{"pyproject.toml", good}, [2]string{"../x.py", ""}),
		`"/etc/x" is not one of a file`:         bundle(t, [2]string{"pyproject.toml", good}, [2]string{"/etc/x", ""}),
		"it has no pyproject.toml":              bundle(t, [2]string{"a.py", ""}),
		`tool.flwr.app.publisher is ""`:         bundle(t, [2]string{"pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\n"}),
		"project.name is \"a/b\"":               bundle(t, [2]string{"pyproject.toml", project("acme", "a/b", "1")}),
		"project.version: it is not text":       bundle(t, [2]string{"pyproject.toml", "[project]\nname = \"a\"\nversion = 1\n"}),
		"larger than is allowed":                bundle(t, [2]string{"pyproject.toml", good}, [2]string{"big", strings.Repeat("\x00", 65<<20)}),
		"it has two files \"pyproject.toml\"":   raw(t, [2]string{"pyproject.toml", good}, [2]string{"pyproject.toml", good}),
		"it has 10001 files, at most 10000 are": many(t),
	} {
		_, _, err := supernode.CheckFAB(content)
		require.ErrorContains(t, err, problem)
	}
}

// Releases up to 1.20 at least do not list the file.
func TestCheckFAB_readsAProjectThatIsNotListed(t *testing.T) {
	empty := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	id, version, err := supernode.CheckFAB(raw(t, [2]string{"pyproject.toml", project("acme", "vision", "1.0")}, [2]string{"a.py", ""},
		[2]string{".info/CONTENT", "a.py," + empty + ",0\n"}))
	require.NoError(t, err)
	require.Equal(t, []string{"acme/vision", "1.0"}, []string{id, version})
}

func unlisted(t *testing.T) []byte {
	good := project("acme", "vision", "1.0")
	fab := bundle(t, [2]string{"pyproject.toml", good})
	archive, err := zip.NewReader(bytes.NewReader(fab), int64(len(fab)))
	require.NoError(t, err)
	manifest, err := archive.Open(".info/CONTENT")
	require.NoError(t, err)
	var text bytes.Buffer
	_, err = text.ReadFrom(manifest)
	require.NoError(t, err)
	return raw(t, [2]string{"pyproject.toml", good}, [2]string{".info/CONTENT", text.String()}, [2]string{"b.py", ""})
}

func many(t *testing.T) []byte {
	files := make([][2]string, 10_001)
	for i := range files {
		files[i] = [2]string{fmt.Sprint(i), ""}
	}
	return raw(t, files...)
}

func TestCheckFAB_readsWhatTOMLAllows(t *testing.T) {
	text := `# an app
title = """
[project]
name = "no"
"""
[build-system]
requires = [
  "hatchling", # name = "no"
  "[project]",
]

[project]
name = 'vision' # its name
version = "2.1"
description = "a = b [project]"
authors = [{ name = "A", email = "a@b" },
  { name = "B" }]

[[tool.other]]
name = "x"

[tool . "flwr" . app]
publisher = "acme"

[tool.flwr.app.config]
name = "not this"
`
	id, version, err := supernode.CheckFAB(bundle(t, [2]string{"pyproject.toml", text}))
	require.NoError(t, err)
	require.Equal(t, "acme/vision", id)
	require.Equal(t, "2.1", version)
}

func FuzzCheckFAB(f *testing.F) {
	f.Add(bundle(f, [2]string{"pyproject.toml", project("acme", "vision", "1.0")}))
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, content []byte) {
		id, version, err := supernode.CheckFAB(content)
		if err == nil {
			require.NotEmpty(t, version)
			require.Equal(t, 1, strings.Count(id, "/"))
			require.Equal(t, id, filepath.ToSlash(filepath.Clean(id)))
		}
	})
}
