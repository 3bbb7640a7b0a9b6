package rest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage/disk"
)

// damagedServer serves a repository with a version whose content is damaged: one bit of it
// has changed.
func damagedServer(t *testing.T, content string) (*httptest.Server, *modelrepo.Store) {
	t.Helper()
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs()})
	require.NoError(t, err)
	prepare(t, s)
	_, err = s.Upload(t.Context(), version, "f", strings.NewReader(content), nil)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	file, err := os.OpenFile(files[0], os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte("X"), int64(len(content)/2))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	server := httptest.NewServer(rest.NewHandler(s, nil))
	t.Cleanup(server.Close)
	return server, s
}

// ask sends a request and returns the answer with its body, and the error of reading that.
func ask(t *testing.T, server *httptest.Server, method, path string, header ...string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	require.NoError(t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read as far as it goes
	return answer, string(body), err
}

func TestNewHandler_refusesDamagedContent(t *testing.T) {
	server, _ := damagedServer(t, strings.Repeat("a", 100_000))
	for _, span := range []string{"Accept: */*", "Range: bytes=0-", "Range: bytes=0-9"} { // a range by then
		answer, body, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", span)
		require.NoError(t, err)
		require.Equal(t, http.StatusInternalServerError, answer.StatusCode, span)
		require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
		require.Equal(t, "damaged", answer.Header.Get("X-Error-Code"))
		for _, name := range []string{"ETag", "Repr-Digest", "Last-Modified", "Content-Range"} {
			require.Empty(t, answer.Header.Get(name), name)
		}
		require.Contains(t, body, "The stored content in format 'f' of model version 'w3c/sosa/1.0' is damaged. To repair it")
	}
	_, body, err := ask(t, server, "GET", "/metrics")
	require.NoError(t, err)
	require.Contains(t, body, "\nmodelrepo_damaged_contents 1\n")
	require.Contains(t, body, "\nmodelrepo_damaged_downloads_total 3\n")
	require.Contains(t, body, "\nmodelrepo_downloads_total 0\n")
}

func TestNewHandler_breaksDamagedContentOff(t *testing.T) {
	content := strings.Repeat("a", 5_000_000)
	server, _ := damagedServer(t, content)
	answer, body, err := ask(t, server, "GET", "/w3c/sosa/1.0/content")
	require.Equal(t, http.StatusOK, answer.StatusCode, "it had begun")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, len(body), len(content))
	_, body, err = ask(t, server, "GET", "/metrics")
	require.NoError(t, err)
	require.Contains(t, body, "\nmodelrepo_damaged_downloads_total 1\n")
}

func TestNewHandler_comparesSmallContentBeforeARange(t *testing.T) {
	for _, span := range []string{"bytes=10-19", "bytes=99990-", "bytes=0-1,5-6"} {
		server, _ := damagedServer(t, strings.Repeat("a", 100_000))
		answer, _, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: "+span)
		require.NoError(t, err)
		require.Equal(t, http.StatusInternalServerError, answer.StatusCode, span)
		require.Equal(t, "damaged", answer.Header.Get("X-Error-Code"))
		require.Empty(t, answer.Header.Get("Content-Range"))
		_, body, err := ask(t, server, "GET", "/metrics")
		require.NoError(t, err)
		require.Contains(t, body, "\nmodelrepo_damaged_contents 1\n")
		require.Contains(t, body, "\nmodelrepo_damaged_downloads_total 1\n")
	}
}

// largeContent is more than is compared before a range is sent.
var largeContent = strings.Repeat("a", 9<<20)

func TestNewHandler_breaksALargeRangeOfDamagedContentOff(t *testing.T) {
	server, s := damagedServer(t, largeContent)
	answer, body, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: bytes=6000000-")
	require.Equal(t, http.StatusPartialContent, answer.StatusCode, "it had begun")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, len(body), len(largeContent)-6_000_000)
	require.Equal(t, uint64(1), s.Stats().DamagedContents)
	answer, _, err = ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: bytes=6000000-")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode)
}

func TestNewHandler_comparesWhatSmallRangesWereSentOf(t *testing.T) {
	server, s := damagedServer(t, largeContent)
	for _, span := range []string{"bytes=7000000-7000009", "bytes=0-1,5-6"} {
		answer, _, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: "+span)
		require.NoError(t, err)
		require.Equal(t, http.StatusPartialContent, answer.StatusCode, "it is not compared at once")
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })
	require.Eventually(t, func() bool { return s.Stats().DamagedContents == 1 }, time.Minute, 5*time.Millisecond)
	answer, _, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: bytes=7000000-7000009")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode)
}

func TestNewHandler_scrubsOnRequest(t *testing.T) {
	server, s := damagedServer(t, strings.Repeat("a", 100_000))
	refused, err := http.Post(server.URL+"/x/scrub", "application/x-tar", strings.NewReader("archive"))
	require.NoError(t, err)
	require.NoError(t, refused.Body.Close())
	require.Equal(t, http.StatusBadRequest, refused.StatusCode)

	answer, body, err := ask(t, server, "POST", "/x/scrub")
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.StatusCode)
	require.JSONEq(t, `{"requested":true,"running":false,"contents":0,"bytes":0,"damaged":0}`, body)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	t.Cleanup(func() { require.NoError(t, <-ended) })
	require.Eventually(t, func() bool {
		_, body, err := ask(t, server, "GET", "/i")
		var known modelrepo.Integrity
		return err == nil && json.Unmarshal([]byte(body), &known) == nil && !known.Scrub.Ended.IsZero() &&
			known.DamagedContents == 1 && known.Damaged[0].Versions[0] == modelrepo.Hurt{Version: "w3c/sosa/1.0", Format: "f"}
	}, time.Minute, 5*time.Millisecond)
	answer, _, err = ask(t, server, "POST", "/scrub")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, "a namespace of that name could not be imported")
}
