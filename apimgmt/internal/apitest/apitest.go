// Package apitest starts a publisher behind its REST interface, for the tests of both and of
// the client.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/storage"
)

// File is a definition with a GET of each path.
func File(version string, paths ...string) string {
	return FileAt("https://weather.example", version, paths...)
}

// FileAt is File for a service at an address.
func FileAt(server, version string, paths ...string) string {
	operations := map[string]any{}
	for _, path := range paths {
		parameters := []any{}
		for rest := path; strings.Contains(rest, "{"); {
			_, after, _ := strings.Cut(rest, "{")
			name, after, _ := strings.Cut(after, "}")
			parameters, rest = append(parameters, map[string]any{"name": name, "in": "path", "required": true,
				"schema": map[string]any{"type": "string"}}), after
		}
		operations[path] = map[string]any{"parameters": parameters,
			"get": map[string]any{"tags": []string{"Sky"}, "responses": map[string]any{"200": map[string]any{"description": "fine"}}}}
	}
	data, err := json.Marshal(map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "Weather", "version": version},
		"servers": []any{map[string]any{"url": server}}, "paths": operations,
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// tokens is a Verifier that knows who has which token.
type tokens map[string]*oidc.Claims

func (t tokens) Verify(_ context.Context, token string) (*oidc.Claims, error) {
	switch who, ok := t[token]; {
	case token == "unreachable":
		return nil, fmt.Errorf("verify: %w", oidc.ErrUnreachable)
	case token == "old":
		return nil, fmt.Errorf("verify: %w", oidc.ErrExpired)
	case ok:
		return who, nil
	}
	return nil, fmt.Errorf("verify %q: %w", token, oidc.ErrSignature)
}

// Tokens accepts the tokens "dev" of a developer, "caller" of a user that may read, and "visitor"
// of one without a role. It cannot verify "unreachable", and "old" has expired.
func Tokens() rest.Verifier {
	return tokens{
		"dev":     {Subject: "1", Username: "demodeveloper", Roles: []string{"Developer"}},
		"caller":  {Subject: "2", Username: "demoopencaller", Roles: []string{"Open-Caller"}},
		"visitor": {Subject: "3", Username: "visitor", Roles: []string{"offline_access"}},
	}
}

// World is a publisher with everything around it.
type World struct {
	T         *testing.T
	Docs      storage.Documents
	Blobs     storage.Blobs
	Gateway   apimgmt.Gateway
	Publisher *apimgmt.Publisher
	// Server has the REST interface, for [Tokens].
	Server *httptest.Server
	// Log is what the publisher has logged.
	Log *bytes.Buffer
}

// New returns a publisher over memory, with a configuration that each change changes.
func New(t *testing.T, change ...func(*apimgmt.Config)) *World {
	t.Helper()
	w := &World{T: t, Docs: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Log: &bytes.Buffer{}}
	w.Gateway = apimgmt.NewMemoryGateway([]string{"oidc", "cors", "key-auth", "deprecation"})
	config := apimgmt.Config{Documents: w.Docs, Blobs: w.Blobs, Gateway: w.Gateway, GatewayURL: "http://gateway.example/",
		Logger: slog.New(slog.NewTextHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&config)
	}
	w.Gateway = config.Gateway
	var err error
	w.Publisher, err = apimgmt.NewPublisher(config)
	require.NoError(t, err)
	w.Server = httptest.NewServer(rest.NewHandler(w.Publisher, &rest.HandlerOptions{Verifier: Tokens()}))
	t.Cleanup(w.Server.Close)
	return w
}

// Transforming has a gateway that can take paths off.
func Transforming(c *apimgmt.Config) {
	c.Gateway = apimgmt.NewMemoryGateway([]string{"cors", "deprecation", "request-transformer"})
}

// Answer is an answer of the publisher.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Decode reads the body as JSON.
func (a Answer) Decode(t *testing.T, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.Body), into), a.Body)
}

// Do sends a request, with header fields in pairs.
func (w *World) Do(method, path, token, contentType string, body io.Reader, fields ...string) Answer {
	w.T.Helper()
	req, err := http.NewRequestWithContext(w.T.Context(), method, w.Server.URL+path, body)
	require.NoError(w.T, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(w.T, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(w.T, err)
	return Answer{resp.StatusCode, resp.Header, string(data)}
}

// Get reads as a user that may read.
func (w *World) Get(path string, fields ...string) Answer {
	w.T.Helper()
	return w.Do(http.MethodGet, path, "caller", "", nil, fields...)
}

// Form is a body with the definition.
func Form(t testing.TB, content string) (string, io.Reader) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("upload_file", "api.json")
	require.NoError(t, err)
	_, err = io.WriteString(part, content)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	return m.FormDataContentType(), &b
}

// Post uploads a definition as a developer. more is the rest of the query.
func (w *World) Post(enabler, content, more string, fields ...string) Answer {
	w.T.Helper()
	contentType, body := Form(w.T, content)
	return w.Do(http.MethodPost, "/OpenAPIDocumentation/?description=About+it&enabler="+url.QueryEscape(enabler)+more,
		"dev", contentType, body, fields...)
}

// Served lists the paths that the gateway serves of an enabler.
func Served(t testing.TB, g apimgmt.Gateway, key string) []string {
	t.Helper()
	c, err := g.Config(t.Context())
	require.NoError(t, err)
	paths := []string{}
	for _, route := range c.Tagged("enabler:" + key).Routes {
		paths = append(paths, strings.TrimSuffix(strings.TrimPrefix(route.Paths[0], "~"), "$"))
	}
	return paths
}
