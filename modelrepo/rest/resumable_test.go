package rest_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

func TestNewHandler_speaksTus(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	prepare(t, s)
	server := httptest.NewServer(http.StripPrefix("/behind/proxy", rest.NewHandler(s, nil)))
	defer server.Close()
	do := func(method, target, body string, status int, header ...string) http.Header {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		require.NoError(t, err)
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			request.Header.Set(name, value)
		}
		answer, err := server.Client().Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, "%s %s %q", method, target, header)
		if method == http.MethodOptions || len(header) > 0 && strings.HasPrefix(header[0], "Tus-Resumable") {
			require.Equal(t, "1.0.0", answer.Header.Get("Tus-Resumable"))
		}
		return answer.Header
	}
	const v, plain = "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream"
	content := server.URL + "/behind/proxy/w3c/sosa/1.0/content"
	h := do("OPTIONS", content, "", 204)
	require.Equal(t, "creation,expiration,checksum,termination", h.Get("Tus-Extension"))
	require.Equal(t, "1.0.0", h.Get("Tus-Version"))
	require.Contains(t, h.Get("Tus-Checksum-Algorithm"), "sha1")

	do("POST", content+"?format=f", "", 412, "Tus-Resumable: 0.2.2", "Upload-Length: 4")
	do("POST", content+"?format=f", "", 400, v)
	do("POST", content+"?format=f", "", 400, v, "Upload-Length: +4")
	do("POST", content+"?format=f", "", 400, v, "Upload-Length: 99999999999999999999")
	do("POST", content+"?format=f", "", 400, v, "Upload-Defer-Length: 1")
	do("POST", content, "", 400, v, "Upload-Length: 4")
	do("POST", content+"?format=f", "", 400, v, "Upload-Length: 4", "Upload-Metadata: filetype bm90IGEgdHlwZQ==")
	do("POST", content+"?format=f", "", 400, v, "Upload-Length: 4", "Upload-Metadata: a b c")
	do("POST", strings.Replace(content, "1.0", "2.0", 1)+"?format=f", "", 404, v, "Upload-Length: 4")

	for _, slash := range []string{"", "/"} {
		h = do("POST", content+slash+"?format=text/plain&overwrite=1", "", 201, v, "Upload-Length: 4",
			"Upload-Metadata: filetype dGV4dC9wbGFpbg==,x")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, content+slash, nil)
		require.NoError(t, err)
		location, err := request.URL.Parse(h.Get("Location"))
		require.NoError(t, err)
		at := location.String()
		require.True(t, strings.HasPrefix(at, server.URL+"/behind/proxy/u/"), at)
		require.NotEmpty(t, h.Get("Upload-Expires"))

		do("PATCH", at, "ab", 412, plain, "Upload-Offset: 0")
		do("PATCH", at, "ab", 415, v, "Upload-Offset: 0")
		do("PATCH", at, "ab", 400, v, plain)
		do("PATCH", at, "ab", 409, v, plain, "Upload-Offset: 1")
		do("PATCH", at, "ab", 400, v, plain, "Upload-Offset: 0", "Upload-Checksum: crc7 AA==")
		do("PATCH", at, "ab", 460, v, plain, "Upload-Offset: 0", "Upload-Checksum: sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
		do("PATCH", at, "abcde", 413, v, plain, "Upload-Offset: 0")
		h = do("PATCH", at, "ab", 204, v, plain, "Upload-Offset: 0", "Upload-Checksum: sha1 2iNhTgJGmg18e9G9q1ycR0sZBNw=")
		require.Equal(t, "2", h.Get("Upload-Offset"))
		h = do("HEAD", at, "", 200, v)
		require.Equal(t, []string{"2", "4", "no-store"},
			[]string{h.Get("Upload-Offset"), h.Get("Upload-Length"), h.Get("Cache-Control")})
		require.Equal(t, "filetype dGV4dC9wbGFpbg==,x", h.Get("Upload-Metadata"))
		do("POST", at, "cd", 405, v, plain, "Upload-Offset: 2")
		h = do("POST", at, "cd", 204, v, plain, "Upload-Offset: 2", "X-HTTP-Method-Override: PATCH")
		require.Equal(t, "4", h.Get("Upload-Offset"))
		require.Contains(t, h.Get("X-Upload-Message"),
			"Uploaded content in format 'text/plain' for model 'w3c/sosa/1.0'. Checksum: ")
		require.Equal(t, strconv.Quote("88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589"), h.Get("ETag"))
		do("DELETE", at, "", 204, v)
		do("HEAD", at, "", 404, v)
		h = do("GET", content, "", 200)
		require.Equal(t, "text/plain", h.Get("Content-Type"))
	}
	for info, err := range blobs.List(t.Context(), "part/") {
		require.NoError(t, err)
		t.Fatalf("%q is left", info.Key)
	}
}
