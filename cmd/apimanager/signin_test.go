package main

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser is that of a person.
type browser struct {
	t *testing.T
	*http.Client
}

func newBrowser(t *testing.T) browser {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return browser{t, &http.Client{Jar: jar}}
}

// open opens a page, or sends a form to it, and returns where it ends.
func (b browser) open(address string, form url.Values) (status int, at *url.URL, text string) {
	b.t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	require.NoError(b.t, err)
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := b.Do(r)
	require.NoError(b.t, err)
	data, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	require.NoError(b.t, answer.Body.Close())
	return answer.StatusCode, answer.Request.URL, string(data)
}

// program returns the status of a request as scripts send it.
func (b browser) program(address string) int {
	b.t.Helper()
	answer, err := b.Get(address)
	require.NoError(b.t, err)
	require.NoError(b.t, answer.Body.Close())
	return answer.StatusCode
}

var (
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
	action = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)
	goesOn = regexp.MustCompile(`http-equiv="refresh" content="0; url=([^"]+)"`)
)

// signIn opens a page that leads to the provider, signs in there, and returns the page to
// which the browser goes on.
func (b browser) signIn(address, user, password string) (status int, at *url.URL, text string) {
	b.t.Helper()
	_, where, page := b.open(address, nil)
	require.Contains(b.t, where.Path, "/auth/", page)
	to, err := where.Parse(html.UnescapeString(action.FindStringSubmatch(page)[1]))
	require.NoError(b.t, err)
	form := url.Values{"username": {user}, "password": {password}}
	for _, field := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	_, _, page = b.open(to.String(), form)
	next := goesOn.FindStringSubmatch(page)
	require.NotNil(b.t, next, page)
	return b.open(html.UnescapeString(next[1]), nil)
}

// passwords returns the secrets of a data folder.
func passwords(t *testing.T, dir string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "credentials.json"))
	require.NoError(t, err)
	var kept map[string]string
	require.NoError(t, json.Unmarshal(data, &kept))
	return kept
}

func TestRun_signsInOnceForAllListeners(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("boris operator boris-and-16-characters\n"), 0o600))
	dir := t.TempDir()
	p := start(t, "-data", dir, "-access-tokens", file)
	secrets := passwords(t, dir)

	for user, want := range map[string]struct {
		password, role   string
		metrics, secrets int
	}{
		"demoadmin":      {secrets["demo_admin_password"], "Developer", http.StatusOK, http.StatusOK},
		"demodeveloper":  {secrets["demo_password"], "Developer", http.StatusOK, http.StatusForbidden},
		"demoopencaller": {secrets["demo_password"], "Open-Caller", http.StatusOK, http.StatusForbidden},
	} {
		b := newBrowser(t)
		status, at, text := b.signIn(p.portal+"/ui/apis/apis/none", user, want.password)
		require.Equal(t, http.StatusNotFound, status, text)
		require.Equal(t, "/ui/apis/apis/none", at.Path, "the browser comes back to the page that it opened")
		require.Contains(t, text, "<strong>"+user+`</strong><span class="role">`+want.role)
		status, _, text = b.open(p.admin+"/metrics", nil)
		require.Equal(t, want.metrics, status, text)
		status, _, text = b.open(p.admin+"/services", nil)
		require.Equal(t, want.secrets, status, text)
		status, _, text = b.open(p.portal+"/", nil)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, "<strong>"+user, "the portal is at its old address, too")

		_, at, text = b.open(p.admin+"/.enablers/sign-out", url.Values{})
		require.Contains(t, text, "Signed out here", at)
		require.Equal(t, http.StatusUnauthorized, b.program(p.admin+"/metrics"), "the session has ended at all listeners")
		_, at, text = b.open(html.UnescapeString(goesOn.FindStringSubmatch(text)[1]), nil)
		require.Equal(t, p.portal+"/", at.String(), text)
		_, at, _ = b.open(p.portal+"/ui/apis/apis/none", nil)
		require.Contains(t, at.Path, "/auth/", "the session has ended at the provider, too")
	}

	token := p.token(t, "demoadmin", secrets["demo_admin_password"])
	status, body := ask(t, http.MethodGet, p.admin+"/services", token, "", nil)
	require.Equal(t, http.StatusOK, status, "the door takes tokens of the provider: "+body)
	status, _ = ask(t, http.MethodGet, p.admin+"/services", token+"x", "", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	require.NoError(t, p.Stop())
	require.NotContains(t, p.Log.String(), secrets["demo_admin_password"])
}

func TestRun_keepsSessionsInStorage(t *testing.T) {
	dir, portal := t.TempDir(), newFront(t)
	p := portal.start(t, "-data", dir)
	b := newBrowser(t)
	_, _, text := b.signIn(portal.URL+"/ui/apis/apis/none", "demouser", passwords(t, dir)["demo_password"])
	require.Contains(t, text, "<strong>demouser")
	require.NoError(t, p.Stop())

	p = portal.start(t, "-data", dir)
	_, _, text = b.open(portal.URL+"/", nil)
	require.Contains(t, text, "<strong>demouser", "after a restart")
	require.NoError(t, p.Stop())
}

func TestRun_saysWhereToSignInAtEveryStart(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		p := start(t, "-data", dir)
		require.Contains(t, p.Await("Sign in at"), p.portal+"/ as demodeveloper or demoopencaller. The password is demo_password in "+dir)
		require.Contains(t, p.Await("Or as demoadmin"), "demo_admin_password in "+dir)
		require.NoError(t, p.Stop())
		require.Contains(t, p.Log.String(), "people sign in")
		for _, secret := range passwords(t, dir) {
			require.NotContains(t, p.Log.String(), secret)
		}
	}
}
