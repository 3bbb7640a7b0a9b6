package rest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

// TestNewHandler_answersAsTheUserGuideShows follows the guide of version 0.1, line by
// line, with the answers that it shows.
func TestNewHandler_answersAsTheUserGuideShows(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	server := httptest.NewServer(rest.NewHandler(s, nil))
	t.Cleanup(server.Close)
	const form = "multipart/form-data; boundary=b"
	turtle := func(text string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"sosa.ttl\"\r\nContent-Type: " +
			"text/turtle\r\n\r\n" + text + "\r\n--b--\r\n"
	}
	for _, line := range []struct {
		method, path, contentType, body string
		status                          int
		want                            string
	}{
		{"POST", "/w3c", "", "", 200, `{"message":"Created namespace 'w3c'."}`},
		{"GET", "/w3c", "", "", 200, `{"name":"w3c"}`},
		{"GET", "/", "", "", 200, `{"namespaces":{"items":[{"name":"w3c"}],"totalCount":1}}`},
		{"POST", "/w3c/sosa", "", "", 200, `{"message":"Created model 'w3c/sosa'."}`},
		{"POST", "/w3c/ssn", "", "", 200, `{"message":"Created model 'w3c/ssn'."}`},
		{"GET", "/w3c", "", "", 200,
			`{"models":{"items":[{"name":"sosa","namespace":"w3c"},{"name":"ssn","namespace":"w3c"}],"totalCount":2},"name":"w3c"}`},
		{"GET", "/w3c/sosa", "", "", 200, `{"namespace":"w3c","name":"sosa"}`},
		{"POST", "/w3c/sosa/1.0", "", "", 200, `{"message":"Created model version 'w3c/sosa/1.0'."}`},
		{"GET", "/w3c/sosa/1.0", "", "", 200, `{"formats":{},"model":"sosa","namespace":"w3c","version":"1.0"}`},
		{"GET", "/w3c/sosa", "", "", 200,
			`{"namespace":"w3c","name":"sosa","versions":{"items":[{"model":"sosa","namespace":"w3c","version":"1.0"}],"totalCount":1}}`},
		{"PATCH", "/w3c/sosa", "application/json", `{"latestVersion":"1.0"}`, 200, `{"message":"Updated model 'w3c/sosa'."}`},
		{"GET", "/w3c/sosa/latest", "", "", 200, `{"formats":{},"model":"sosa","namespace":"w3c","version":"1.0"}`},
		{"POST", "/w3c/sosa/latest", "", "", 400, "*"},
		{"PATCH", "/w3c/sosa/latest", "application/json", `{"defaultFormat":"text/turtle"}`, 400, "*"},
		{"DELETE", "/w3c/sosa/latest", "", "", 400, "*"},
		{"POST", "/w3c/sosa/1.0/content?format=text/turtle", form, turtle("one"), 200,
			`{"message":"Uploaded content in format 'text/turtle' for model 'w3c/sosa/1.0'. Checksum: ` +
				`f97c5d29941bfb1b2fdab0874906ab82","warnings":["The default format of this model version was set to 'text/turtle'.'"]}`},
		{"GET", "/w3c/sosa/1.0/content", "", "", 200, "one"},
		{"GET", "/c/w3c/sosa", "", "", 200, "one"},
		{"GET", "/c/w3c/sosa/1.0", "", "", 200, "one"},
		{"GET", "/c/w3c/sosa/latest/text/turtle/", "", "", 200, "one"},
		{"POST", "/w3c/sosa/1.0/content?format=text/turtle", form, turtle("two"), 400,
			`{"error":"Content in format 'text/turtle' already exists for this model version. If you want to update ` +
				`it, it is recommended to create a new version instead. If you really want to overwrite this ` +
				`content, retry the upload with the 'overwrite=1' query parameter."}`},
		{"POST", "/w3c/sosa/1.0/content?format=text/turtle&overwrite=1", form, turtle("two"), 200,
			`{"message":"Uploaded content in format 'text/turtle' for model 'w3c/sosa/1.0'. Checksum: ` +
				`b8a9f715dbb64fd5c56e7783c6820a61","warnings":["Overwrote an earlier version of the content."]}`},
		{"GET", "/w3c/sosa/1.0/content?format=text/turtle", "", "", 200, "two"},
		// A default that was set before stays.
		{"POST", "/w3c/sosa/2.0/", "", "", 200, `{"message":"Created model version 'w3c/sosa/2.0'."}`},
		{"PATCH", "/w3c/sosa/2.0", "application/json", `{"defaultFormat":"application/rdf+xml"}`, 200,
			`{"message":"Updated model version 'w3c/sosa/2.0'."}`},
		{"POST", "/w3c/sosa/2.0/content?format=text/turtle", form, turtle("one"), 200,
			`{"message":"Uploaded content in format 'text/turtle' for model 'w3c/sosa/2.0'. Checksum: f97c5d29941bfb1b2fdab0874906ab82"}`},
		{"PATCH", "/w3c/sosa/2.0", "application/json", `{"defaultFormat":"@unset"}`, 200,
			`{"message":"Updated model version 'w3c/sosa/2.0'."}`},
		{"PATCH", "/w3c/sosa", "application/json", `{"latestVersion":"@unset"}`, 200, `{"message":"Updated model 'w3c/sosa'."}`},
		{"GET", "/w3c/sosa/latest", "", "", 404, "*"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), line.method, server.URL+line.path, strings.NewReader(line.body))
		require.NoError(t, err)
		if line.contentType != "" {
			request.Header.Set("Content-Type", line.contentType)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, line.status, answer.StatusCode, "%s %s: %s", line.method, line.path, body)
		switch {
		case line.want == "*":
			require.Contains(t, string(body), `{"error":"`)
		case strings.HasPrefix(line.want, "{"):
			require.JSONEq(t, line.want, string(body), "%s %s", line.method, line.path)
		default:
			require.Equal(t, line.want, string(body))
			require.Equal(t, "text/turtle", answer.Header.Get("Content-Type"))
		}
	}
}
