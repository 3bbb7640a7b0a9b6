package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

var sosa = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}

// publish uploads a model, with everything above it.
func publish(t *testing.T, client *client.Client, content string) {
	t.Helper()
	require.NoError(t, client.CreateNamespace(t.Context(), sosa.Namespace, modelrepo.NamespaceUpdate{}))
	require.NoError(t, client.CreateModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{}))
	require.NoError(t, client.CreateVersion(t.Context(), sosa, modelrepo.VersionUpdate{}))
	_, err := client.Upload(t.Context(), sosa, "text/turtle", strings.NewReader(content), nil)
	require.NoError(t, err)
}

func fetch(ctx context.Context, client *client.Client) (string, error) {
	content, err := client.Open(ctx, sosa, "")
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }()
	data, err := io.ReadAll(content)
	return string(data), err
}

// get requests one of the paths of the service.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// becomes waits until /readyz has a status.
func becomes(t *testing.T, url string, status int) {
	t.Helper()
	require.Eventually(t, func() bool { got, _ := get(t, url+"/readyz"); return got == status }, patience, 20*time.Millisecond)
}

func TestRun_restoresContentFromADatabase(t *testing.T) {
	server := mongotest.Start(t)
	database := server.Database(t)
	unused := filepath.Join(t.TempDir(), "unused")
	t.Setenv("MODELREPO_STORE", server.URI+"/"+database)
	t.Setenv("MODELREPO_STORE_TIMEOUT", "10s")
	client, _, p := start(t, "-data", unused)
	publish(t, client, "kept")
	require.NoError(t, p.Stop())

	client, _, p = start(t, "-data", unused)
	text, err := fetch(t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, "kept", text)
	require.NoError(t, p.Stop())
	require.NoDirExists(t, unused)
}

func TestRun_waitsForADatabaseAndReportsItsLoss(t *testing.T) {
	server := mongotest.StartProcess(t)
	server.Kill()
	where := server.URI + "/late"
	client, url, p := start(t, "-store", where, "-store-timeout", "2s")
	status, _ := get(t, url+"/healthz")
	require.Equal(t, http.StatusOK, status)
	status, body := get(t, url+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	require.Contains(t, body, server.Address())
	require.Contains(t, p.Log.String(), "the store cannot be used; trying again")
	require.Contains(t, p.Log.String(), server.Address())
	status, body = get(t, url+"/")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"error":"The storage cannot be reached. Please try again."}`, body)
	status, body = get(t, url+"/docs/")
	require.Equal(t, http.StatusServiceUnavailable, status, "no request reaches the repository before its database is known: %s", body)

	server.Restart()
	becomes(t, url, http.StatusOK)
	publish(t, client, "late")

	server.Kill()
	becomes(t, url, http.StatusServiceUnavailable)
	_, err := fetch(t.Context(), client)
	require.ErrorContains(t, err, "503")
	server.Restart()
	becomes(t, url, http.StatusOK)
	require.Eventually(t, func() bool {
		text, err := fetch(t.Context(), client)
		return err == nil &&
			text == "late"
	}, patience, 50*time.Millisecond)
	require.NoError(t, p.Stop())
}

func TestRun_stopsWhileItWaitsAndShowsNoCredentials(t *testing.T) {
	away := mongotest.UnusedAddress(t)
	for _, args := range [][]string{
		{"-store", "mongodb://dbuser:hidden@" + away + "/db"},
		{"-store", "memory:", "-blobs", "s3://dbuser:hidden@" + away + "/bucket?insecure=true&region=here"},
	} {
		client, url, p := start(t, append(args, "-store-timeout", "50ms", "-log-level", "debug")...)
		status, body := get(t, url+"/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		_, err := client.Upload(t.Context(), sosa, "f", strings.NewReader("x"), nil)
		require.Error(t, err)
		require.NoError(t, p.Stop())
		require.Contains(t, p.Log.String(), away)
		for _, said := range []string{body, err.Error(), p.Log.String()} {
			require.NotContains(t, said, "hidden")
			require.NotContains(t, said, "dbuser")
		}
	}
}

func TestRun_storesContentInABucket(t *testing.T) {
	server := s3test.StartMinIOProcess(t)
	dir := t.TempDir()
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	t.Setenv("MODELREPO_BLOBS", "s3://"+server.Address()+"/models/one?insecure=true&create-bucket=true")
	client, _, p := start(t, "-data", dir)
	content := strings.Repeat("much ", 1<<18)
	publish(t, client, content)
	require.NoError(t, p.Stop())

	bucket, err := s3.Open(t.Context(), s3.Config{Endpoint: server.Address(), Bucket: "models", Prefix: "one",
		Insecure: true, SweepInterval: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, bucket.Close()) }()
	var found []storage.BlobInfo
	for info, err := range bucket.Blobs().List(t.Context(), "") {
		require.NoError(t, err)
		found = append(found, info)
	}
	require.Len(t, found, 1)
	require.Equal(t, int64(len(content)), found[0].Size)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		name := filepath.Base(path)
		if info, _ := os.Stat(path); info != nil && info.Mode().IsRegular() && name != "store.db" && name != "format.json" {
			t.Errorf("%s holds content", path)
		}
		return err
	}))

	client, url, p := start(t, "-data", dir, "-store-timeout", "10s")
	text, err := fetch(t.Context(), client)
	require.NoError(t, err)
	require.True(t, text == content)

	server.Kill()
	becomes(t, url, http.StatusServiceUnavailable)
	server.Restart()
	becomes(t, url, http.StatusOK)
	require.NoError(t, p.Stop())
}

func TestRun_createsABucketOnceItsServerIsThere(t *testing.T) {
	server := s3test.StartMinIOProcess(t)
	server.Kill()
	client, url, p := start(t, "-store", "memory:", "-store-timeout", "2s",
		"-blobs", "s3://"+s3test.AccessKey+":"+s3test.SecretKey+"@"+server.Address()+"/late?insecure=true&create-bucket=true")
	becomes(t, url, http.StatusServiceUnavailable)
	server.Restart()
	becomes(t, url, http.StatusOK)
	publish(t, client, "late")
	require.NoError(t, p.Stop())
}
