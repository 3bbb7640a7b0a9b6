package apimgmt_test

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
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/storage"
)

// file is a definition with a GET of each path.
func file(version string, paths ...string) string {
	return fileAt("https://weather.example", version, paths...)
}

func fileAt(server, version string, paths ...string) string {
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

func demoTokens() tokens {
	return tokens{
		"dev":     {Subject: "1", Username: "demodeveloper", Roles: []string{"Developer"}},
		"caller":  {Subject: "2", Username: "demoopencaller", Roles: []string{"Open-Caller"}},
		"visitor": {Subject: "3", Username: "visitor", Roles: []string{"offline_access"}},
	}
}

// world is a publisher with everything around it.
type world struct {
	t         *testing.T
	docs      storage.Documents
	blobs     storage.Blobs
	gateway   apimgmt.Gateway
	publisher *apimgmt.Publisher
	server    *httptest.Server
	log       *bytes.Buffer
}

func newWorld(t *testing.T, change ...func(*apimgmt.Config)) *world {
	t.Helper()
	w := &world{t: t, docs: storage.NewMemoryDocuments(), blobs: storage.NewMemoryBlobs(), log: &bytes.Buffer{}}
	w.gateway = apimgmt.NewMemoryGateway([]string{"oidc", "cors", "key-auth", "deprecation"})
	config := apimgmt.Config{Documents: w.docs, Blobs: w.blobs, Gateway: w.gateway, GatewayURL: "http://gateway.example/",
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&config)
	}
	w.gateway = config.Gateway
	var err error
	w.publisher, err = apimgmt.NewPublisher(config)
	require.NoError(t, err)
	w.server = httptest.NewServer(w.publisher.Handler(&apimgmt.HandlerOptions{Verifier: demoTokens()}))
	t.Cleanup(w.server.Close)
	return w
}

// answer is what the publisher said.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.body), into), a.body)
}

func (w *world) do(method, path, token, contentType string, body io.Reader, fields ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, body)
	require.NoError(w.t, err)
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
	require.NoError(w.t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return answer{resp.StatusCode, resp.Header, string(data)}
}

func (w *world) get(path string, fields ...string) answer {
	w.t.Helper()
	return w.do(http.MethodGet, path, "caller", "", nil, fields...)
}

// form is a body with the definition.
func form(t testing.TB, content string) (string, io.Reader) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("upload_file", "api.json")
	require.NoError(t, err)
	_, err = io.WriteString(part, content)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	return m.FormDataContentType(), &b
}

// post uploads a definition as a developer. more is the rest of the query.
func (w *world) post(enabler, content, more string, fields ...string) answer {
	w.t.Helper()
	contentType, body := form(w.t, content)
	return w.do(http.MethodPost, "/OpenAPIDocumentation/?description=About+it&enabler="+url.QueryEscape(enabler)+more,
		"dev", contentType, body, fields...)
}

// served lists the paths that the gateway serves of an enabler.
func served(t testing.TB, g apimgmt.Gateway, key string) []string {
	t.Helper()
	c, err := g.Config(t.Context())
	require.NoError(t, err)
	paths := []string{}
	for _, route := range c.Tagged("enabler:" + key).Routes {
		paths = append(paths, strings.TrimSuffix(strings.TrimPrefix(route.Paths[0], "~"), "$"))
	}
	return paths
}

// embedded is the gateway of this project behind the contract.
type embedded struct{ *gateway.Gateway }

func (e embedded) Publish(ctx context.Context, owner string, config entity.Config) error {
	return e.Update(func(served entity.Config) (entity.Config, error) {
		_, next, err := e.plan(ctx, served, owner, config)
		return next, err
	})
}

func (e embedded) Plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error) {
	served, _ := e.Gateway.Config()
	plan, _, err := e.plan(ctx, served, owner, config)
	return plan, err
}

func (e embedded) plan(ctx context.Context, served entity.Config, owner string, config entity.Config) (entity.Plan, entity.Config, error) {
	if err := ctx.Err(); err != nil {
		return entity.Plan{}, entity.Config{}, err
	}
	before, err := entity.NewNormal(served)
	if err != nil {
		return entity.Plan{}, entity.Config{}, err
	}
	plan, next, err := before.Plan(owner, config)
	if err == nil {
		if fault := e.Check(next.Shared()); fault != nil {
			err = fmt.Errorf("%w: %w", entity.ErrInvalid, fault)
		}
	}
	return plan, next.Config(), err
}

func (e embedded) Config(ctx context.Context) (entity.Config, error) {
	config, _ := e.Gateway.Config()
	return config, ctx.Err()
}

func (e embedded) Kinds(context.Context) ([]string, error) { return e.Gateway.Kinds(), nil }

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// handmade is a route that was put into the gateway without a definition.
func handmade(name, path string) entity.Config {
	return entity.Config{Services: []entity.Service{{Name: "by-hand", Protocol: "http", Host: "things.example"}},
		Routes: []entity.Route{{Name: name, Paths: []string{path}, Service: &entity.Ref{Name: "by-hand"}}}}
}
