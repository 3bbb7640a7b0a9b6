package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

const (
	password = "password for tests"
	secret   = "client secret for tests"
	realm    = "/auth/realms/OpenAPI"
)

// apiManager is API management on free ports, with its data in a folder of the test.
type apiManager struct {
	portal, gateway string // base addresses

	token  atomic.Pointer[string] // of a developer
	signed time.Time              // when that was
	tokens int                    // how many there were
	client *http.Client           // of who publishes
}

// start returns when everything is listening. The function that it returns stops it
// and says what went wrong.
func start(t *testing.T) (*apiManager, func() error) {
	t.Helper()
	var listeners [3]*host.Listener
	for i := range listeners {
		at, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = at.Close() })
		listeners[i] = &host.Listener{Listener: at}
	}
	m := &management.Management{}
	m.Portal, m.Gateway, m.Admin = listeners[0], listeners[1], listeners[2]
	m.Secrets = management.Credentials{DemoPassword: password, ClientSecret: secret}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	kept, err := stores.In(t.TempDir()).Open(t.Context(), stores.Config{Owner: datafolder.APIManager, Logger: log})
	require.NoError(t, err)
	flags := host.NewFlags("apimanager", "APIMANAGER", "")
	require.NoError(t, flags.Read([]string{"-access", "none"}, func() {}))
	d, err := flags.Door.Open(t.Context(), door.Config{Name: "apimanager", Logger: log})
	require.NoError(t, err)
	env := &host.Env{Stores: kept, Door: d, Logger: log}
	block, err := m.Open(t.Context(), env)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	up, done := make(chan struct{}), make(chan error, 1)
	block.Run[len(block.Run)-1].Announce = func() { close(up) }
	go func() { done <- server.Run(ctx, block.Run...) }()
	a := &apiManager{portal: m.PortalURL, gateway: m.GatewayURL,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: publishers}, Timeout: time.Minute}}
	stop := sync.OnceValue(func() error {
		a.client.CloseIdleConnections()
		cancel()
		return errors.Join(<-done, env.Close(), d.Close(), kept.Close())
	})
	t.Cleanup(func() { _ = stop() })
	select {
	case <-up:
	case err := <-done:
		done <- err
		t.Fatalf("API management has ended: %v", err)
	}
	return a, stop
}

// renewal is how old a token gets. They are good for five minutes.
const renewal = time.Minute

// signIn gets a token with the password of a developer, if there is none or an old
// one: gateways remember who has called, and that is not what is measured.
func (a *apiManager) signIn() error {
	if time.Since(a.signed) < renewal {
		return nil
	}
	now := time.Now()
	form := url.Values{"grant_type": {"password"}, "client_id": {"public-backend-access"},
		"username": {"demodeveloper"}, "password": {password}}
	status, body, err := send(a.client, http.MethodPost, a.portal+realm+"/protocol/openid-connect/token", "",
		"application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("sign in: status %d: %w", status, err)
	}
	var tokens struct {
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(body), &tokens); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	a.token.Store(&tokens.Access)
	a.signed = now
	a.tokens++
	return nil
}

// change makes a request to the library, with a definition or without, and wants the
// status.
func (a *apiManager) change(method, path, definition string, want int) (string, error) {
	var form bytes.Buffer
	contentType := ""
	if definition != "" {
		writer := multipart.NewWriter(&form)
		part, err := writer.CreateFormFile("upload_file", "api.json")
		if err != nil {
			return "", err
		}
		if _, err := io.WriteString(part, definition); err != nil {
			return "", err
		}
		if err := writer.Close(); err != nil {
			return "", err
		}
		contentType = writer.FormDataContentType()
	}
	status, body, err := send(a.client, method, a.portal+"/OpenAPIDocumentation/"+path, *a.token.Load(), contentType, &form)
	if err == nil && status != want {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	if err != nil {
		return "", fmt.Errorf("%s %q: %w", method, path, err)
	}
	return body, nil
}

// served wants an answer of the gateway.
func (a *apiManager) served(path string, want int) error {
	status, body, err := send(a.client, http.MethodGet, a.gateway+path, "", "", nil)
	if err == nil && (status != want || want == http.StatusOK && body != "GET "+path+" ") {
		err = fmt.Errorf("expected %d: %d %q", want, status, body)
	}
	if err != nil {
		return fmt.Errorf("get %q: %w", path, err)
	}
	return nil
}

// send makes a request and reads the answer to its end.
func send(client *http.Client, method, address, token, contentType string, body io.Reader) (int, string, error) {
	request, err := http.NewRequest(method, address, body)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it has been read to its end, or has failed
	return answer.StatusCode, string(text), err
}

// definition is an OpenAPI file with the paths, of which those that end in /secured
// want a token.
func definition(upstream, provider, version string, paths ...string) string {
	made := map[string]any{}
	for _, path := range paths {
		operation := func() map[string]any {
			return map[string]any{"responses": map[string]any{"200": map[string]any{"description": "What was called."}}}
		}
		get, post := operation(), operation()
		if strings.HasSuffix(path, "/secured") {
			for _, one := range []map[string]any{get, post} {
				one["x-kong-plugin-oidc"] = map[string]any{"name": "oidc", "enabled": true, "config": map[string]any{
					"client_id": "kong", "client_secret": secret, "bearer_only": "yes", "realm": "OpenAPI",
					"discovery": provider + "/.well-known/openid-configuration", "introspection_endpoint": provider +
						"/protocol/openid-connect/token/introspect",
				}}
			}
		}
		item := map[string]any{"get": get, "post": post}
		if strings.Contains(path, "{id}") {
			item["parameters"] = []any{map[string]any{"name": "id", "in": "path", "required": true, "schema": map[string]any{"type": "string"}}}
		}
		if strings.HasPrefix(path, "/moving") {
			delete(item, "post") // which this test does not call
		}
		made[path] = item
	}
	file, err := json.Marshal(map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "Load", "version": version},
		"servers": []any{map[string]any{"url": upstream}}, "paths": made,
	})
	if err != nil {
		panic(err) // maps of strings can be marshalled
	}
	return string(file)
}
