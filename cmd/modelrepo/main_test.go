package main

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/storage/disk"
)

// start runs the program and returns a client of it, its URL, and the program.
func start(t *testing.T, args ...string) (*client.Client, string, *servertest.Program) {
	t.Helper()
	p := servertest.Start(t, run, append([]string{"-listen", "127.0.0.1:0", "-log-level", "error"}, args...)...)
	url := p.Listening("")
	client, err := client.New(url, nil)
	require.NoError(t, err)
	return client, url, p
}

func TestRun_restoresContent(t *testing.T) {
	dir := t.TempDir()
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	client, _, p := start(t, "-data", dir)
	require.NoError(t, client.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, client.CreateModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}))
	require.NoError(t, client.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
	content := bytes.Repeat([]byte("turtle "), 1<<17)
	_, err := client.Upload(t.Context(), at, "text/turtle", bytes.NewReader(content), nil)
	require.NoError(t, err)
	require.NoError(t, p.Stop())

	client, _, p = start(t, "-store", "disk:"+dir)
	opened, err := client.Open(t.Context(), at, "")
	require.NoError(t, err)
	back, err := io.ReadAll(opened)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	require.True(t, bytes.Equal(content, back))
	require.NoError(t, p.Stop())
}

// Programs read the repository at /, and people open its pages there.
func TestRun_answersTheFirstPathWithPagesOrJSON(t *testing.T) {
	_, url, p := start(t, "-store", "memory:")
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, line := range []struct {
		path, accept, to, body string
	}{
		{"/", "*/*", "", `{"namespaces":{"items":[],"totalCount":0}}`},
		{"/", "application/json", "", `{"namespaces":`},
		{"/", "text/html,application/xhtml+xml,*/*;q=0.8", "/ui/", ""},
		{"/ui/", "text/html", "/ui/models/", ""},
		{"/ui/models/", "text/html", "", "There is no namespace yet."},
		{"/none", "text/html", "", `{"error":"Namespace 'none' not found`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+line.path, nil)
		require.NoError(t, err)
		request.Header.Set("Accept", line.accept)
		answer, err := browser.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, line.to, answer.Header.Get("Location"), line.path)
		require.Contains(t, string(body), line.body, line.path)
	}
	require.NoError(t, p.Stop())
}

func TestRun_writesNoFolderForAMemoryStore(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	client, url, p := start(t, "-store", "memory:", "-data", data)
	require.NoError(t, client.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	answer, err := http.Get(url + "/readyz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, p.Stop())
	require.NoDirExists(t, data)
}

func TestRun_namesTheFlagOfAWrongStore(t *testing.T) {
	dir := t.TempDir()
	_, _, _ = start(t, "-data", dir)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-store", "ftp://user:secret@host"}, `-store: the scheme "ftp" is not known; expected disk:DIR`},
		{[]string{"-store", "here"}, `-store: "here" has no scheme`},
		{[]string{"-store", "disk:"}, "-store: disk: needs a folder"},
		{[]string{"-store", "memory:x"}, "-store: memory: nothing may follow"},
		{[]string{"-store", "memory:", "-blobs", "tape:"}, `-blobs: the scheme "tape" is not known`},
		{[]string{"-data", dir}, "-data: "},
		{[]string{"-store", "s3://key:secret@host/bucket"}, "-store: s3: keeps content alone"},
		{[]string{"-store", "memory:", "-blobs", "s3://key:secret@host/"},
			"-blobs: s3 URL (not shown, for it may hold a secret): the bucket is missing"},
		{[]string{"-store", "memory:", "-blobs", "s3://key:sec%ret@host/b"}, "-blobs: s3 URL (not shown"},
		{[]string{"-store", "mongodb:user:secret@host"}, "-store: mongo: Config.URI: it must begin with mongodb://"},
		{[]string{"-store", "mongodb://user:s/secret@host"},
			"-store: mongodb: the name of the database, behind the hosts, is not valid"},
		{[]string{"-store", "mongodb://user:sec%ZZret@host/db"},
			"-store: mongo: Config.URI: it is not a valid connection string"},
		{[]string{"-store", "tape:user:secret@host"}, `the scheme "tape" is not known`},
		{[]string{"-store-timeout", "0s"}, "-store-timeout (MODELREPO_STORE_TIMEOUT): expected more than nothing"},
		{[]string{"-max-content", "-1"}, "-max-content (MODELREPO_MAX_CONTENT): expected 0 or more, got -1"},
		{[]string{"-grace", "0s"}, "-grace (MODELREPO_GRACE): expected more than nothing"},
		{[]string{"-scrub-interval", "-1s"}, "-scrub-interval (MODELREPO_SCRUB_INTERVAL): expected 0 or more"},
		{[]string{"-listen", "nowhere"}, "-listen"},
	} {
		err := run(t.Context(), append([]string{"-listen", "127.0.0.1:0"}, c.args...), io.Discard, io.Discard)
		require.ErrorContains(t, err, c.want)
		for _, part := range []string{"secret@", "user:", "sec%", "ret@", "key:"} {
			require.NotContains(t, err.Error(), part)
		}
	}
}

func TestRun_collectsAtOnce(t *testing.T) {
	dir := t.TempDir()
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	client, _, p := start(t, "-data", dir)
	require.NoError(t, client.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(t, client.CreateModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}))
	require.NoError(t, client.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
	for _, format := range []string{"kept", "gone"} {
		_, err := client.Upload(t.Context(), at, format, strings.NewReader(format), nil)
		require.NoError(t, err)
	}
	require.NoError(t, client.DeleteContent(t.Context(), at, "gone", modelrepo.Condition{}))
	files := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
		require.NoError(t, err)
		return len(found)
	}
	require.Equal(t, 2, files())
	err := run(t.Context(), []string{"collect", "-data", dir}, io.Discard, io.Discard)
	require.ErrorIs(t, err, disk.ErrLocked, "the server runs")
	require.NoError(t, p.Stop())

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"collect", "-data", dir}, &out, io.Discard))
	require.Equal(t, "removed 1 contents with 4 bytes, and 1 blobs\n", out.String())
	require.Equal(t, 1, files())
	empty := filepath.Join(t.TempDir(), "wrong")
	err = run(t.Context(), []string{"collect", "-data", empty}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "-data: the folder has no repository")
	require.NoDirExists(t, empty)
	require.Error(t, run(t.Context(), []string{"collect", "-data", dir, "more"}, io.Discard, io.Discard))
}

func TestRun_helpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, &out, io.Discard))
	for _, name := range []string{"-listen", "-data", "-store", "-blobs", "-grace", "-config", "-log-level", "MODELREPO_STORE"} {
		require.Contains(t, out.String(), name)
	}
}

func TestRun_refusesPagesOfOtherOrigins(t *testing.T) {
	_, url, _ := start(t, "-store", "memory:", "-hosts", "models.example.org,https://app.example.org")
	httpapitest.CheckServer(t, url, "/healthz", "models.example.org")
	httpapitest.CheckTrusted(t, url, "https://app.example.org", []string{"GET /healthz", "POST /w3c", "DELETE /w3c", "GET /.enablers/sign-in"})
}

func TestRun_printsTheVersion(t *testing.T) { servertest.CheckVersion(t, "modelrepo", run) }

func TestRun_endsWithStatusTwoForAWrongSetting(t *testing.T) {
	servertest.CheckUsage(t, run, []string{"-listen", "127.0.0.1:0", "-data", t.TempDir()},
		[]string{"-store", "nonsense"}, []string{"-store", "mongodb://"}, []string{"-blobs", "s3://"})
}
