package modelrepo_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

func openBench(b *testing.B, kind string) (storage.Documents, storage.Blobs) {
	b.Helper()
	if kind == "memory" {
		return storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	}
	store, err := disk.Open(b.Context(), b.TempDir(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	return store.Documents(), store.Blobs()
}

// serve returns the URL of a repository on disk with one version.
func serve(b *testing.B) (string, *client.Client) {
	b.Helper()
	documents, blobs := openBench(b, "disk")
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(b, err)
	server := httptest.NewServer(rest.NewHandler(s, nil))
	b.Cleanup(server.Close)
	c, err := client.New(server.URL, nil)
	require.NoError(b, err)
	require.NoError(b, c.CreateNamespace(b.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	require.NoError(b, c.CreateModel(b.Context(), crashModel, modelrepo.ModelUpdate{}))
	require.NoError(b, c.CreateVersion(b.Context(), crashVersion, modelrepo.VersionUpdate{}))
	return server.URL, c
}

// BenchmarkUpload is one large file over HTTP, client and server in one
// process, new bytes each time.
func BenchmarkUpload(b *testing.B) {
	const size = 256 << 20
	url, _ := serve(b)
	data := make([]byte, size)
	_, _ = rand.Read(data)
	head := []byte("--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n")
	b.SetBytes(size)
	for b.Loop() {
		data[0]++
		body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(data), bytes.NewReader([]byte("\r\n--b--\r\n")))
		answer, err := http.Post(url+"/w3c/sosa/1.0/content?format=f&overwrite=1", "multipart/form-data; boundary=b", body)
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(err, answer)
		}
		_ = answer.Body.Close()
	}
}

// BenchmarkDownload is one large file over HTTP.
func BenchmarkDownload(b *testing.B) {
	const size = 256 << 20
	url, c := serve(b)
	_, err := c.Upload(b.Context(), crashVersion, "f", io.LimitReader(rand.Reader, size), nil)
	require.NoError(b, err)
	buffer := make([]byte, 1<<20)
	b.SetBytes(size)
	for b.Loop() {
		answer, err := http.Get(url + "/w3c/sosa/1.0/content")
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, answer.Body, buffer); err != nil || n != size {
			b.Fatal(n, err)
		}
		_ = answer.Body.Close()
	}
}

// BenchmarkSmallUploads is 4 KiB uploads over 32 connections, each into a
// version of its own.
func BenchmarkSmallUploads(b *testing.B) {
	_, c := serve(b)
	var clients, number atomic.Int64
	b.SetParallelism(16) // of 2 processors
	b.RunParallel(func(pb *testing.PB) {
		at := crashVersion
		at.Version = fmt.Sprintf("v%d", clients.Add(1))
		if err := c.CreateVersion(b.Context(), at, modelrepo.VersionUpdate{}); err != nil {
			b.Error(err)
			return
		}
		data := make([]byte, 4096)
		for pb.Next() {
			copy(data, fmt.Sprint(number.Add(1)))
			if _, err := c.Upload(b.Context(), at, "f", bytes.NewReader(data),
				&modelrepo.UploadOptions{Overwrite: true}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
