package modelrepotest

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

// Open returns an empty pair of stores. It cleans up with t.Cleanup. Several tests call it at once.
type Open func(t *testing.T) (storage.Documents, storage.Blobs)

// client sends requests to a repository over HTTP and checks the answers.
type client struct {
	t     *testing.T
	url   string
	store *modelrepo.Store
}

func newClient(t *testing.T, open Open) *client {
	t.Helper()
	return newLimited(t, open, modelrepo.Limits{})
}

// newLimited is newClient of a repository with quotas.
func newLimited(t *testing.T, open Open, limits modelrepo.Limits) *client {
	t.Helper()
	documents, blobs := open(t)
	store, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs, Limits: limits})
	require.NoError(t, err)
	server := httptest.NewServer(rest.NewHandler(store, nil))
	t.Cleanup(server.Close)
	return &client{t, server.URL, store}
}

// answer is the answer to a request.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
}

// do sends a request. Header fields are given as "Name: value".
func (c *client) do(method, path, body string, header ...string) answer {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request) // without following redirects
	require.NoError(c.t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return answer{c.t, method + " " + path, response.StatusCode, response.Header, string(data)}
}

// json sends a request with a JSON body.
func (c *client) json(method, path, body string) answer {
	c.t.Helper()
	return c.do(method, path, body, "Content-Type: application/json")
}

// get sends a GET.
func (c *client) get(path string, header ...string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, path, "", header...)
}

// field is a part of a multipart body.
type field struct {
	name, contentType, data string
	header                  []string
}

// form returns a multipart body and its media type.
func (c *client) form(fields ...field) (body, contentType string) {
	c.t.Helper()
	var buffer bytes.Buffer
	form := multipart.NewWriter(&buffer)
	for _, f := range fields {
		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + f.name + `"; filename="file"`}}
		if f.contentType != "" {
			header.Set("Content-Type", f.contentType)
		}
		for _, line := range f.header {
			name, value, _ := strings.Cut(line, ": ")
			header.Set(name, value)
		}
		part, err := form.CreatePart(header)
		require.NoError(c.t, err)
		_, err = io.WriteString(part, f.data)
		require.NoError(c.t, err)
	}
	require.NoError(c.t, form.Close())
	return buffer.String(), form.FormDataContentType()
}

// upload sends content in a format, with more query parameters if there are.
func (c *client) upload(version, format, contentType, data, more string, header ...string) answer {
	c.t.Helper()
	body, formType := c.form(field{name: "content", contentType: contentType, data: data})
	return c.do(http.MethodPost, version+"/content?format="+url.QueryEscape(format)+more, body,
		append(header, "Content-Type: "+formType)...)
}

// says checks that the answer is a success with that message and those warnings.
func (a answer) says(message string, warnings ...string) answer {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.status, "%s: %s", a.what, a.body)
	return a.isJSON(map[string]any{"message": message}, "warnings", warnings)
}

// isJSON checks the body, with one more member if its strings are any.
func (a answer) isJSON(want map[string]any, name string, more []string) answer {
	a.t.Helper()
	if len(more) > 0 {
		want[name] = more
	}
	require.Equal(a.t, "application/json", a.header.Get("Content-Type"), a.what)
	require.JSONEq(a.t, string(mustJSON(a.t, want)), a.body, a.what)
	return a
}

// is checks that the answer is a success with that JSON body.
func (a answer) is(body string) answer {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.status, "%s: %s", a.what, a.body)
	require.Equal(a.t, "application/json", a.header.Get("Content-Type"), a.what)
	require.JSONEq(a.t, body, a.body, a.what)
	return a
}

// fails checks that the answer is an ErrorResponse with that status and sentence.
func (a answer) fails(status int, sentence string) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s: %s", a.what, a.body)
	require.Equal(a.t, "application/json", a.header.Get("Content-Type"), a.what)
	require.JSONEq(a.t, string(mustJSON(a.t, map[string]string{"error": sentence})), a.body, a.what)
	return a
}

// refuses is fails for the beginning of a sentence.
func (a answer) refuses(status int, beginning string) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s: %s", a.what, a.body)
	require.Equal(a.t, "application/json", a.header.Get("Content-Type"), a.what)
	require.Contains(a.t, a.body, `{"error":"`+beginning, a.what)
	return a
}

// holds checks that the answer is content.
func (a answer) holds(status int, contentType, data string) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s: %s", a.what, a.body)
	require.Equal(a.t, contentType, a.header.Get("Content-Type"), a.what)
	require.Equal(a.t, data, a.body, a.what)
	return a
}

// has checks the status alone.
func (a answer) has(status int) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s: %s", a.what, a.body)
	return a
}
