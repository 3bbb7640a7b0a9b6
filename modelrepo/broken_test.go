package modelrepo_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_Upload_leavesNothingWhenAConnectionBreaks(t *testing.T) {
	documents, blobs := openDisk(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	prepare(t, s)
	handler := rest.NewHandler(s, nil)
	var ended atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer ended.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	inFlight := func() bool {
		doc, err := documents.Get(t.Context(), "version/w3c/sosa/1.0")
		require.NoError(t, err)
		return strings.Contains(string(doc.Data), `"uploads"`)
	}
	for i, sent := range []int{0, 1, 4096, 1 << 20} {
		connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		require.NoError(t, err)
		const head = "--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n"
		_, err = fmt.Fprintf(connection,
			"POST /w3c/sosa/1.0/content?format=f HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; "+
				"boundary=b\r\nContent-Length: %d\r\n\r\n%s%s",
			2<<20, head, strings.Repeat("x", sent))
		require.NoError(t, err)
		if sent > 4096 {
			require.Eventually(t, inFlight, patience, time.Millisecond)
		}
		require.NoError(t, connection.Close())
		require.Eventually(t, func() bool { return int(ended.Load()) == i+1 && !inFlight() }, patience, time.Millisecond)
		for info, err := range blobs.List(t.Context(), "") {
			require.NoError(t, err)
			t.Fatalf("%q is left", info.Key)
		}
	}
	require.NoError(t, s.DeleteVersion(t.Context(), crashVersion))
}

// TestStore_Upload_saysThatAClientHasStalled has a client that sends a part and then nothing, and
// reads the answer. The deadline of the connection also ends the context of its request.
func TestStore_Upload_saysThatAClientHasStalled(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	prepare(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	stalled := readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	})
	_, err = s.Upload(ctx, crashVersion, "f", stalled, nil)
	require.ErrorIs(t, err, modelrepo.ErrIncomplete)
	require.ErrorContains(t, err, "No bytes of the content arrived for too long. Nothing was stored.")
	require.NoError(t, s.DeleteVersion(t.Context(), crashVersion))
}

// TestStore_hidesFaultsOfTheStorageFromClients checks that an internal fault
// is a 500 without details, and never a 404.
func TestStore_hidesFaultsOfTheStorageFromClients(t *testing.T) {
	documents, blobs := openMemory(t)
	healthy, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	prepare(t, healthy)
	_, err = healthy.Upload(t.Context(), crashVersion, "f", strings.NewReader("x"), nil)
	require.NoError(t, err)

	serve := func(documents storage.Documents, blobs storage.Blobs) func(method, path string) (int, string) {
		s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
		require.NoError(t, err)
		server := httptest.NewServer(rest.NewHandler(s, nil))
		t.Cleanup(server.Close)
		return func(method, path string) (int, string) {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
			require.NoError(t, err)
			answer, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			return answer.StatusCode, string(body)
		}
	}
	dead := &crasher{crashAt: 1}
	ask := serve(crashingDocuments{dead, documents}, crashingBlobs{dead, blobs})
	for _, request := range []string{"GET /", "POST /acme", "GET /w3c", "GET /w3c?page=1", "DELETE /w3c", "POST /w3c/m",
		"GET /w3c/sosa", "DELETE /w3c/sosa",
		"POST /w3c/sosa/2", "GET /w3c/sosa/1.0", "DELETE /w3c/sosa/1.0", "GET /w3c/sosa/1.0/content",
		"DELETE /w3c/sosa/1.0/content?format=f", "GET /c/w3c/sosa"} {
		method, path, _ := strings.Cut(request, " ")
		status, body := ask(method, path)
		require.Equal(t, http.StatusInternalServerError, status, request)
		require.JSONEq(t, `{"error":"Internal server error."}`, body, request)
	}
	status, body := ask("GET", "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "the process has crashed")

	away := &crasher{crashAt: 1, cause: fmt.Errorf("get document: %w", storage.ErrUnavailable)}
	status, body = serve(crashingDocuments{away, documents}, blobs)("GET", "/w3c")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"error":"The storage cannot be reached. Please try again."}`, body)

	away = &crasher{crashAt: 1, cause: fmt.Errorf("open blob: %w", storage.ErrUnavailable)}
	ask = serve(documents, crashingBlobs{away, blobs})
	for _, request := range []string{"GET /w3c/sosa/1.0/content", "HEAD /w3c/sosa/1.0/content", "GET /c/w3c/sosa/1.0/f", "GET /x/w3c"} {
		method, path, _ := strings.Cut(request, " ")
		status, body = ask(method, path)
		require.Equal(t, http.StatusServiceUnavailable, status, "%s: %s", request, body)
	}

	status, body = serve(documents, storage.NewMemoryBlobs())("GET", "/w3c/sosa/1.0/content") // the blobs are lost
	require.Equal(t, http.StatusInternalServerError, status, body)
}
