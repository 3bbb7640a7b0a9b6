package oidctest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

func (r Realm) client(t testing.TB) *oidc.Client {
	t.Helper()
	c, err := oidc.NewClient(oidc.ClientConfig{Config: oidc.Config{Issuer: r.Issuer, ClientID: "public-frontend"},
		RedirectURL: r.Portal + "/callback"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func (r Realm) testCode(t *testing.T) {
	client, browser := r.client(t), NewBrowser(t, r.Issuer)
	login, err := client.Begin(t.Context())
	require.NoError(t, err)
	page := browser.Open(login.URL)
	require.Equal(t, http.StatusOK, page.Status, page.Body)
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "frame-")
	again := browser.Submit(page, map[string]string{"username": "demoopencaller-not", "password": r.Password})
	require.Contains(t, again.Body, "Invalid username or password.")
	back := browser.Submit(again, map[string]string{"username": "demoopencaller", "password": r.Password})
	require.Equal(t, r.Portal+"/callback", back.URL.Scheme+"://"+back.URL.Host+back.URL.Path, back.Body)
	require.Equal(t, r.Issuer, back.URL.Query().Get("iss"))

	_, err = client.Exchange(t.Context(), oidc.Login{State: "x", Nonce: "x", Verifier: "x"}, back.URL.Query())
	require.ErrorIs(t, err, oidc.ErrState)
	tokens, err := client.Exchange(t.Context(), login, back.URL.Query())
	require.NoError(t, err)
	require.Equal(t, "demoopencaller", tokens.Claims.Username)
	claims, err := r.verifier(t).Verify(t.Context(), tokens.Access)
	require.NoError(t, err)
	require.Equal(t, "public-frontend", claims.AuthorizedParty)

	newer, err := client.Refresh(t.Context(), tokens.Refresh)
	require.NoError(t, err)
	require.NotEqual(t, tokens.Access, newer.Access)

	// The browser is logged in now, for the next application as well.
	second, err := client.Begin(t.Context())
	require.NoError(t, err)
	silent := browser.Open(second.URL)
	more, err := client.Exchange(t.Context(), second, silent.URL.Query())
	require.NoError(t, err, silent.Body)
	require.Equal(t, tokens.Claims.Session, more.Claims.Session)
	_, err = client.Exchange(t.Context(), second, silent.URL.Query())
	require.ErrorContains(t, err, "Code not valid")

	third, err := client.Begin(t.Context())
	require.NoError(t, err)
	out, err := client.EndSessionURL(t.Context(), newer.ID, r.Portal+"/bye")
	require.NoError(t, err)
	bye := browser.Open(out)
	if bye.Status == http.StatusOK { // the session was ended for the code that came twice
		require.Contains(t, bye.Body, "form")
	} else {
		require.True(t, strings.HasPrefix(bye.URL.String(), r.Portal+"/bye"), bye.URL)
	}
	_, err = client.Refresh(t.Context(), newer.Refresh)
	var refusal *oidc.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "invalid_grant", refusal.Code)
	require.Contains(t, browser.Open(third.URL).Body, "<form", "one has to log in again")
}

func (r Realm) testLoginFaults(t *testing.T) {
	challenge := "&code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	browser := NewBrowser(t, r.Issuer)
	start := r.endpoint("auth") + "?client_id=public-frontend&state=st"
	portal := "&redirect_uri=" + url.QueryEscape(r.Portal+"/x")
	for query, want := range map[string]string{
		portal + "&response_type=code":                                              "invalid_request",
		portal + "&response_type=code&code_challenge_method=plain&code_challenge=x": "invalid_request",
		portal + challenge: "invalid_request",
		portal + "&response_type=code&prompt=none" + challenge: "login_required",
	} {
		back := browser.Open(start + query)
		require.Equal(t, want, back.URL.Query().Get("error"), "%s: %s", query, back.Body)
		require.Equal(t, "st", back.URL.Query().Get("state"))
		require.True(t, strings.HasPrefix(back.URL.String(), r.Portal+"/x?"))
	}
	for _, where := range []string{
		"", "https://evil.example/", r.Portal + ".evil.example/", r.Portal + "@evil.example/", r.Portal + "/../x",
		r.Portal + "/%2e%2e/x", "javascript:alert(1)", "/x",
	} {
		page := browser.Open(start + "&response_type=code" + challenge + "&redirect_uri=" + url.QueryEscape(where))
		require.Equal(t, http.StatusBadRequest, page.Status, where)
		require.Empty(t, page.Header.Get("Location"), where)
	}
	page := browser.Open(r.endpoint("auth") + "?client_id=nope&response_type=code" + portal)
	require.Equal(t, http.StatusBadRequest, page.Status)
}
