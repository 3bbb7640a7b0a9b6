package main

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// process is a run of the program on free ports.
type process struct {
	*servertest.Program
	portal, gateway, admin, idp string
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	args = append([]string{"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0"}, args...)
	p := &process{Program: servertest.Start(t, run, args...)}
	for _, at := range []struct {
		of   *string
		name string
	}{{&p.portal, "portal"}, {&p.gateway, "gateway"}, {&p.admin, "admin"}, {&p.idp, "idp"}} {
		if slices.Contains(args, "-kong") && (at.name == "gateway" || at.name == "admin") {
			continue
		}
		if slices.Contains(args, "-idp") && at.name == "idp" {
			continue
		}
		*at.of = p.Listening(at.name)
	}
	return p
}

// front is the address of a portal, whatever the port that a process gets for it.
type front struct {
	*httptest.Server
	behind atomic.Pointer[url.URL]
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	f.Server = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(f.behind.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(f.Close)
	return f
}

// start starts a process whose portal has the address of the front.
func (f *front) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := start(t, append([]string{"-portal-url", f.URL}, args...)...)
	f.lead(t, p)
	p.idp = f.URL + "/auth/"
	return p
}

// lead has the front lead to the portal of a process.
func (f *front) lead(t *testing.T, p *process) {
	t.Helper()
	at, err := url.Parse(p.portal)
	require.NoError(t, err)
	f.behind.Store(at)
}

func ask(t *testing.T, method, address, token, contentType string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

// token gets one with the password of a user, as the specification has it.
func (p *process) token(t *testing.T, user, password string) string {
	t.Helper()
	status, body := ask(t, http.MethodPost, p.idp+"realms/OpenAPI/protocol/openid-connect/token", "", "application/x-www-form-urlencoded",
		strings.NewReader(url.Values{"grant_type": {"password"}, "client_id": {"public-backend-access"},
			"username": {user}, "password": {password}}.Encode()))
	require.Equal(t, http.StatusOK, status, body)
	var tokens struct {
		Access string `json:"access_token"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &tokens))
	return tokens.Access
}

func (p *process) publish(t *testing.T, token, enabler, file string) (int, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("upload_file", "api.json")
	require.NoError(t, err)
	_, err = part.Write([]byte(file))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	return ask(t, http.MethodPost, p.portal+"/OpenAPIDocumentation/?enabler="+url.QueryEscape(enabler)+
		"&description=Weather", token, form.FormDataContentType(), &body)
}

// definitionOf secures the operation /secured and not /open.
func definitionOf(upstream, idp string) string {
	return `{"openapi": "3.0.3", "info": {"title": "Weather", "version": "1.0"}, "servers": [{"url": "` + upstream + `"}], "paths": {
		"/open": {"get": {"responses": {"200": {"description": "ok"}}}},
		"/secured": {"get": {"x-kong-plugin-oidc": {"name": "oidc", "enabled": true, "config": {
			"client_id": "kong", "client_secret": "client secret for tests", "bearer_only": "yes", "realm": "OpenAPI",
			"introspection_endpoint": "` + idp + `realms/OpenAPI/protocol/openid-connect/token/introspect",
			"discovery": "` + idp + `realms/OpenAPI/.well-known/openid-configuration"}}, "responses": {"200": {"description": "ok"}}}}}}`
}

func TestRun_servesAndSecuresPublishedAPIsAfterARestart(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "from "+r.URL.Path)
	}))
	defer upstream.Close()
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	t.Setenv("APIMANAGER_CLIENT_SECRET", "client secret for tests")
	dir, portal := t.TempDir(), newFront(t) // the definition names the identity provider's address
	p := portal.start(t, "-data", dir)
	token := p.token(t, "demodeveloper", "password for tests")
	reader := p.token(t, "demoopencaller", "password for tests")

	status, body := p.publish(t, "", "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusUnauthorized, status, body)
	status, body = p.publish(t, reader, "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusForbidden, status, body)
	status, body = p.publish(t, token, "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusOK, status, body)
	require.NotContains(t, body, "client secret for tests")

	served := func(p *process, token string) {
		status, body := ask(t, http.MethodGet, p.gateway+"/open", "", "", nil)
		require.Equal(t, http.StatusOK, status, body)
		require.Equal(t, "from /open", body)
		status, body = ask(t, http.MethodGet, p.gateway+"/secured", "", "", nil)
		require.Equal(t, http.StatusUnauthorized, status, body)
		status, body = ask(t, http.MethodGet, p.gateway+"/secured", token+"x", "", nil)
		require.Equal(t, http.StatusUnauthorized, status, body)
		status, body = ask(t, http.MethodGet, p.gateway+"/secured", token, "", nil)
		require.Equal(t, http.StatusOK, status, body)
	}
	served(p, token)
	status, body = ask(t, http.MethodGet, p.admin+"/routes", "", "", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "secured")
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), "secret for tests")
	require.NotContains(t, p.Log.String(), "password for tests")

	p = portal.start(t, "-data", dir)
	served(p, p.token(t, "demouser", "password for tests"))
	status, body = ask(t, http.MethodGet, p.portal+"/OpenAPIDocumentation/", reader, "", nil)
	require.Equal(t, http.StatusOK, status, "a token of before is good: the keys are kept: "+body)
	require.Contains(t, body, `"weather"`)
	status, body = ask(t, http.MethodGet, p.portal+"/", "", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Sign in")
	require.NoError(t, p.Stop())
}

func TestRun_generatesSecretsAndPrintsNoneOfThem(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "-data", dir)
	text, _ := p.Until("Sign in at http://")
	name := filepath.Join(dir, "credentials.json")
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var kept map[string]string
	require.NoError(t, json.Unmarshal(data, &kept))
	require.Len(t, kept, 4)
	for key, secret := range kept {
		require.GreaterOrEqual(t, len(secret), 26, key)
		require.Contains(t, text, ": "+key+" in "+name)
		require.NotContains(t, p.Out.String(), secret, "standard output may be a log")
		require.NotContains(t, p.Log.String(), secret, key)
	}
	p.token(t, "demouser", kept["demo_password"])
	p.token(t, "demoadmin", kept["demo_admin_password"])
	require.NoError(t, p.Stop())

	p = start(t, "-data", dir)
	p.token(t, "demouser", kept["demo_password"])
	before, last := p.Until("Sign in at")
	again := before + last
	require.NoError(t, p.Stop())
	require.Contains(t, again, "Sign in at "+p.portal+"/ as demodeveloper", "each start says how to sign in")
	require.Contains(t, again, "demo_password in "+name)
	for key, secret := range kept {
		require.NotContains(t, again, secret, key)
	}
	require.NotContains(t, again, "new ", "what is new is named once")
}

func TestRun_takesThePasswordOfTheAdministrator(t *testing.T) {
	t.Setenv("APIMANAGER_DEMO_ADMIN_PASSWORD", "password of the chart")
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "")
	dir := t.TempDir()
	p := start(t, "-data", dir)
	require.Contains(t, p.Await("Or as demoadmin"), "given by -demo-admin-password or APIMANAGER_DEMO_ADMIN_PASSWORD")
	p.token(t, "demoadmin", "password of the chart")
	require.NotContains(t, text(t, filepath.Join(dir, "credentials.json")), "demo_admin_password")
	require.NoError(t, p.Stop())
	_, err := readSettings([]string{"-demo-admin-password", "short"})
	require.ErrorContains(t, err, "-demo-admin-password (APIMANAGER_DEMO_ADMIN_PASSWORD): expected 8 characters or more")
}

func TestRun_keepsAConfiguredSecret(t *testing.T) {
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	dir := t.TempDir()
	p := start(t, "-data", dir)
	before, last := p.Until("Sign in at http://")
	require.NotContains(t, before, "password of demouser")
	require.Contains(t, last, "given by -demo-password")
	name := filepath.Join(dir, "credentials.json")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NotContains(t, string(data), "demo_password", "the file would name a password that opens nothing")
	p.token(t, "demouser", "password for tests")
	require.NoError(t, p.Stop())

	t.Setenv("APIMANAGER_DEMO_PASSWORD", "")
	p = start(t, "-data", dir)
	require.Contains(t, p.Await("Sign in at http://"), "demo_password in "+name)
	data, err = os.ReadFile(name)
	require.NoError(t, err)
	var kept map[string]string
	require.NoError(t, json.Unmarshal(data, &kept))
	require.Len(t, kept, 4)
	p.token(t, "demouser", kept["demo_password"])
	require.NoError(t, p.Stop())
}

func TestRun_removesAGeneratedSecretWhenOneIsConfigured(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, start(t, "-data", dir).Stop())
	name := filepath.Join(dir, "credentials.json")
	var first, second map[string]string
	read := func(to *map[string]string) {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, to))
	}
	read(&first)
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	p := start(t, "-data", dir)
	p.token(t, "demouser", "password for tests")
	require.NoError(t, p.Stop())
	read(&second)
	require.NotContains(t, second, "demo_password", "it opens nothing")
	delete(first, "demo_password")
	require.Equal(t, first, second, "the others stay")
}

func TestRun_generatesNoUnusedSecrets(t *testing.T) {
	for _, one := range []struct {
		args   []string
		unused []string
	}{
		{[]string{"-idp", "http://127.0.0.1:9/auth/"}, []string{"demo_password", "demo_admin_password", "client_secret"}},
		{[]string{"-kong", "http://127.0.0.1:9", "-gateway-url", "http://127.0.0.1:9"}, []string{"admin_token"}},
	} {
		dir := t.TempDir()
		p := start(t, append(one.args, "-data", dir)...)
		printed, _ := p.Until("Sign in at http://")
		_ = p.Stop() // the server elsewhere is not there
		data, err := os.ReadFile(filepath.Join(dir, "credentials.json"))
		require.NoError(t, err)
		var kept map[string]string
		require.NoError(t, json.Unmarshal(data, &kept))
		require.Len(t, kept, 4-len(one.unused))
		for _, key := range one.unused {
			require.NotContains(t, kept, key)
		}
		require.Equal(t, len(kept), strings.Count(printed, "new "), printed)
	}
}

func TestRun_beyondLoopbackRequiresATokenAndPublicHosts(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	t.Setenv("APIMANAGER_ADMIN_TOKEN", "")
	dir := t.TempDir()
	p := start(t, "-data", dir, "-listen", "0.0.0.0:0", "-gateway-listen", "0.0.0.0:0", "-admin-listen", "0.0.0.0:0")
	local := strings.NewReplacer("0.0.0.0", "127.0.0.1")
	p.portal, p.admin, p.idp = local.Replace(p.portal), local.Replace(p.admin), local.Replace(p.idp)
	require.Contains(t, p.Log.String(), "the built-in identity provider is for development")
	status, _ := ask(t, http.MethodGet, p.admin+"/routes", "", "", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	data, err := os.ReadFile(filepath.Join(dir, "credentials.json"))
	require.NoError(t, err)
	var kept map[string]string
	require.NoError(t, json.Unmarshal(data, &kept))
	status, body := ask(t, http.MethodGet, p.admin+"/routes", kept["admin_token"], "", nil)
	require.Equal(t, http.StatusOK, status, body)
	status, body = p.publish(t, p.token(t, "demouser", "password for tests"), "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "not public")
}

func TestRun_publishesToAKong(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "from "+r.URL.Path)
	}))
	defer upstream.Close()
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	t.Setenv("APIMANAGER_CLIENT_SECRET", "client secret for tests")
	behind := start(t, "-data", t.TempDir()) // its admin API is Kong's
	p := start(t, "-data", t.TempDir(), "-kong", behind.admin, "-gateway-url", behind.gateway)
	status, body := p.publish(t, p.token(t, "demouser", "password for tests"), "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusOK, status, body)
	status, body = ask(t, http.MethodGet, behind.gateway+"/open", "", "", nil)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "from /open", body)
	status, _ = ask(t, http.MethodGet, behind.gateway+"/secured", "", "", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	require.NoError(t, p.Stop())
}

func TestRun_namesTheFlagOfATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	for _, flag := range []string{"-listen", "-gateway-listen", "-admin-listen"} {
		err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen",
			"127.0.0.1:0", flag, taken.Addr().String(), "-data", t.TempDir()}, io.Discard, io.Discard)
		require.ErrorContains(t, err, "the port is taken")
		require.ErrorContains(t, err, "with "+flag+" ")
	}
}

func TestRun_refusesWrongSettingsByName(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-idp", "ftp://user:secret@host"}, "-idp (APIMANAGER_IDP): expected a URL"},
		{[]string{"-portal-url", "http://host/path"}, "-portal-url (APIMANAGER_PORTAL_URL): expected a URL"},
		{[]string{"-gateway-url", "http://user:secret@host"}, "-gateway-url (APIMANAGER_GATEWAY_URL): expected a URL"},
		{[]string{"-idp-discovery", "http://host/x"}, "requires -idp"},
		{[]string{"-kong", "http://127.0.0.1:8001"}, "-kong (APIMANAGER_KONG): requires -gateway-url"},
		{[]string{"-kong", "http://user:secret@host", "-gateway-url", "http://h"}, "-kong (APIMANAGER_KONG): expected a URL"},
		{[]string{"-kong", "http://h", "-gateway-url", "http://h", "-access-log", "all"},
			"-access-log (APIMANAGER_ACCESS_LOG): cannot be given together with -kong"},
		{[]string{"-demo-password", "secret"}, "-demo-password (APIMANAGER_DEMO_PASSWORD): expected 8 characters or more"},
	} {
		_, err := readSettings(c.args)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret@")
	}
}

func TestRun_helpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, &out, io.Discard))
	for _, name := range []string{"-listen", "-gateway-listen", "-admin-listen", "-data", "-idp", "-config",
		"-log-level", "APIMANAGER_DEMO_PASSWORD", "APIMANAGER_CLIENT_SECRET"} {
		require.Contains(t, out.String(), name)
	}
}

func TestRun_refusesOtherOriginsExceptAtTheGateway(t *testing.T) {
	p := start(t, "-data", t.TempDir(), "-hosts", "apis.example.org", "-portal-url", "https://portal.example.org")
	for _, name := range []string{"apis.example.org", "portal.example.org"} {
		httpapitest.CheckServer(t, p.portal, "/healthz", name)
		httpapitest.CheckServer(t, p.portal, "/auth/realms/OpenAPI/.well-known/openid-configuration", name)
	}
	httpapitest.CheckServer(t, p.admin, "/healthz", "apis.example.org")
}

func TestRun_printsTheVersion(t *testing.T) { servertest.CheckVersion(t, "apimanager", run) }

func TestRun_endsWithStatusTwoForAWrongSetting(t *testing.T) {
	servertest.CheckUsage(t, run, []string{"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0",
		"-admin-listen", "127.0.0.1:0", "-data", t.TempDir()})
}
