package rest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
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

func TestNewHandler_letsTheKernelSendFiles(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (storage.Documents, storage.Blobs){"disk": openDisk,
		"memory": openMemory} {
		documents, blobs := open(t)
		s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
		require.NoError(t, err)
		require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
		require.NoError(t, s.CreateModel(t.Context(), model, modelrepo.ModelUpdate{}))
		require.NoError(t, s.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}))
		handler := rest.NewHandler(s, nil)
		data := strings.Repeat("0123456789", 300_000)
		_, err = s.Upload(t.Context(), version, "f", strings.NewReader(data), nil)
		require.NoError(t, err)
		for span, want := range map[string]string{"": data, "bytes=1000001-": data[1000001:], "bytes=5-8": "5678"} {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/w3c/sosa/1.0/content", nil)
			if span != "" {
				request.Header.Set("Range", span)
			}
			answer := &kernel{ResponseRecorder: httptest.NewRecorder()}
			handler.ServeHTTP(answer, request)
			require.True(t, want == answer.Body.String())
			require.Equal(t, name == "disk", answer.files == int64(len(want)), "%d bytes of files", answer.files)
			require.Equal(t, name == "memory", answer.others == int64(len(want)), "%d bytes of others", answer.others)
		}
		metrics := httptest.NewRecorder()
		handler.ServeHTTP(metrics, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Contains(t, metrics.Body.String(), "\nmodelrepo_downloads_total 3\n")
	}
}
