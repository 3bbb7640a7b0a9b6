package attack_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

const form = "Content-Type: application/x-www-form-urlencoded"

// signIn signs a browser in and returns its cookie, as NAME=VALUE.
func signIn(t *testing.T, at, token string) string {
	t.Helper()
	a := send(t, "POST "+at+"/.enablers/sign-in", "", url.Values{"token": {token}}.Encode(), form)
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	require.NotEmpty(t, cookie)
	return cookie
}

// TestSessions_cookie_isHiddenAndBoundToTheSite looks at the cookie of a browser that signs in.
func TestSessions_cookie_isHiddenAndBoundToTheSite(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, p *process, at string) {
		token := p.tokens[httpapi.Reader]
		a := send(t, "POST "+at+"/.enablers/sign-in", "", url.Values{"token": {token}}.Encode(), form)
		cookie := a.header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="} {
			require.Contains(t, cookie, want)
		}
		require.NotContains(t, cookie, "Domain=")
		require.NotContains(t, cookie, token, "the cookie is not the token")
		require.NotContains(t, a.body, token)
		require.Equal(t, "no-store", a.header.Get("Cache-Control"))
		require.NotEqual(t, signIn(t, at, token), signIn(t, at, token), "each sign-in has its own")
	})
}

// TestSessions_afterSigningOut_areWorthNothing replays a cookie, tries one that an attacker has
// chosen, and one that has another role.
func TestSessions_afterSigningOut_areWorthNothing(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		o := protected(t, at)
		cookie := signIn(t, at, p.tokens[httpapi.Admin])
		name, value, _ := strings.Cut(cookie, "=")
		require.Equal(t, http.StatusOK, send(t, "GET "+o.url, "", "", "Cookie: "+cookie).status)
		for _, forged := range []string{"chosen", strings.ToLower(value), value + "A", value[1:]} {
			a := send(t, "GET "+o.url, "", "", "Cookie: "+name+"="+forged)
			require.Equal(t, http.StatusUnauthorized, a.status, "a forged cookie")
		}
		require.Equal(t, http.StatusUnauthorized, send(t, "GET "+o.url, "a token that is not valid", "", "Cookie: "+cookie).status,
			"a token goes before a cookie")
		a := send(t, "POST "+at+"/.enablers/sign-out", "", "", "Cookie: "+cookie)
		require.Equal(t, http.StatusSeeOther, a.status)
		a = send(t, "GET "+o.url, "", "", "Cookie: "+cookie)
		require.Equal(t, http.StatusUnauthorized, a.status, "the session has ended at the server")
	})
}

// TestSessions_cookie_hasTheRoleOfItsToken has a reader who signed in in a browser change something.
func TestSessions_cookie_hasTheRoleOfItsToken(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		cookie := signIn(t, at, p.tokens[httpapi.Reader])
		for _, o := range operations(t, at) {
			if !httpapi.Reader.Includes(o.role) {
				a := send(t, o.method+" "+o.url, "", "", "Cookie: "+cookie)
				require.Equal(t, http.StatusForbidden, a.status, o)
			}
		}
	})
}

// TestSessions_ofPagesElsewhere_changeNothing sends what a page of another origin has a browser
// send, with the cookie of an administrator.
func TestSessions_ofPagesElsewhere_changeNothing(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		cookie := signIn(t, at, p.tokens[httpapi.Admin])
		for _, o := range operations(t, at) {
			isSafe := o.method == http.MethodGet || o.method == http.MethodHead || o.method == http.MethodOptions
			if isSafe && o.path != "/job/stop" && o.path != "/.enablers/backup" {
				continue
			}
			for _, fields := range [][]string{
				{"Origin: https://evil.example"}, {"Origin: null"}, {"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
			} {
				a := send(t, o.method+" "+o.url, "", "", append(fields, "Cookie: "+cookie)...)
				require.Equal(t, http.StatusForbidden, a.status, "%s %v", o, fields)
			}
		}
		a := send(t, "GET "+protected(t, at).url, "", "", "Cookie: "+cookie)
		require.Equal(t, http.StatusOK, a.status, "no page has signed the person out")
	})
}

// TestSessions_to_staysOnTheServer signs in with addresses to go on to that lead elsewhere.
func TestSessions_to_staysOnTheServer(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, p *process, at string) {
		for _, to := range []string{
			"https://evil.example/", "//evil.example", `/\evil.example`, `\\evil.example`, "javascript:alert(1)", "/\t/evil.example",
			"/\r\nSet-Cookie: x=y", "http:evil.example", "///evil.example", "/%0d%0aX: y", " //evil.example",
			"/.enablers/sign-in?to=//evil.example",
			"data:text/html,x", "evil.example", "", "@evil.example", ".evil.example", "/\x00/evil.example", "/\x0b/evil.example",
		} {
			a := send(t, "POST "+at+"/.enablers/sign-in", "", url.Values{"token": {p.tokens[httpapi.Reader]}, "to": {to}}.Encode(), form)
			require.Equal(t, http.StatusSeeOther, a.status)
			where, err := url.Parse(a.header.Get("Location"))
			require.NoError(t, err, "%q", to)
			require.True(t, where.Host == "" && where.Scheme == "" && strings.HasPrefix(a.header.Get("Location"), "/") &&
				!strings.HasPrefix(a.header.Get("Location"), "//") && !strings.HasPrefix(a.header.Get("Location"), `/\`), "%q leads to %q", to,
				a.header.Get("Location"))
			require.Empty(t, a.header.Get("X"), to)
			page := send(t, "GET "+at+"/.enablers/sign-in?"+url.Values{"to": {to}}.Encode(), "", "")
			require.NotContains(t, page.body, "evil.example", to)
			require.NotContains(t, page.body, "javascript:", to)
		}
	})
}

// TestSessions_pages_leadToTheSignInPage opens a protected address as a browser does, and as a
// script does.
func TestSessions_pages_leadToTheSignInPage(t *testing.T) {
	eachSharedListener(t, func(t *testing.T, _ *process, at string) {
		o := protected(t, at)
		a := send(t, "GET "+o.url, "", "", "Accept: text/html")
		require.Equal(t, http.StatusSeeOther, a.status)
		require.Equal(t, "/.enablers/sign-in?"+url.Values{"to": {o.path}}.Encode(), a.header.Get("Location"))
		a = send(t, "GET "+o.url, "", "", "Accept: text/html", "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin")
		require.Equal(t, http.StatusUnauthorized, a.status)
	})
}
