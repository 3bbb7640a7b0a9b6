package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

const many = 20_000

// manyModels are documents with a namespace "w3c" of many models, which exist only as they are
// read.
type manyModels struct {
	storage.Documents
	read   atomic.Int64
	broken atomic.Int64 // from which model on reading fails; 0 for none
}

func (m *manyModels) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if prefix != "model/w3c/" {
		return m.Documents.List(ctx, prefix, after, limit)
	}
	next := 0
	if after != "" {
		if _, err := fmt.Sscanf(after, "model/w3c/m%d", &next); err != nil {
			return nil, err
		}
		next++
	}
	if broken := m.broken.Load(); broken > 0 && int64(next+limit) > broken {
		return nil, errors.New("the disk is broken")
	}
	var page []storage.Document
	for ; next < many && len(page) < limit; next++ {
		page = append(page, storage.Document{Key: fmt.Sprintf("model/w3c/m%06d", next), Revision: 1, Data: []byte(`{"id":"x"}`)})
	}
	m.read.Add(int64(len(page)))
	return page, nil
}

func newManyModels(t *testing.T) (*manyModels, http.Handler) {
	t.Helper()
	documents := &manyModels{Documents: storage.NewMemoryDocuments()}
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	require.NoError(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{Metadata: modelrepo.Metadata{"k": {"v"}}}))
	return documents, rest.NewHandler(s, nil)
}

// slowReader is the answer to a client that reads nothing until it is released.
type slowReader struct {
	*httptest.ResponseRecorder
	reached chan struct{} // receives the first time something is written
	release chan struct{}
}

func (s *slowReader) Write(p []byte) (int, error) {
	select {
	case s.reached <- struct{}{}:
	default:
	}
	<-s.release
	return s.ResponseRecorder.Write(p)
}

func TestNewHandler_writesListsAsTheyAreRead(t *testing.T) {
	documents, handler := newManyModels(t)
	get := func(w http.ResponseWriter) {
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/w3c", nil))
	}
	var all []*slowReader
	ended := make(chan struct{})
	release := make(chan struct{})
	for range 16 {
		w := &slowReader{httptest.NewRecorder(), make(chan struct{}, 1), release}
		all = append(all, w)
		go func() { get(w); ended <- struct{}{} }()
	}
	for _, w := range all {
		<-w.reached
	}
	require.Less(t, documents.read.Load(), int64(16*5000), "no list is read ahead of its client")

	more := httptest.NewRecorder()
	get(more)
	require.Equal(t, http.StatusServiceUnavailable, more.Code)
	require.JSONEq(t, `{"error":"Too many long lists are being read. Please try again, or ask for pages with the 'page' parameter."}`,
		more.Body.String())
	short := httptest.NewRecorder()
	handler.ServeHTTP(short, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	require.JSONEq(t, `{"namespaces":{"items":[{"name":"w3c","metadata":{"k":"v"}}],"totalCount":1}}`, short.Body.String())

	close(release)
	for range all {
		<-ended
	}
	var body modelrepo.Namespace
	require.NoError(t, json.Unmarshal(all[0].Body.Bytes(), &body))
	require.Equal(t, "w3c", body.Name)
	require.Equal(t, int64(many), body.Models.TotalCount)
	require.Len(t, body.Models.Items, many)
	require.Equal(t, modelrepo.Model{Name: "m019999", Namespace: "w3c"}, body.Models.Items[many-1])
	again := httptest.NewRecorder()
	get(again)
	require.Equal(t, http.StatusOK, again.Code, "the slots are free again")
}

func TestNewHandler_breaksAListOffThatFails(t *testing.T) {
	documents, handler := newManyModels(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	documents.broken.Store(1)
	answer, body, err := ask(t, server, "GET", "/w3c")
	require.NoError(t, err)
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode)
	require.JSONEq(t, `{"error":"Internal server error."}`, body)
	documents.broken.Store(10_000)
	answer, body, err = ask(t, server, "GET", "/w3c")
	require.Equal(t, http.StatusOK, answer.StatusCode, "it had begun")
	require.Error(t, err)
	require.False(t, json.Valid([]byte(body)))
	answer, _, err = ask(t, server, "HEAD", "/w3c")
	require.NoError(t, err)
	require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
}

// canceling is an answer whose request ends with the first bytes.
type canceling struct {
	*httptest.ResponseRecorder
	cancel context.CancelFunc
}

func (c *canceling) Write(p []byte) (int, error) {
	c.cancel()
	return c.ResponseRecorder.Write(p)
}

func TestNewHandler_breaksAListOffWhoseRequestHasEnded(t *testing.T) {
	documents, handler := newManyModels(t)
	documents.broken.Store(10_000)
	ctx, cancel := context.WithCancel(t.Context())
	answer := &canceling{httptest.NewRecorder(), cancel}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/w3c", nil))
	})
	require.Equal(t, http.StatusOK, answer.Code, "it had begun")
	require.NotZero(t, answer.Body.Len())
}

func TestNewHandler_writesWholeListsAsBefore(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	server := httptest.NewServer(rest.NewHandler(s, nil))
	t.Cleanup(server.Close)
	is := func(path string, want any) {
		t.Helper()
		answer, body, err := ask(t, server, "GET", path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		text, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, string(text), body)
	}
	root := func() any {
		set, err := s.Namespaces(t.Context(), nil)
		require.NoError(t, err)
		return map[string]any{"namespaces": set}
	}
	is("/", root())
	large := modelrepo.Metadata{"k": {strings.Repeat("<v>", 300)}}
	for i := range 200 {
		require.NoError(t, s.CreateNamespace(t.Context(), fmt.Sprintf("ns-%d", i), modelrepo.NamespaceUpdate{Metadata: large}))
	}
	is("/", root())
	prepare(t, s)
	for _, path := range []string{"ns-1", "w3c"} {
		n, err := s.Namespace(t.Context(), path, nil)
		require.NoError(t, err)
		is("/"+path, n)
	}
	m, err := s.Model(t.Context(), model, nil)
	require.NoError(t, err)
	is("/w3c/sosa", m)
	answer, _, err := ask(t, server, "GET", "/none")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
}
