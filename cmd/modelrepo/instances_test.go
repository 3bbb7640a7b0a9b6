package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// withToken returns the status of a request with a token.
func withToken(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// A server that had a folder brings its token to the database, where all others find it.
func TestRun_sharesItsTokenInADatabase(t *testing.T) {
	database := mongotest.StartProcess(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	_, _, p := start(t, "-data", dirs[0], "-access", "token")
	require.NoError(t, p.Stop())
	before, err := os.ReadFile(filepath.Join(dirs[0], "access-token"))
	require.NoError(t, err)
	token := strings.TrimSpace(string(before))

	database.Kill() // the first one waits for it
	args := []string{"-store", database.URI + "/models", "-store-timeout", "5s", "-access", "token"}
	_, url, p := start(t, append(args, "-data", dirs[0])...)
	status, body := get(t, url+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	database.Restart()
	becomes(t, url, http.StatusOK)
	_, other, q := start(t, append(args, "-data", dirs[1])...)
	for _, at := range []string{url, other} {
		require.Equal(t, http.StatusOK, withToken(t, at, token))
		require.Equal(t, http.StatusUnauthorized, withToken(t, at, token+"x"))
	}
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, "access-token"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		kept, err := os.ReadFile(filepath.Join(dir, "access-token"))
		require.NoError(t, err)
		require.Equal(t, before, kept)
	}
	require.NoError(t, p.Stop())
	require.NoError(t, q.Stop())
	require.NotContains(t, p.Log.String()+q.Log.String(), token)
}

func TestRun_refusesTheDatabaseOfAnotherServer(t *testing.T) {
	database := mongotest.Start(t)
	name := database.Database(t)
	store, err := mongo.Open(t.Context(), database.Config(name))
	require.NoError(t, err)
	_, err = store.Documents().Create(t.Context(), "owner/weather", []byte(`{"owner":"weather","format":1}`))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	for _, args := range [][]string{{"-access", "token"}, nil} {
		err := run(t.Context(), append(args, "-listen", "127.0.0.1:0", "-store", database.URI+"/"+name, "-data", t.TempDir()),
			io.Discard, io.Discard)
		require.ErrorContains(t, err, "it is that of weather, and this is modelrepo")
	}
}
