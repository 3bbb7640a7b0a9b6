package repository_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/storage"
)

// emptied is a store of documents that is empty again for every input: to make a
// handler takes much longer than to use it.
type emptied struct{ storage.Documents }

func newEmptied(f *testing.F) (*emptied, http.Handler) {
	docs := &emptied{}
	store, err := repository.New(repository.Config{Documents: docs, Blobs: storage.NewMemoryBlobs()})
	require.NoError(f, err)
	return docs, repository.NewHandler(store, nil)
}

// FuzzRecord posts bodies: each is refused with its reason, or kept so that it is
// shown as JSON and can be posted only once.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{
		`{"model_name":"m","model_version":1,"training_id":true,"results":{"a":1.5e3,"b":"x"},"configuration_id":"c"}`,
		`{"strategy_name":"s","meta":{"class":"FedAvg"}}`, `{"name":"c","version":"1"}`,
		`{"id":"i","default_values":{"x":[{}]},"needs":{"RAM":"1e3"}}`, `{"model_name":"\u0000/..","model_version":"%2f"}`, `[`, `null`,
	} {
		f.Add([]byte(seed))
	}
	docs, handler := newEmptied(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		docs.Documents = storage.NewMemoryDocuments()
		r := rest{t, handler}
		for _, path := range []string{"/model", "/training-results", "/strategy", "/collector", "/transformation"} {
			answer := r.json("POST", path, string(body))
			switch answer.Code {
			case http.StatusUnprocessableEntity:
				var fault struct{ Detail []repository.Fault }
				require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &fault))
				require.NotEmpty(t, fault.Detail)
				continue
			case http.StatusRequestEntityTooLarge:
				require.Greater(t, len(body), 1<<20)
				continue
			case http.StatusCreated:
			default:
				t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
			}
			require.Equal(t, http.StatusBadRequest, r.json("POST", path, string(body)).Code)
			if path == "/collector" {
				continue
			}
			var list []map[string]any
			require.NoError(t, json.Unmarshal(r.get(path).Body.Bytes(), &list))
			require.Len(t, list, 1)
		}
	})
}

// FuzzReceive reads forms: what is written of a field is what a careful sender
// meant, and a body that breaks off is an error.
func FuzzReceive(f *testing.F) {
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"file\"; "+
		"filename=\"a\"\r\n\r\ndata\r\n--x--\r\n"))
	f.Add("multipart/form-data; boundary=x", []byte("--x\nContent-Disposition: form-data; "+
		"name=npz\n\n1\n--x\nContent-Disposition: form-data; name=file\n\n2\n--x--"))
	f.Add("multipart/form-data", []byte("--x--"))
	f.Add("text/plain", []byte(""))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		got := map[string]int{}
		total := 0
		header := http.Header{"Content-Type": {contentType}}
		err := repository.Receive(t.Context(), bytes.NewReader(body), header, []string{"file", "npz"},
			func(_ context.Context, field string, from io.Reader) error {
				data, err := io.ReadAll(from)
				got[field]++
				total += len(data)
				return err
			})
		require.LessOrEqual(t, total, len(body))
		for field, n := range got {
			require.Contains(t, []string{"file", "npz"}, field)
			require.Equal(t, 1, n, field)
		}
		if err != nil {
			var invalid *repository.InvalidError
			require.ErrorAs(t, err, &invalid)
			return
		}
		require.Equal(t, 1, got["file"])
	})
}

// FuzzNames keeps records under any two pairs of names: they are apart unless
// they are the same, and are found through a path.
func FuzzNames(f *testing.F) {
	f.Add("a", "b/c", "a/b", "c")
	f.Add("..", ".", "%2e%2e", "%2E")
	f.Add("#", "\x00", strings.Repeat("x", 200), strings.Repeat("x", 201))
	f.Add("\xc9", "\x89", "", "0") // the halves of one character
	f.Add("0", "/", "/a", "a/")
	docs, handler := newEmptied(f)
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string) {
		a, b := repository.JoinKey("model", a1, a2), repository.JoinKey("model", b1, b2)
		require.Equal(t, a1 == b1 && a2 == b2, a == b)
		require.NoError(t, storage.ValidKey(a))
		require.LessOrEqual(t, len(repository.JoinKey("transformation", a1, a2, b1)), storage.MaxKeyLength-100)
		require.Equal(t, 2, strings.Count(a, "/"))

		body, err := json.Marshal(map[string]string{"model_name": a1, "model_version": a2})
		require.NoError(t, err)
		docs.Documents = storage.NewMemoryDocuments()
		r := rest{t, handler}
		if r.json("POST", "/model", string(body)).Code != http.StatusCreated || !utf8.ValidString(a1) || !utf8.ValidString(a2) {
			return
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/", nil)
		request.URL = (&url.URL{Path: "/"}).JoinPath("model", segment(a1), segment(a2))
		answer := httptest.NewRecorder()
		r.handler.ServeHTTP(answer, request)
		require.Equal(t, http.StatusNoContent, answer.Code, "%q %q %s", a1, a2, answer.Body)
	})
}

func segment(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}
