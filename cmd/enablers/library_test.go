package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// account gets a token for a user of the data folder.
func (p process) account(t *testing.T, dir, user string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "apimanager", "credentials.json"))
	require.NoError(t, err)
	var secrets map[string]string
	require.NoError(t, json.Unmarshal(raw, &secrets))
	password := secrets["demo_password"]
	if user == "demoadmin" {
		password = secrets["demo_admin_password"]
	}
	answer, err := http.PostForm(p.portal+"/auth/realms/OpenAPI/protocol/openid-connect/token", url.Values{
		"grant_type": {"password"}, "client_id": {"public-backend-access"}, "username": {user}, "password": {password}})
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	var tokens struct {
		Access string `json:"access_token"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&tokens))
	return tokens.Access
}

// ask sends a request with a token, which may be empty.
func ask(t *testing.T, method, address, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// states returns the states of the APIs in the library once there are so many.
func (p process) states(t *testing.T, token string, many int) map[string]string {
	t.Helper()
	states := map[string]string{}
	require.Eventually(t, func() bool {
		var list []struct{ Enabler, State, Path string }
		_, text := ask(t, http.MethodGet, p.portal+"/OpenAPIDocumentation/", token, "")
		require.NoError(t, json.Unmarshal([]byte(text), &list), text)
		for _, one := range list {
			states[one.Enabler] = one.State + " " + one.Path
		}
		return len(list) >= many
	}, time.Minute, 50*time.Millisecond)
	return states
}

func TestRun_securesItsOwnAPIsByRole(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "-data", dir)
	admin, developer, caller := p.account(t, dir, "demoadmin"), p.account(t, dir, "demodeveloper"), p.account(t, dir, "demoopencaller")
	require.Equal(t, map[string]string{
		"annotator": "published /annotation", "model repository": "published /models", "training collector": "published /training",
		"FL repository": "published /results", "API publisher": "published /apis", "multi-link": "published /links",
	}, p.states(t, caller, 6))
	for _, one := range []struct {
		request, token string
		want           int
	}{
		{"GET /models/healthz", "", http.StatusOK},
		{"GET /annotation/healthz", "", http.StatusOK},
		{"GET /models/", "", http.StatusUnauthorized},
		{"GET /models/", caller, http.StatusOK},
		{"POST /models/w3c", caller, http.StatusForbidden},
		{"POST /models/w3c", developer, http.StatusOK},
		{"GET /models/w3c", admin, http.StatusOK},
		{"GET /annotation/channels", caller, http.StatusOK},
		{"DELETE /annotation/channels/none", caller, http.StatusForbidden},
		{"GET /training/jobs", caller, http.StatusOK},
		{"GET /results/model", caller, http.StatusOK},
		{"GET /apis/OpenAPIDocumentation/", caller, http.StatusOK},
		{"GET /links/status", caller, http.StatusUnauthorized}, // its own token is required
	} {
		method, path, _ := strings.Cut(one.request, " ")
		status, text := ask(t, method, p.gateway+path, one.token, "")
		require.Equal(t, one.want, status, "%s: %s", one.request, text)
	}
	require.NoError(t, p.Stop())
}

func TestRun_keepsWhatPeopleHaveMadeOfItsAPIs(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "-data", dir)
	developer := p.account(t, dir, "demodeveloper")
	p.states(t, developer, 6)
	at := p.portal + "/OpenAPIDocumentation/"
	status, text := ask(t, http.MethodDelete, at+"multi-link", developer, "")
	require.Less(t, status, 300, text)
	status, text = ask(t, http.MethodPatch, at+"annotator/versions/1.0.0", developer, `{"state": "sunset"}`)
	require.Equal(t, http.StatusOK, status, text)
	status, text = ask(t, http.MethodPatch, at+"API%20publisher", developer, `{"description": "Mine"}`)
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, p.Stop())

	p = start(t, "-data", dir) // on other ports
	p.Await("Or start with -demo")
	developer = p.account(t, dir, "demodeveloper")
	require.Eventually(t, func() bool {
		status, _ := ask(t, http.MethodGet, p.gateway+"/results/model", developer, "")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond, "what is unchanged leads to the new ports")
	require.Equal(t, map[string]string{
		"annotator": "sunset /annotation", "model repository": "published /models", "training collector": "published /training",
		"FL repository": "published /results", "API publisher": "published /apis",
	}, p.states(t, developer, 5))
	_, text = ask(t, http.MethodGet, p.portal+"/OpenAPIDocumentation/API%20publisher", developer, "")
	require.Contains(t, text, `"description":"Mine"`)
	require.NoError(t, p.Stop())
}

func TestRun_hasThePortalOnTheConsole(t *testing.T) {
	p := start(t)
	status, text := ask(t, http.MethodGet, p.web+"/ui/apis/", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `href="/.enablers/sign-on?to=%2Fui%2Fapis%2F"`)
	require.Contains(t, text, `<a href="/ui/annotation/">Annotation</a>`)
	_, text = ask(t, http.MethodGet, p.portal+"/", "", "")
	require.Contains(t, text, `<a href="/ui/models/">Models</a>`, "the portal's own listener leads back")
	status, text = ask(t, http.MethodGet, p.portal+"/ui/models/", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `<a href="/ui/">Overview</a>`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, p.gateway+"/models/", nil)
	require.NoError(t, err)
	r.Header.Set("Origin", p.web)
	r.Header.Set("Access-Control-Request-Method", "GET")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, p.web, answer.Header.Get("Access-Control-Allow-Origin"), "an API is tried from the console, too")
	require.NoError(t, p.Stop())
}
