package rest_test

import (
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

// kernel is an answer over a connection to which the kernel can copy files. As
// with the real one, that works for a file, or a file in one LimitedReader.
type kernel struct {
	*httptest.ResponseRecorder
	files, others int64 // bytes
}

func (k *kernel) ReadFrom(from io.Reader) (int64, error) {
	limited, ok := from.(*io.LimitedReader)
	if ok {
		from = limited.R
	}
	n, err := io.Copy(struct{ io.Writer }{k.ResponseRecorder}, io.LimitReader(from, limited.N))
	if _, file := from.(*os.File); file {
		k.files += n
	} else {
		k.others += n
	}
	return n, err
}

// sends checks an answer with a range of the content, or all of it, and returns how many bytes
// the kernel sent by itself.
func sends(t *testing.T, handler http.Handler, span, want string) (files int64) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/w3c/sosa/1.0/content", nil)
	if span != "" {
		request.Header.Set("Range", span)
	}
	answer := &kernel{ResponseRecorder: httptest.NewRecorder()}
	handler.ServeHTTP(answer, request)
	require.True(t, want == answer.Body.String(), "%d of %d bytes", answer.Body.Len(), len(want))
	return answer.files
}

func TestNewHandler_letsTheKernelSendFiles(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs()})
	require.NoError(t, err)
	prepare(t, s)
	handler := rest.NewHandler(s, nil)
	data := strings.Repeat("0123456789", 300_000)
	_, err = s.Upload(t.Context(), version, "f", strings.NewReader(data), nil)
	require.NoError(t, err)
	require.Equal(t, int64(4), sends(t, handler, "bytes=5-8", "5678"))
	require.Equal(t, int64(len(data)-1000001), sends(t, handler, "bytes=1000001-", data[1000001:]))

	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	for _, changed := range []time.Time{time.Unix(1, 0), time.Unix(2, 0)} {
		require.NoError(t, os.Chtimes(files[0], changed, changed))
		require.Zero(t, sends(t, handler, "", data), "what has changed is compared first")
		require.Equal(t, int64(len(data)), sends(t, handler, "", data), "what was compared lately is not")
		require.Equal(t, int64(len(data)), sends(t, handler, "bytes=0-", data))
	}
	metrics := httptest.NewRecorder()
	handler.ServeHTTP(metrics, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Contains(t, metrics.Body.String(), "\nmodelrepo_downloads_total 8\n")
}

func TestNewHandler_sendsContentThatIsNotAFile(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	prepare(t, s)
	handler := rest.NewHandler(s, nil)
	data := strings.Repeat("0123456789", 300_000)
	_, err = s.Upload(t.Context(), version, "f", strings.NewReader(data), nil)
	require.NoError(t, err)
	for span, want := range map[string]string{"": data, "bytes=1000001-": data[1000001:], "bytes=5-8": "5678", "bytes=0-": data} {
		require.Zero(t, sends(t, handler, span, want))
	}
}
