package devidp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/storage"
)

const base = "http://idm.example/auth"

// open opens a provider that no network reaches.
func open(t *testing.T, change func(*devidp.Config)) *devidp.Provider {
	t.Helper()
	c := devidp.Config{BaseURL: base, Realm: small(), Documents: storage.NewMemoryDocuments(), TokensPerSecond: -1}
	if change != nil {
		change(&c)
	}
	p, err := devidp.Open(t.Context(), c)
	require.NoError(t, err)
	return p
}

// post sends a form from an address. Fields are names and values in turn.
func post(p *devidp.Provider, path, address string, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	request := httptest.NewRequest(http.MethodPost, "/auth/realms/OpenAPI/protocol/openid-connect/"+path, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.RemoteAddr = address + ":1234"
	recorder := httptest.NewRecorder()
	p.Handler().ServeHTTP(recorder, request)
	return recorder
}

func login(p *devidp.Provider, user, with, address string) *httptest.ResponseRecorder {
	return post(p, "token", address, "grant_type", "password", "client_id", "public-backend-access", "username", user, "password", with)
}

func answerFields(t *testing.T, r *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(r.Body.Bytes(), &fields), r.Body.String())
	return fields
}

func TestProvider_Issued_showsGeneratedSecretsOnce(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	generated := func(c *devidp.Config) { c.Documents, c.Realm = docs, devidp.Demo(portal, portal) }
	first := open(t, generated)
	issued := first.Issued()
	require.Len(t, issued.Passwords, 4)
	require.Len(t, issued.Secrets, 2)
	require.Equal(t, issued.Secrets["kong"], first.ClientSecret("kong"))
	require.Empty(t, first.ClientSecret("public-frontend"))
	require.Equal(t, 200, login(first, "demouser", issued.Passwords["demouser"], "10.0.0.1").Code)
	require.Equal(t, 400, login(first, "demouser", issued.Passwords["demodeveloper"], "10.0.0.1").Code)
	token := answerFields(t, login(first, "DemoUser", issued.Passwords["demouser"], "10.0.0.1"))

	second := open(t, generated)
	require.Empty(t, second.Issued().Passwords)
	require.Empty(t, second.Issued().Secrets)
	require.Equal(t, issued.Secrets["kong"], second.ClientSecret("kong"))
	require.Equal(t, 200, login(second, "demouser", issued.Passwords["demouser"], "10.0.0.1").Code)
	refreshed := post(second, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access",
		"refresh_token", token["refresh_token"].(string))
	require.Equal(t, 200, refreshed.Code, "sessions and keys are kept")

	for document, err := range storage.All(t.Context(), docs, "user/") {
		require.NoError(t, err)
		for _, password := range issued.Passwords {
			require.NotContains(t, string(document.Data), password)
		}
		require.Contains(t, string(document.Data), "$argon2id$")
	}
	third := open(t, func(c *devidp.Config) {
		generated(c)
		c.Realm.Users[0].Password = "set by hand"
	})
	require.Empty(t, third.Issued().Passwords)
	require.Equal(t, 200, login(third, "demouser", "set by hand", "10.0.0.1").Code)
	require.Equal(t, 400, login(third, "demouser", issued.Passwords["demouser"], "10.0.0.1").Code)
	require.Equal(t, 200, login(third, "demodeveloper", issued.Passwords["demodeveloper"], "10.0.0.1").Code)
}

func TestOpen_logsAWarningWithoutSecrets(t *testing.T) {
	var log bytes.Buffer
	p := open(t, func(c *devidp.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	require.Contains(t, log.String(), "NOT for production")
	token := answerFields(t, login(p, "demouser", password, "10.0.0.1"))
	login(p, "demouser", "a wrong password", "10.0.0.1")
	post(p, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access", "refresh_token",
		token["refresh_token"].(string))
	post(p, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access", "refresh_token",
		token["refresh_token"].(string))
	require.Contains(t, log.String(), "came twice")
	for _, secret := range []string{password, "a wrong password", "secret of", token["refresh_token"].(string),
		token["access_token"].(string)} {
		require.NotContains(t, log.String(), secret)
	}
}

func TestProvider_login_delaysGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, nil)
		for range 10 {
			require.Equal(t, 400, login(p, "demouser", "wrong", "10.0.0.1").Code)
		}
		locked := login(p, "demouser", password, "10.0.0.2")
		require.Equal(t, 400, locked.Code, "from anywhere")
		require.Equal(t, "Invalid user credentials", answerFields(t, locked)["error_description"])
		require.Equal(t, 200, login(p, "demodeveloper", password, "10.0.0.1").Code, "others need not wait")
		time.Sleep(5 * time.Second)
		require.Equal(t, 200, login(p, "demouser", password, "10.0.0.1").Code)
	})
}

func TestProvider_loginPage_saysThatTheRightPasswordHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		browser := &surf{open(t, nil), map[string]string{}}
		try := func(user, with string) *httptest.ResponseRecorder {
			page := browser.do(t, http.MethodGet, authorization("public-frontend"), nil)
			return browser.do(t, http.MethodPost, "login-actions/authenticate",
				url.Values{"request": {pageSeal(t, page)}, "username": {user}, "password": {with}})
		}
		for _, user := range []string{"demouser", "no user of the realm"} {
			for range 10 {
				wrong := try(user, "wrong")
				require.Equal(t, http.StatusUnauthorized, wrong.Code)
				require.Contains(t, wrong.Body.String(), "Invalid username or password.")
			}
			right := try(user, password)
			require.Equal(t, http.StatusTooManyRequests, right.Code, user)
			require.Equal(t, "5", right.Header().Get("Retry-After"))
			require.Contains(t, right.Body.String(), "Too many wrong passwords")
			require.Contains(t, right.Body.String(), "5 s")
			require.NotContains(t, right.Body.String(), "Invalid")
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, http.StatusSeeOther, try("demouser", password).Code)
	})
}

func TestProvider_token_limitsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(c *devidp.Config) { c.TokensPerSecond = 2 })
		for range 20 {
			require.Equal(t, 400, post(p, "token", "10.0.0.1", "client_id", "public-backend-access").Code)
		}
		limited := post(p, "token", "10.0.0.1", "client_id", "public-backend-access")
		require.Equal(t, 429, limited.Code)
		require.NotEmpty(t, limited.Header().Get("Retry-After"))
		require.Equal(t, 400, post(p, "token", "10.0.0.2", "client_id", "public-backend-access").Code)
		time.Sleep(time.Second)
		require.Equal(t, 400, post(p, "token", "10.0.0.1", "client_id", "public-backend-access").Code)
	})
}

func TestProvider_sessionsAreBoundedAndExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		change := func(c *devidp.Config) { c.Documents, c.Sessions = docs, 3 }
		p := open(t, change)
		refresh := func(p *devidp.Provider, token any) *httptest.ResponseRecorder {
			return post(p, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access", "refresh_token", token.(string))
		}
		var tokens []any
		for range 5 {
			tokens = append(tokens, answerFields(t, login(p, "demouser", password, "10.0.0.1"))["refresh_token"])
			time.Sleep(time.Second)
		}
		kept, err := docs.List(t.Context(), "session/", "", 0)
		require.NoError(t, err)
		require.Len(t, kept, 3)
		require.Equal(t, 400, refresh(p, tokens[1]).Code, "the oldest gave way")
		answer := refresh(p, tokens[2])
		require.Equal(t, 200, answer.Code)

		last := answerFields(t, answer)["refresh_token"]
		for range 20 { // used every 29 minutes, it lasts for 10 hours
			time.Sleep(29 * time.Minute)
			answer = refresh(p, last)
			require.Equal(t, 200, answer.Code, answer.Body.String())
			last = answerFields(t, answer)["refresh_token"]
		}
		require.Equal(t, 400, refresh(p, tokens[3]).Code, "it was not used for 30 minutes")
		time.Sleep(21 * time.Minute)
		require.Equal(t, "Token is not active", answerFields(t, refresh(p, last))["error_description"])

		open(t, change)
		kept, err = docs.List(t.Context(), "session/", "", 0)
		require.NoError(t, err)
		require.Empty(t, kept, "what is over is deleted at the next start")
	})
}

func TestProvider_token_endsTheSessionOfAReusedRefreshToken(t *testing.T) {
	p := open(t, nil)
	refresh := func(token any) *httptest.ResponseRecorder {
		return post(p, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access", "refresh_token", token.(string))
	}
	stolen := answerFields(t, login(p, "demouser", password, "10.0.0.1"))["refresh_token"]
	next := answerFields(t, refresh(stolen))
	again := refresh(stolen)
	require.Equal(t, 400, again.Code)
	require.Equal(t, "Maximum allowed refresh token reuse exceeded", answerFields(t, again)["error_description"])
	require.Equal(t, 400, refresh(next["refresh_token"]).Code, "its holder is unknown")
	active := post(p, "token/introspect", "10.0.0.1", "client_id", "kong", "client_secret", "secret of kong", "token",
		next["access_token"].(string))
	require.Equal(t, map[string]any{"active": false}, answerFields(t, active))
}

func TestProvider_token_acceptsARefreshTokenOnce(t *testing.T) {
	p := open(t, nil)
	token := answerFields(t, login(p, "demouser", password, "10.0.0.1"))["refresh_token"].(string)
	var wait sync.WaitGroup
	var succeeded atomic.Int32
	for range 20 {
		wait.Go(func() {
			if post(p, "token", "10.0.0.1", "grant_type", "refresh_token", "client_id", "public-backend-access",
				"refresh_token", token).Code == http.StatusOK {
				succeeded.Add(1)
			}
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, succeeded.Load())
}

func TestProvider_RotateKeys_keepsTokensValid(t *testing.T) {
	p, realm := serve(t, nil)
	v, err := oidc.New(oidc.Config{Issuer: p.Issuer(), KeysRetry: time.Nanosecond})
	require.NoError(t, err)
	defer v.Close()
	old := realm.Token(t, "demouser", "")["access_token"].(string)
	_, err = v.Verify(t.Context(), old)
	require.NoError(t, err)
	require.NoError(t, p.RotateKeys(t.Context()))
	fresh := realm.Token(t, "demouser", "")["access_token"].(string)
	require.NotEqual(t, strings.Split(old, ".")[0], strings.Split(fresh, ".")[0])
	for _, token := range []string{fresh, old} {
		_, err = v.Verify(t.Context(), token)
		require.NoError(t, err)
	}
}

func TestProvider_replacesOldKeysAfterAnOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		p := open(t, func(c *devidp.Config) { c.Documents = docs })
		published := func(p *devidp.Provider) int {
			recorder := httptest.NewRecorder()
			p.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/auth/realms/OpenAPI/protocol/openid-connect/certs", nil))
			require.NotContains(t, recorder.Body.String(), `"d":`, "private parts are not published")
			return len(answerFields(t, recorder)["keys"].([]any))
		}
		require.Equal(t, 1, published(p))
		time.Sleep(90 * 24 * time.Hour)
		require.Equal(t, 200, login(p, "demouser", password, "10.0.0.1").Code)
		require.Equal(t, 2, published(p))
		require.Equal(t, 2, published(open(t, func(c *devidp.Config) { c.Documents = docs })), "they are kept")
		time.Sleep(12 * time.Hour)
		require.Equal(t, 1, published(p))
	})
}

func TestProvider_loginPage_isSafe(t *testing.T) {
	p, realm := serve(t, nil)
	client, err := oidc.NewClient(oidc.ClientConfig{Config: oidc.Config{Issuer: p.Issuer(), ClientID: "public-frontend"},
		RedirectURL: portal + "/cb"})
	require.NoError(t, err)
	defer client.Close()
	begun, err := client.Begin(t.Context())
	require.NoError(t, err)
	browser := oidctest.NewBrowser(t, p.Issuer())
	page := browser.Open(begun.URL)
	require.Contains(t, page.Body, "For development only.")
	require.Contains(t, page.Body, `name="viewport"`)
	for _, directive := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", portal} {
		require.Contains(t, page.Header.Get("Content-Security-Policy"), directive)
	}
	require.NotContains(t, page.Body, "<script")
	for _, cookie := range page.Header.Values("Set-Cookie") {
		require.Contains(t, cookie, "HttpOnly")
		require.Contains(t, cookie, "SameSite=Lax")
		require.Contains(t, cookie, "Path=/auth/realms/OpenAPI/")
	}
	stranger := oidctest.NewBrowser(t, p.Issuer())
	filled := map[string]string{"username": "demouser", "password": realm.Password}
	require.Equal(t, http.StatusBadRequest, stranger.Submit(page, filled).Status, "the form is another browser's")
	hostile := browser.Submit(page, map[string]string{"username": `"><script>alert(1)</script>`, "password": "x"})
	require.Equal(t, http.StatusUnauthorized, hostile.Status)
	require.NotContains(t, hostile.Body, "<script")
	require.Equal(t, http.StatusBadRequest, browser.Submit(page, map[string]string{"request": "x.y"}).Status)
	back := browser.Submit(page, filled)
	require.Equal(t, "portal.example:8999", back.URL.Host)

	request := httptest.NewRequest(http.MethodPost, "/auth/realms/OpenAPI/login-actions/authenticate", nil)
	request.Header.Set("Origin", "https://evil.example")
	recorder := httptest.NewRecorder()
	p.Handler().ServeHTTP(recorder, request)
	require.Equal(t, http.StatusForbidden, recorder.Code)
}

func TestProvider_logout_asksForConfirmationWithoutAnIDToken(t *testing.T) {
	p, realm := serve(t, nil)
	client, err := oidc.NewClient(oidc.ClientConfig{Config: oidc.Config{Issuer: p.Issuer(), ClientID: "public-frontend"},
		RedirectURL: portal + "/cb"})
	require.NoError(t, err)
	defer client.Close()
	browser := oidctest.NewBrowser(t, p.Issuer())
	begun, err := client.Begin(t.Context())
	require.NoError(t, err)
	back := browser.Submit(browser.Open(begun.URL), map[string]string{"username": "demouser", "password": realm.Password})
	tokens, err := client.Exchange(t.Context(), begun, back.URL.Query())
	require.NoError(t, err)

	out, err := client.EndSessionURL(t.Context(), "", portal+"/bye")
	require.NoError(t, err)
	ask := browser.Open(out)
	require.Contains(t, ask.Body, "You are signed in as demouser")
	tokens, err = client.Refresh(t.Context(), tokens.Refresh)
	require.NoError(t, err, "nothing has happened yet")
	require.Equal(t, portal+"/bye", browser.Submit(ask, nil).URL.String())
	_, err = client.Refresh(t.Context(), tokens.Refresh)
	require.Error(t, err)

	for _, address := range []string{"https://evil.example/", portal + ".evil.example/"} {
		out, err := client.EndSessionURL(t.Context(), tokens.ID, address)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, browser.Open(out).Status)
	}
	require.Equal(t, http.StatusBadRequest, browser.Open(strings.Replace(out, "client_id", "id_token_hint=x&client_id", 1)).Status)
}

func TestOpen_refusesFaultyConfigurations(t *testing.T) {
	for want, change := range map[string]func(*devidp.Config){
		"Config.BaseURL":         func(c *devidp.Config) { c.BaseURL = "idm.example" },
		"cannot be served":       func(c *devidp.Config) { c.BaseURL = "http://idm.example/{x}" },
		"Config.Documents":       func(c *devidp.Config) { c.Documents = nil },
		"Realm.Name":             func(c *devidp.Config) { c.Realm.Name = "a/b" },
		`client "kong"`:          func(c *devidp.Config) { c.Realm.Clients = append(c.Realm.Clients, devidp.Client{ID: "kong"}) },
		"has no secret":          func(c *devidp.Config) { c.Realm.Clients[2].Secret = "x" },
		`a "*" may only stand`:   func(c *devidp.Config) { c.Realm.Clients[2].Redirects = []string{"https://x*"} },
		"expected http://HOST":   func(c *devidp.Config) { c.Realm.Clients[2].Redirects = []string{"*"} },
		`user "Upper"`:           func(c *devidp.Config) { c.Realm.Users[0].Name = "Upper" },
		"longer than 1024 bytes": func(c *devidp.Config) { c.Realm.Users[0].Password = strings.Repeat("x", 1025) },
		"Config.AccessTTL":       func(c *devidp.Config) { c.AccessTTL = -1 },
	} {
		c := devidp.Config{BaseURL: base, Realm: demo(), Documents: storage.NewMemoryDocuments()}
		change(&c)
		_, err := devidp.Open(t.Context(), c)
		require.ErrorContains(t, err, "open identity provider: ")
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := devidp.Open(ctx, devidp.Config{BaseURL: base, Realm: demo(), Documents: storage.NewMemoryDocuments()})
	require.ErrorIs(t, err, context.Canceled)
}
