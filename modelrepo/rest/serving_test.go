package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
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
	"github.com/iotenablers/enablers/storage"
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

func TestNewHandler_sendsALargeRangeBesideTheComparison(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	memory, memoryBlobs := openMemory(t)
	for _, config := range []modelrepo.Config{
		{Documents: store.Documents(), Blobs: store.Blobs()}, {Documents: memory, Blobs: memoryBlobs},
	} {
		s, err := modelrepo.New(config)
		require.NoError(t, err)
		prepare(t, s)
		data := strings.Repeat("0123456789", 1_000_000)
		_, err = s.Upload(t.Context(), version, "f", strings.NewReader(data), nil)
		require.NoError(t, err)
		again, err := modelrepo.New(config) // which has compared nothing
		require.NoError(t, err)
		handler := rest.NewHandler(again, nil)
		for span, want := range map[string]string{"bytes=1000001-": data[1000001:], "bytes=0-6999999": data[:7_000_000]} {
			sends(t, handler, span, want)
		}
	}
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

// unreadable are blobs that cannot be read from a position on.
type unreadable struct {
	storage.Blobs
	from int64
}

func (u unreadable) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	blob, err := u.Blobs.Open(ctx, key)
	return &unreadableReader{BlobReader: blob, from: u.from}, err
}

type unreadableReader struct {
	storage.BlobReader
	position, from int64
}

func (r *unreadableReader) Seek(offset int64, whence int) (to int64, err error) {
	r.position, err = r.BlobReader.Seek(offset, whence)
	return r.position, err
}

func (r *unreadableReader) Read(p []byte) (int, error) {
	if r.position >= r.from {
		return 0, fmt.Errorf("%w: bad sector", storage.ErrDamaged)
	}
	n, err := r.BlobReader.Read(p[:min(int64(len(p)), r.from-r.position)])
	r.position += int64(n)
	return n, err
}

// unreadableServer serves a repository with content that cannot be read behind 2,000,000 bytes, and is
// too large to be compared before a range is sent.
// What it logs is complete when it is closed.
func unreadableServer(t *testing.T) (*httptest.Server, *bytes.Buffer) {
	t.Helper()
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: unreadable{blobs, 2_000_000}})
	require.NoError(t, err)
	prepare(t, s)
	_, err = s.Upload(t.Context(), version, "f", strings.NewReader(strings.Repeat("0123456789", 900_000)), nil)
	require.NoError(t, err)
	var log bytes.Buffer
	server := httptest.NewServer(rest.NewHandler(s, &rest.HandlerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	t.Cleanup(server.Close)
	return server, &log
}

// failedOnce checks that one download was counted and logged as failed. It closes the server.
func failedOnce(t *testing.T, server *httptest.Server, log *bytes.Buffer) {
	t.Helper()
	_, body, err := ask(t, server, "GET", "/metrics")
	require.NoError(t, err)
	require.Contains(t, body, "\nmodelrepo_damaged_downloads_total 1\n")
	require.Contains(t, body, "\nmodelrepo_downloads_total 0\n")
	server.Close()
	require.Equal(t, 1, strings.Count(log.String(), `msg="a download failed"`), log.String())
}

func TestNewHandler_breaksRangesOffThatCannotBeRead(t *testing.T) {
	server, log := unreadableServer(t)
	answer, body, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: bytes=0-1000000,1999999-2500000")
	require.Equal(t, http.StatusPartialContent, answer.StatusCode, "it had begun")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, len(body), 1_500_000)
	failedOnce(t, server, log)
}

func TestNewHandler_refusesRangesThatCannotBeRead(t *testing.T) {
	server, log := unreadableServer(t)
	answer, body, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: bytes=0-9,2000000-2000009")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode, "nothing was sent")
	require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	require.Contains(t, body, "The stored content in format 'f' of model version 'w3c/sosa/1.0' is damaged.")
	failedOnce(t, server, log)
}

func TestNewHandler_sendsSeveralRanges(t *testing.T) {
	server, _ := unreadableServer(t)
	answer, body, err := ask(t, server, "GET", "/w3c/sosa/1.0/content", "Range: bytes=0-9,11-12")
	require.NoError(t, err)
	require.Equal(t, http.StatusPartialContent, answer.StatusCode)
	_, options, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	require.NoError(t, err)
	parts := multipart.NewReader(strings.NewReader(body), options["boundary"])
	for _, want := range []string{"0123456789", "12"} {
		part, err := parts.NextPart()
		require.NoError(t, err)
		data, err := io.ReadAll(part)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	_, err = parts.NextPart()
	require.ErrorIs(t, err, io.EOF)
}
