package backup_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/storage/disk"
)

func TestSource_Handler_answersWithoutAnArchive(t *testing.T) {
	dir := t.TempDir()
	store, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err)
	handler := backup.Of(dir, datafolder.Annotator, store, nil).Handler()
	ask := func(h http.Handler, method string) (int, string) {
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(method, "/", nil))
		return recorder.Code, recorder.Body.String()
	}
	status, _ := ask(handler, http.MethodPost)
	require.Equal(t, http.StatusMethodNotAllowed, status)
	snapshot, err := store.Snapshot(t.Context())
	require.NoError(t, err)
	status, text := ask(handler, http.MethodGet)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "another backup of this server is running")
	require.NoError(t, snapshot.Close())
	require.NoError(t, store.Close())
	status, _ = ask(handler, http.MethodGet)
	require.Equal(t, http.StatusInternalServerError, status)
	var none *disk.Store
	status, text = ask(backup.Of(dir, datafolder.Annotator, none, nil).Handler(), http.MethodGet)
	require.Equal(t, http.StatusNotImplemented, status)
	require.Contains(t, text, "mongodump")
}
