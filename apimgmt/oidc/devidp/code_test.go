package devidp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
)

const verifier = "a verifier of PKCE that has 43 characters or more"

// surf is a browser without a network: it has one cookie jar and no redirects.
type surf struct {
	p       *devidp.Provider
	cookies map[string]string
}

func (s *surf) do(t *testing.T, method, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(method, "/auth/realms/OpenAPI/"+path, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range s.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	recorder := httptest.NewRecorder()
	s.p.Handler().ServeHTTP(recorder, request)
	for _, cookie := range recorder.Result().Cookies() {
		s.cookies[cookie.Name] = cookie.Value
	}
	return recorder
}

func pageSeal(t *testing.T, page *httptest.ResponseRecorder) string {
	t.Helper()
	found := regexp.MustCompile(`name="request" value="([^"]+)"`).FindStringSubmatch(page.Body.String())
	require.NotNil(t, found, page.Body.String())
	return found[1]
}

func authorization(client string) string {
	challenge := sha256.Sum256([]byte(verifier))
	return "protocol/openid-connect/auth?" + url.Values{
		"client_id": {client}, "response_type": {"code"}, "redirect_uri": {portal + "/cb"}, "scope": {"openid"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

// code logs in, or finds that it is, and returns the code.
func (s *surf) code(t *testing.T, client, user string) string {
	t.Helper()
	page := s.do(t, http.MethodGet, authorization(client)+"&prompt=login", nil)
	back := s.do(t, http.MethodPost, "login-actions/authenticate",
		url.Values{"request": {pageSeal(t, page)}, "username": {user}, "password": {password}})
	where, err := url.Parse(back.Header().Get("Location"))
	require.NoError(t, err)
	require.NotEmpty(t, where.Query().Get("code"), back.Body.String())
	return where.Query().Get("code")
}

func exchange(p *devidp.Provider, client, code, with, redirect string) *httptest.ResponseRecorder {
	fields := []string{"grant_type", "authorization_code", "client_id", client, "code", code, "code_verifier", with, "redirect_uri", redirect}
	if client == "private-backend" {
		fields = append(fields, "client_secret", "secret of private-backend")
	}
	return post(p, "token", "10.0.0.1", fields...)
}

func TestCodes_areBoundToTheRequestAndUsedOnce(t *testing.T) {
	p := open(t, nil)
	browser := &surf{p, map[string]string{}}
	for want, test := range map[string]struct{ client, verifier, redirect string }{
		"Code not valid":                                  {"private-backend", verifier, portal + "/cb"},
		"Incorrect redirect_uri":                          {"public-frontend", verifier, portal + "/other"},
		"PKCE verification failed: Code mismatch":         {"public-frontend", verifier + "x", portal + "/cb"},
		"PKCE code verifier not specified":                {"public-frontend", "", portal + "/cb"},
		"PKCE verification failed: Invalid code verifier": {"public-frontend", "x", portal + "/cb"},
	} {
		refused := exchange(p, test.client, browser.code(t, "public-frontend", "demouser"), test.verifier, test.redirect)
		require.Equal(t, http.StatusBadRequest, refused.Code, want)
		require.Equal(t, want, answerFields(t, refused)["error_description"])
	}
	code := browser.code(t, "public-frontend", "demouser")
	got := exchange(p, "public-frontend", code, verifier, portal+"/cb")
	require.Equal(t, http.StatusOK, got.Code, got.Body.String())
	again := exchange(p, "public-frontend", code, verifier, portal+"/cb")
	require.Equal(t, "Code not valid", answerFields(t, again)["error_description"])
	active := post(p, "token/introspect", "10.0.0.1", "client_id", "kong", "client_secret", "secret of kong", "token",
		answerFields(t, got)["access_token"].(string))
	require.Equal(t, false, answerFields(t, active)["active"], "what the code gave is not good any more")
}

func TestProvider_authorize_refusesPlainPKCE(t *testing.T) {
	browser := &surf{open(t, nil), map[string]string{}}
	for _, client := range []string{"public-frontend", "private-backend"} {
		back := browser.do(t, http.MethodGet, strings.Replace(authorization(client), "S256", "plain", 1), nil)
		require.Contains(t, back.Header().Get("Location"), "error=invalid_request", client)
	}
}

func TestProvider_codesAndPagesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, nil)
		browser := &surf{p, map[string]string{}}
		code := browser.code(t, "public-frontend", "demouser")
		time.Sleep(time.Minute)
		require.Equal(t, "Code not valid", answerFields(t, exchange(p, "public-frontend", code, verifier, portal+"/cb"))["error_description"])

		filled := url.Values{"username": {"demouser"}, "password": {password}}
		filled.Set("request", pageSeal(t, browser.do(t, http.MethodGet, authorization("public-frontend")+"&prompt=login", nil)))
		time.Sleep(29 * time.Minute)
		require.Equal(t, http.StatusSeeOther, browser.do(t, http.MethodPost, "login-actions/authenticate", filled).Code)
		time.Sleep(time.Minute)
		require.Equal(t, http.StatusBadRequest, browser.do(t, http.MethodPost, "login-actions/authenticate", filled).Code)
	})
}

func TestProvider_introspect_admitsUnexpiredAccessTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, nil)
		tokens := answerFields(t, post(p, "token", "10.0.0.1", "grant_type", "password", "client_id", "public-backend-access",
			"username", "demouser", "password", password, "scope", "openid"))
		active := func(kind string) any {
			return answerFields(t, post(p, "token/introspect", "10.0.0.1", "client_id", "kong", "client_secret", "secret of kong",
				"token", tokens[kind].(string)))["active"]
		}
		require.Equal(t, true, active("access_token"))
		require.Equal(t, false, active("id_token"))
		require.Equal(t, false, active("refresh_token"))
		time.Sleep(5*time.Minute - time.Second)
		require.Equal(t, true, active("access_token"))
		time.Sleep(time.Second)
		require.Equal(t, false, active("access_token"))
	})
}

func TestProvider_logout_endsTheNamedSessionOnly(t *testing.T) {
	p := open(t, nil)
	browser := &surf{p, map[string]string{}}
	first := answerFields(t, exchange(p, "public-frontend", browser.code(t, "public-frontend", "demouser"), verifier, portal+"/cb"))
	wrong := browser.do(t, http.MethodGet, "protocol/openid-connect/logout?id_token_hint="+first["access_token"].(string), nil)
	require.Equal(t, http.StatusBadRequest, wrong.Code, "an access token says not who logged in")

	elsewhere := &surf{p, map[string]string{}}
	other := answerFields(t, exchange(p, "public-frontend", elsewhere.code(t, "public-frontend", "demodeveloper"), verifier, portal+"/cb"))
	asked := browser.do(t, http.MethodGet, "protocol/openid-connect/logout?id_token_hint="+other["id_token"].(string), nil)
	require.Contains(t, asked.Body.String(), "You are signed in as demouser", "the hint names another user")
	require.Equal(t, http.StatusOK, browser.do(t, http.MethodGet,
		"protocol/openid-connect/logout?id_token_hint="+first["id_token"].(string), nil).Code)
	refresh := func(tokens map[string]any) int {
		return post(p, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-frontend", "refresh_token",
			tokens["refresh_token"].(string)).Code
	}
	require.Equal(t, http.StatusBadRequest, refresh(first))
	require.Equal(t, http.StatusOK, refresh(other))
}
