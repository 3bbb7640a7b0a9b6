package portal_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/portal"
)

// mounted is a portal below /ui/apis of a program that signs people in itself: the header
// field X-Person has the access token of a person.
type mounted struct{ handler http.Handler }

// roles takes tokens that are the names of roles with commas between.
type roles struct{}

func (roles) Verify(_ context.Context, token string) (*oidc.Claims, error) {
	if token == "expired" {
		return nil, oidc.ErrExpired
	}
	return &oidc.Claims{Username: "ada", Roles: strings.Split(token, ",")}, nil
}

func newMounted(t *testing.T) *mounted {
	w := newWorld(t, func(c *portal.Config) {
		c.Client, c.Verifier, c.SignIn, c.SignOut = nil, roles{}, "/sign-in", "/sign-out"
		c.SignedIn = func(r *http.Request) (oidc.Tokens, error) {
			switch token := r.Header.Get("X-Person"); token {
			case "":
				return oidc.Tokens{}, fmt.Errorf("no cookie: %w", portal.ErrSignedOut)
			case "away":
				return oidc.Tokens{}, fmt.Errorf("refresh: %w", oidc.ErrUnreachable)
			case "broken":
				return oidc.Tokens{}, errors.New("the session cannot be read")
			default:
				return oidc.Tokens{Access: token}, nil
			}
		}
	})
	return &mounted{http.StripPrefix("/ui/apis", w.portal.Handler())}
}

func (m *mounted) send(method, path, token string, form url.Values, header ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, "/ui/apis"+path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Person", token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	m.handler.ServeHTTP(w, r)
	return w
}

func TestPortal_Handler_leadsToWhereTheProgramSignsIn(t *testing.T) {
	m := newMounted(t)
	for path, to := range map[string]string{
		"/apis/weather?version=1":                "/ui/apis/apis/weather?version=1",
		"/login":                                 "/ui/apis/",
		"/login?back=%2Fapis%2Fx":                "/ui/apis/apis/x",
		"/login?back=%2F%2Fevil.example":         "/ui/apis/",
		"/login?back=https%3A%2F%2Fevil.example": "/ui/apis/",
	} {
		w := m.send(http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusSeeOther, w.Code, path)
		require.Equal(t, "/sign-in?"+url.Values{"to": {to}}.Encode(), w.Header().Get("Location"), path)
		require.Empty(t, w.Header()["Set-Cookie"], "the portal keeps no session")
	}
	home := m.send(http.MethodGet, "/", "", nil)
	require.Contains(t, home.Body.String(), `href="/sign-in?to=%2Fui%2Fapis%2F"`)
	out := m.send(http.MethodPost, "/logout", "", nil)
	require.Equal(t, http.StatusTemporaryRedirect, out.Code)
	require.Equal(t, "/sign-out", out.Header().Get("Location"))
	require.Equal(t, http.StatusNotFound, m.send(http.MethodGet, "/login/answer?code=x&state=y", "", nil).Code, "the program's")
	require.Equal(t, http.StatusServiceUnavailable, m.send(http.MethodGet, "/", "away", nil).Code)
	require.Equal(t, http.StatusInternalServerError, m.send(http.MethodGet, "/", "broken", nil).Code)
	require.Equal(t, http.StatusSeeOther, m.send(http.MethodGet, "/apis/x", "expired", nil).Code)
}

func TestPortal_Handler_takesTheRolesOfTheToken(t *testing.T) {
	m := newMounted(t)
	const developer, caller, none = "other,Developer", "Open-Caller", "other"
	for who, want := range map[string][3]int{
		"":        {http.StatusOK, http.StatusSeeOther, http.StatusUnauthorized},
		none:      {http.StatusOK, http.StatusForbidden, http.StatusForbidden},
		caller:    {http.StatusOK, http.StatusNotFound, http.StatusForbidden},
		developer: {http.StatusOK, http.StatusNotFound, http.StatusNotFound},
	} {
		require.Equal(t, want[0], m.send(http.MethodGet, "/", who, nil).Code)
		require.Equal(t, want[1], m.send(http.MethodGet, "/apis/none", who, nil).Code)
		require.Equal(t, want[2], m.send(http.MethodPost, "/apis/none/delete", who, nil).Code)
	}
	home := m.send(http.MethodGet, "/", developer, nil).Body.String()
	require.Contains(t, home, `<strong>ada</strong><span class="role">Developer</span>`)
	require.Contains(t, home, `action="/sign-out"`)
	require.Contains(t, home, `id="upload"`)
	require.NotContains(t, m.send(http.MethodGet, "/", caller, nil).Body.String(), `id="upload"`)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, path := range []string{"/apis", "/apis/none", "/apis/none/state", "/apis/none/delete", "/logout"} {
			require.Equal(t, http.StatusForbidden, m.send(http.MethodPost, path, developer, nil, header...).Code, path)
		}
	}
}

func TestNew_requiresWhereToSignIn(t *testing.T) {
	w := newWorld(t)
	_, err := portal.New(portal.Config{Publisher: w.publisher, Verifier: roles{}, URL: w.address, GatewayURL: gatewayURL,
		SignedIn: func(*http.Request) (oidc.Tokens, error) { return oidc.Tokens{}, nil }})
	require.ErrorContains(t, err, "Config.SignIn and SignOut are required")
}
