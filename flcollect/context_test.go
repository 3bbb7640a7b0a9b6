package flcollect_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/storage"
)

func TestServer_PublicContext_returnsWhatWasStored(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	h, _ := serveWorld(t, w)
	raw := fixture(t, "tenseal", "public")
	const path = "/job/he/public/a%2Fb"
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", path, "").Code)
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "DELETE", path, "").Code)
	put := jobstest.Ask(h, "PUT", path, string(raw))
	require.Equal(t, http.StatusNoContent, put.Code, put.Body)
	require.Equal(t, 1, countBlobs(t, w.blobs))

	text := jobstest.Ask(h, "GET", path, "")
	require.Equal(t, base64Text(raw), text.Body.String())
	require.Equal(t, "text/plain; charset=us-ascii", text.Header().Get("Content-Type"))
	require.Equal(t, fmt.Sprint(text.Body.Len()), text.Header().Get("Content-Length"))
	bytesOf := jobstest.Ask(h, "GET", path, "", "Accept", "text/plain;q=0.5, application/octet-stream")
	require.Equal(t, raw, bytesOf.Body.Bytes())
	require.Equal(t, put.Header().Get("ETag"), bytesOf.Header().Get("ETag"))
	require.NotEqual(t, text.Header().Get("ETag"), bytesOf.Header().Get("ETag"), "other bytes, another tag")
	require.Equal(t, http.StatusNotModified, jobstest.Ask(h, "GET", path, "", "If-None-Match", text.Header().Get("ETag")).Code)
	require.Equal(t, http.StatusOK, jobstest.Ask(h, "GET", path, "", "If-None-Match", bytesOf.Header().Get("ETag")).Code)

	require.Equal(t, http.StatusNoContent, jobstest.Ask(h, "PUT", path, base64Text(raw)+"\n", "If-Match", text.Header().Get("ETag")).Code)
	require.Equal(t, 1, countBlobs(t, w.blobs), "the old one is gone")
	require.Equal(t, http.StatusPreconditionFailed, jobstest.Ask(h, "PUT", path, string(raw), "If-Match", `"other"`).Code)
	require.Equal(t, http.StatusPreconditionFailed, jobstest.Ask(h, "PUT", path, string(raw), "If-Match", `W/`+put.Header().Get("ETag")).Code)
	require.Equal(t, http.StatusPreconditionFailed, jobstest.Ask(h, "PUT", path, string(raw), "If-None-Match", "*").Code)
	require.Equal(t, http.StatusBadRequest, jobstest.Ask(h, "PUT", path, string(raw), "If-Match", "tag").Code)
	require.Equal(t, http.StatusForbidden, jobstest.Ask(h, "PUT", path, string(raw), "Sec-Fetch-Site", "cross-site").Code)

	again := w.restart(t, flcollect.Config{})
	content, stored, err := again.PublicContext(t.Context(), "a/b")
	require.NoError(t, err)
	require.EqualValues(t, len(raw), stored.Size)
	require.NoError(t, content.Close())
	require.NoError(t, again.DeletePublicContext(t.Context(), "a/b", publiccontext.Condition{Match: []string{stored.SHA256}}))
	require.Zero(t, countBlobs(t, again.blobs))
	_, _, err = again.PublicContext(t.Context(), "a/b")
	require.ErrorIs(t, err, publiccontext.ErrNotFound)
}

func TestServer_SetPublicContext_refusesASecretKey(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, flcollect.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h, _ := serveWorld(t, w)
	secret := fixture(t, "tenseal", "secret")
	for _, text := range []string{string(secret), base64Text(secret)} {
		answer := jobstest.Ask(h, "PUT", "/job/he/public/a", text)
		require.Equal(t, http.StatusUnprocessableEntity, answer.Code)
		require.Contains(t, answer.Body.String(), "compromised")
		require.Less(t, answer.Body.Len(), 500)
	}
	require.Zero(t, countBlobs(t, w.blobs))
	require.Equal(t, http.StatusNotFound, jobstest.Ask(h, "GET", "/job/he/public/a", "").Code)
	require.Less(t, log.Len(), 1000)
}

func TestServer_SetPublicContext_refusesOtherOrTooLargeContent(t *testing.T) {
	raw := fixture(t, "tenseal", "public")
	w := newWorld(t, flcollect.Config{MaxContext: int64(len(raw)) - 1})
	h, _ := serveWorld(t, w)
	require.Equal(t, http.StatusRequestEntityTooLarge, jobstest.Ask(h, "PUT", "/job/he/public/a", string(raw)).Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, jobstest.Ask(h, "PUT", "/job/he/public/a", base64Text(raw)).Code)
	for _, text := range []string{"", "?", "\n", base64Text([]byte("nothing")), string(raw[:1000])} {
		answer := jobstest.Ask(h, "PUT", "/job/he/public/a", text)
		require.Equal(t, http.StatusUnprocessableEntity, answer.Code, text)
	}
	require.Equal(t, http.StatusUnprocessableEntity, jobstest.Ask(h, "PUT", "/job/he/public/a%00", string(raw)).Code)
	require.Zero(t, countBlobs(t, w.blobs))
	_, err := flcollect.NewServer(flcollect.Config{Documents: w.documents, Blobs: w.blobs, MaxContext: -1})
	require.ErrorContains(t, err, "MaxContext is -1")
}

func TestServer_SetPublicContext_refusesAContextThatDoesNotFit(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	h, _ := serveWorld(t, w)
	require.NoError(t, w.Start(t.Context(), "job", sealed(1, 1)))
	raw := string(fixture(t, "tenseal", "public"))
	answer := jobstest.Ask(h, "PUT", "/job/he/public/job", raw)
	require.Equal(t, http.StatusConflict, answer.Code)
	var detail struct{ Detail string }
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &detail))
	require.Contains(t, detail.Detail, "its degree is 2048, the job's is 1024")
	require.Equal(t, http.StatusNoContent, jobstest.Ask(h, "PUT", "/job/he/public/other", raw).Code)
	require.NoError(t, w.Stop(t.Context()))
	require.Equal(t, http.StatusNoContent, jobstest.Ask(h, "PUT", "/job/he/public/job", raw).Code, "it is not being trained")

	require.NoError(t, w.Start(t.Context(), "job", sealed(1, 1)))
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Contains(t, status.Note, "a public context that is none for it")
	require.Contains(t, status.Note, "its degree is 2048, the job's is 1024")
	require.NoError(t, w.Start(t.Context(), "plain", config(1, 1)))
	status, err = w.Status(t.Context(), "plain")
	require.NoError(t, err)
	require.Empty(t, status.Note)
}

func TestServer_SetPublicContext_storesOneOfConcurrentContexts(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	raw := fixture(t, "tenseal", "public")
	results := make(chan error)
	for range 8 {
		go func() {
			_, err := w.SetPublicContext(t.Context(), "job", bytes.NewReader(raw), publiccontext.Condition{NoneMatch: []string{"*"}})
			results <- err
		}()
	}
	stored := 0
	for range 8 {
		if err := <-results; err == nil {
			stored++
		} else {
			require.ErrorIs(t, err, publiccontext.ErrCondition)
		}
	}
	require.Equal(t, 1, stored)
	require.Equal(t, 1, countBlobs(t, w.blobs))
}

func TestServer_SetPublicContext_survivesACrashAtAnyWrite(t *testing.T) {
	first, second := fixture(t, "tenseal", "public"), append(fixture(t, "tenseal", "public"), 4<<3, 0)
	for _, happens := range []bool{false, true} {
		for writes := 1; writes <= 3; writes++ {
			documents, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
			w := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs})
			_, err := w.SetPublicContext(t.Context(), "job", bytes.NewReader(first), publiccontext.Condition{})
			require.NoError(t, err)
			w.end()
			f := newFuse(writes, happens)
			dying := newWorld(t, flcollect.Config{Documents: fusedDocuments{documents, f}, Blobs: fusedBlobs{blobs, f}})
			_, err = dying.SetPublicContext(t.Context(), "job", bytes.NewReader(second), publiccontext.Condition{})
			acknowledged := err == nil
			dying.end()
			again := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs})
			require.Eventually(t, func() bool { return again.Ready() == nil }, patience, time.Millisecond)
			content, stored, err := again.PublicContext(t.Context(), "job")
			require.NoError(t, err)
			require.NoError(t, content.Close())
			if acknowledged {
				require.EqualValues(t, len(second), stored.Size)
			}
			require.Contains(t, []int{len(first), len(second)}, int(stored.Size))
			require.Equal(t, 1, countBlobs(t, blobs), "what the crash left is collected")
			again.end()
		}
	}
}

func base64Text(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func TestServer_SetPublicContext_readsConditionsOfRFC9110(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	h, _ := serveWorld(t, w)
	raw := string(fixture(t, "tenseal", "public"))
	const path = "/job/he/public/a"
	put := jobstest.Ask(h, "PUT", path, raw)
	require.Equal(t, http.StatusNoContent, put.Code, put.Body)
	tag := put.Header().Get("ETag")
	text := strings.TrimSuffix(tag, `"`) + `.base64"`
	for _, c := range []struct {
		method, field, value string
		want                 int
	}{
		{"PUT", "If-Match", `"a,b"`, 412},
		{"PUT", "If-Match", `"a,b", ` + tag, 204},
		{"PUT", "If-Match", `"a,b",,` + text, 204},
		{"PUT", "If-Match", `"*"`, 412},
		{"PUT", "If-Match", `"*.base64"`, 412},
		{"PUT", "If-Match", "*", 204},
		{"PUT", "If-Match", `"a" ` + tag, 400},
		{"PUT", "If-Match", "*, " + tag, 400},
		{"PUT", "If-None-Match", `"a,b"`, 204},
		{"PUT", "If-None-Match", `"a,b", ` + tag, 412},
		{"PUT", "If-None-Match", "W/" + tag, 412},
		{"PUT", "If-None-Match", `"a` + tag, 400},
		{"GET", "If-None-Match", `"a,b"`, 200},
		{"GET", "If-None-Match", `"a,b", ` + text, 304},
		{"GET", "If-None-Match", "W/" + text, 304},
		{"GET", "If-None-Match", "*", 304},
		{"GET", "If-None-Match", `"*"`, 200},
		{"GET", "If-None-Match", `"a,b`, 400},
		{"DELETE", "If-Match", `"a,b"`, 412},
		{"DELETE", "If-Match", "W/" + tag, 412},
	} {
		require.Equal(t, c.want, jobstest.Ask(h, c.method, path, raw, c.field, c.value).Code, "%s %s: %s", c.method, c.field, c.value)
	}
}
