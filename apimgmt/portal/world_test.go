package portal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/storage"
)

// world is a portal in a program that signs people in: the header field X-Person of a
// request has the access token. The gateway is in memory.
type world struct {
	address   string
	publisher *apimgmt.Publisher
	portal    *portal.Portal
}

const gatewayURL = "http://127.0.0.1:1"

// Access tokens, as tokens accepts them.
const (
	developerToken = "demodeveloper:other,Developer"
	callerToken    = "demoopencaller:Open-Caller"
	noRoleToken    = "visitor:other"
)

// tokens accepts tokens of the form NAME:ROLE,ROLE.
type tokens struct{}

func (tokens) Verify(_ context.Context, token string) (*oidc.Claims, error) {
	name, roles, ok := strings.Cut(token, ":")
	if !ok {
		return nil, oidc.ErrExpired
	}
	return &oidc.Claims{Username: name, Roles: strings.Split(roles, ",")}, nil
}

func signedIn(r *http.Request) (string, error) {
	switch token := r.Header.Get("X-Person"); token {
	case "":
		return "", fmt.Errorf("no cookie: %w", portal.ErrSignedOut)
	case "away":
		return "", fmt.Errorf("refresh: %w", oidc.ErrUnreachable)
	case "broken":
		return "", errors.New("the session cannot be read")
	default:
		return token, nil
	}
}

func newWorld(t *testing.T, change ...func(*portal.Config)) *world {
	t.Helper()
	w := &world{}
	var err error
	w.publisher, err = apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: gatewayURL,
		Upstreams: apimgmt.Upstreams{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	w.address = "http://" + server.Listener.Addr().String()
	config := portal.Config{
		Publisher: w.publisher, Verifier: tokens{}, URL: w.address, GatewayURL: gatewayURL,
		SignedIn: signedIn, SignIn: "/sign-in", SignOut: "/sign-out",
	}
	for _, f := range change {
		f(&config)
	}
	w.portal, err = portal.New(config)
	require.NoError(t, err)
	server.Config.Handler = w.portal.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return w
}

// person is a user of a browser without scripts.
type person struct {
	t      *testing.T
	w      *world
	token  string
	client http.Client
}

func (w *world) person(t *testing.T, token string) *person { return &person{t: t, w: w, token: token} }

// page is an answer.
type page struct {
	status int
	url    *url.URL
	header http.Header
	body   string
}

func (p *person) do(r *http.Request) page {
	p.t.Helper()
	r.Header.Set("X-Person", p.token)
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	require.NoError(p.t, answer.Body.Close())
	return page{answer.StatusCode, answer.Request.URL, answer.Header, string(body)}
}

func (p *person) get(path string) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.w.address+path, nil)
	require.NoError(p.t, err)
	return p.do(r)
}

// part asks as a script of the page does.
func (p *person) part(path string) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.w.address+path, nil)
	require.NoError(p.t, err)
	r.Header.Set("X-Part", "1")
	return p.do(r)
}

func (p *person) post(path string, fields url.Values) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.w.address+path, strings.NewReader(fields.Encode()))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(r)
}

// upload sends the form for definitions. A field that is empty is sent as well.
func (p *person) upload(action, enabler, description, file string, header ...string) page {
	p.t.Helper()
	return p.uploadBelow("", action, enabler, description, file, header...)
}

// uploadBelow is upload with a path at the gateway.
func (p *person) uploadBelow(path, action, enabler, description, file string, header ...string) page {
	p.t.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, field := range [][2]string{{"action", action}, {"enabler", enabler}, {"description", description}, {"path", path}} {
		require.NoError(p.t, parts.WriteField(field[0], field[1]))
	}
	part, err := parts.CreateFormFile("upload_file", map[bool]string{true: "api.json"}[file != ""])
	require.NoError(p.t, err)
	_, err = part.Write([]byte(file))
	require.NoError(p.t, err)
	require.NoError(p.t, parts.Close())
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.w.address+"/apis", &body)
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", parts.FormDataContentType())
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return p.do(r)
}

// weather is a definition.
func weather(version, path string) string {
	return fmt.Sprintf(`{"openapi": "3.0.3", "info": {"title": "Weather", "version": %q, "description": "What the *sky* does."},
		"servers": [{"url": "http://127.0.0.1:9/base"}],
		"paths": {%q: {"servers": [{"url": "http://127.0.0.1:9/other"}], "get": {"summary": "The forecast",
		"tags": ["sky"], "responses": {"200": {"description": "ok"}}}}}}`, version, path)
}
