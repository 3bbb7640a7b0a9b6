package plugin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

// echo answers with the header of the request, as JSON.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(w).Encode(r.Header) })
}

func oidcStage(t *testing.T, config string) *plugintest.Stage {
	t.Helper()
	return plugintest.NewStage(t, plugintest.Options{
		Kinds: plugin.Kinds(), Plugins: []entity.Plugin{{Name: "oidc", Config: []byte(config)}}, Service: echo(),
	})
}

// logLines is a log that a test reads.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// seen is the header that the service saw.
func seen(t *testing.T, a plugintest.Answer) http.Header {
	t.Helper()
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	var header http.Header
	require.NoError(t, json.Unmarshal([]byte(a.Body), &header))
	return header
}

func oidcSubject() plugintest.Subject {
	const dead = `"discovery":"http://127.0.0.1:1/auth/realms/OpenAPI/.well-known/openid-configuration"`
	return plugintest.Subject{
		Kind: plugin.OIDC(), Secret: "client-secret-of-the-gateway",
		Valid: []string{
			`{"bearer_only":"yes",` + dead + `}`,
			`{"bearer_only":true,"client_id":"kong","client_secret":"client-secret-of-the-gateway","ssl_verify":"no","timeout":1000,` + dead + `,
				"introspection_endpoint":"http://127.0.0.1:1/introspect","filters":"/health,/public/.*"}`,
			`{"name":"oidc","enabled":true,"config":{"bearer_only":"yes","client_id":"kong",` +
				`"client_secret":"client-secret-of-the-gateway",` + dead + `}}`,
			`{"client_id":"kong","client_secret":"client-secret-of-the-gateway",` +
				`"session_secret":"client-secret-of-the-gateway","recovery_page_path":"/sorry",` + dead + `}`,
			`{"bearer_only":"yes","issuer":"https://idm.example/auth/realms/OpenAPI","roles_required":["Developer"],` +
				`"scopes_required":"a b",` + dead + `}`,
		},
		Invalid: map[string]string{
			`{}`:             "config.discovery",
			`{` + dead + `}`: "config.client_id",
			`{` + dead + `,"client_id":"kong","session_secret":"short"}`:                          "config.session_secret",
			`{` + dead + `,"client_id":"kong","redirect_uri_path":"//evil.example"}`:              "config.redirect_uri_path",
			`{` + dead + `,"client_id":"kong","recovery_page_path":"https://evil.example"}`:       "config.recovery_page_path",
			`{` + dead + `,"client_id":"kong","redirect_after_logout_uri":"javascript:alert(1)"}`: "config.redirect_after_logout_uri",
			`{"discovery":"ftp://x/y"}`:                                               "config.discovery",
			`{"discovery":{"a":1}}`:                                                   "config.discovery",
			`{` + dead + `,"bearer_only":"client-secret-of-the-gateway"}`:             "config.bearer_only",
			`{` + dead + `,"introspection_endpoint":"https://idm.example/i"}`:         "config.client_id",
			`{` + dead + `,"introspection_endpoint":"x","client_id":"kong"}`:          "config.introspection_endpoint",
			`{` + dead + `,"introspection_endpoint_auth_method":"private_key"}`:       "config.introspection_endpoint_auth_method",
			`{` + dead + `,"token_endpoint_auth_method":"none"}`:                      "config.token_endpoint_auth_method",
			`{` + dead + `,"timeout":"soon"}`:                                         "config.timeout",
			`{` + dead + `,"timeout":-1}`:                                             "config.timeout",
			`{` + dead + `,"response_type":"token"}`:                                  "config.response_type",
			`{` + dead + `,"filters":"health"}`:                                       "config.filters",
			`{` + dead + `,"filters":"/a(,/b"}`:                                       "config.filters",
			`{` + dead + `,"filters":"/%a"}`:                                          "config.filters",
			`{` + dead + `,"roles_required":7}`:                                       "config.roles_required",
			`{"name":"cors","config":{` + dead + `}}`:                                 "config.name",
			`{"config":{` + dead + `},"realm":"x"}`:                                   "config.realm",
			`{"config":{` + dead + `,"client_secre":"client-secret-of-the-gateway"}}`: "config.client_secre",
		},
	}
}

func TestOIDC_bearer_admitsTokensOfTheIssuer(t *testing.T) {
	idp := newIssuer(t)
	s := oidcStage(t, idp.config(nil))
	header := seen(t, s.Do(http.MethodGet, "/", "", "Authorization: bearer "+idp.token(t, nil)))
	text, err := base64.StdEncoding.DecodeString(header.Get("X-Userinfo"))
	require.NoError(t, err)
	var userinfo map[string]any
	require.NoError(t, json.Unmarshal(text, &userinfo))
	for name, want := range map[string]any{"sub": "u-1", "id": "u-1", "username": "ada", "preferred_username": "ada", "iss": idp.URL} {
		require.Equal(t, want, userinfo[name], name)
	}
	require.True(t, strings.HasPrefix(header.Get("Authorization"), "bearer "), "the service gets the token as it came")
}

func TestOIDC_bearer_refusesRequestsWithoutAValidToken(t *testing.T) {
	idp := newIssuer(t)
	s := oidcStage(t, idp.config(map[string]any{"realm": `Open"API\`}))
	stranger := newIssuer(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(&idp.key.PublicKey)
	require.NoError(t, err)
	claims := map[string]any{"iss": idp.URL, "sub": "u-1", "exp": time.Now().Add(time.Minute).Unix()}
	symmetric := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	confused := unsigned(t, "HS256", claims)
	symmetric.Write([]byte(confused))
	confused += "." + encoded(symmetric.Sum(nil))
	for name, c := range map[string]struct {
		token, code, description string
	}{
		"nothing":          {"", "no Authorization header found", ""},
		"unsigned":         {unsigned(t, "none", claims) + ".", "invalid_token", "the signature algorithm is not allowed"},
		"key confusion":    {confused, "invalid_token", "the signature algorithm is not allowed"},
		"another key":      {signedES256(t, private, claims), "invalid_token", "the signature is wrong"},
		"another issuer":   {idp.token(t, map[string]any{"iss": stranger.URL}), "invalid_token", "the token is of another issuer"},
		"issuer claimed":   {stranger.token(t, map[string]any{"iss": idp.URL}), "invalid_token", "the signature is wrong"},
		"expired":          {idp.token(t, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), "invalid_token", "the token has expired"},
		"an ID token":      {idp.token(t, map[string]any{"typ": "ID"}), "invalid_token", "the token is of another type"},
		"no token":         {"nonsense", "invalid_token", "the token is malformed"},
		"too long a token": {strings.Repeat("a", 20_000), "invalid_token", "the token is malformed"},
	} {
		a := s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+c.token)
		require.Equal(t, http.StatusUnauthorized, a.Status, name)
		require.Equal(t, c.code, a.Body, name)
		want := `Bearer realm="Open\"API\\",error="` + c.code + `"`
		if c.description != "" {
			want += `,error_description="` + c.description + `"`
		}
		require.Equal(t, want, a.Header.Get("WWW-Authenticate"), name)
	}
	a := s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+idp.token(t, nil), "Authorization: Bearer x")
	require.Equal(t, http.StatusBadRequest, a.Status, "which of two tokens counts is not clear")
	require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/", "", "Authorization: Basic dTpw").Status)
}

func TestOIDC_removesIdentityFieldsOfClients(t *testing.T) {
	idp := newIssuer(t)
	s := oidcStage(t, idp.config(map[string]any{"filters": "/public"}))
	forged := []string{
		"X-Userinfo: e30=", "x-userinfo: e30=", "X_Userinfo: a", "x-UserInfo: b", "X.Userinfo: c", "X-Access-Token: d",
		"X_ACCESS_TOKEN: e", "X-ID-Token: f",
		"x-id_token: g", "X-Consumer-ID: h", "X-Consumer-Username: i", "X_Consumer_Custom_Id: j",
		"X-Credential-Identifier: k", "X-Credential-Username: l",
		"X-Anonymous-Consumer: false", "X-Authenticated-Userid: m", "X-Authenticated-Scope: n", "X!Consumer~Groups: o",
	}
	harmless := []string{"X-Userinformation: 1", "X-Consumers: 1", "Xx-Userinfo: 1", "X-Access-Tokens: 1", "X-Id: 1"}
	for _, path := range []string{"/", "/public"} {
		header := seen(t, s.Do(http.MethodGet, path, "",
			append(append([]string{"Authorization: Bearer " + idp.token(t, nil)}, forged...), harmless...)...))
		for _, line := range forged {
			name, value, _ := strings.Cut(line, ": ")
			require.NotContains(t, header[http.CanonicalHeaderKey(name)], value, line)
			if http.CanonicalHeaderKey(name) != "X-Userinfo" {
				require.NotContains(t, header, http.CanonicalHeaderKey(name))
			}
		}
		for _, line := range harmless {
			name, _, _ := strings.Cut(line, ": ")
			require.Contains(t, header, name, "only what is taken for an identity is removed")
		}
		require.Len(t, header["X-Userinfo"], map[string]int{"/": 1, "/public": 0}[path])
	}
}

func TestOIDC_keepsIdentityFieldsNamedByConnection(t *testing.T) {
	idp := newIssuer(t)
	s := oidcStage(t, idp.config(nil))
	header := seen(t, s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+idp.token(t, nil), "Connection: X-Userinfo"))
	require.NotEmpty(t, header.Get("X-Userinfo"))
}

func TestOIDC_requiresRolesScopesAndAudiences(t *testing.T) {
	idp := newIssuer(t)
	for name, c := range map[string]struct {
		config, claims map[string]any
		status         int
	}{
		"role":            {map[string]any{"roles_required": []string{"Developer"}}, nil, http.StatusOK},
		"another role":    {map[string]any{"roles_required": []string{"Open-Caller"}}, nil, http.StatusForbidden},
		"one of two":      {map[string]any{"roles_required": []string{"Open-Caller", "Developer"}}, nil, http.StatusOK},
		"both of two":     {map[string]any{"roles_required": []string{"Open-Caller Developer"}}, nil, http.StatusForbidden},
		"scopes":          {map[string]any{"scopes_required": "profile email"}, nil, http.StatusOK},
		"no scope":        {map[string]any{"scopes_required": "openid"}, nil, http.StatusForbidden},
		"audience":        {map[string]any{"audience_required": "account"}, nil, http.StatusOK},
		"one audience":    {map[string]any{"audience_required": "api"}, map[string]any{"aud": []string{"x", "api"}}, http.StatusOK},
		"another's token": {map[string]any{"audience_required": "api"}, nil, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			s := oidcStage(t, idp.config(c.config))
			a := s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+idp.token(t, c.claims))
			require.Equal(t, c.status, a.Status, a.Body)
			if c.status == http.StatusForbidden {
				require.Contains(t, a.Header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
			}
		})
	}
}

func TestOIDC_answersUnavailableWhenTheIssuerIsDown(t *testing.T) {
	idp := newIssuer(t)
	idp.down.Store(true)
	s := oidcStage(t, idp.config(nil))
	a := s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+idp.token(t, nil))
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	require.Empty(t, a.Header.Get("WWW-Authenticate"))

	require.Contains(t, a.Body, "cannot be reached")
}

func TestOIDC_saysThatTheIssuerRefusesTheGateway(t *testing.T) {
	idp := newIssuer(t)
	for _, text := range []string{`{"error":"invalid_client"}`, ""} {
		refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(text))
		})
		idp.introspect.Store(&refuses)
		var lines logLines
		s := plugintest.NewStage(t, plugintest.Options{
			Kinds: plugin.Kinds(), Service: echo(), Logger: slog.New(slog.NewTextHandler(&lines, nil)),
			Plugins: []entity.Plugin{{Name: "oidc", Config: []byte(idp.config(map[string]any{
				"introspection_endpoint": idp.URL + "/introspect", "client_id": "kong", "client_secret": "the old secret"}))}},
		})
		for range 7 { // more often than it takes to leave an issuer alone
			a := s.Do(http.MethodGet, "/", "", "Authorization: Bearer x")
			require.Equal(t, http.StatusServiceUnavailable, a.Status, "it is the gateway that was refused")
			require.JSONEq(t, `{"message":"the identity provider refuses the credentials of the gateway's client \"kong\""}`, a.Body)
			require.NotEmpty(t, a.Header.Get("Retry-After"))
		}
		log := lines.String()
		for _, part := range []string{idp.URL + "/introspect", "kong", "client_secret"} {
			require.Contains(t, log, part)
		}
		require.NotContains(t, log, "old secret")
		require.NotContains(t, log, "cannot be reached")
	}
}

func TestOIDC_introspectsTokensWhereSet(t *testing.T) {
	idp := newIssuer(t)
	asked := make(chan string, 10)
	ask := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.PostFormValue("token")
		if r.PostFormValue("client_id") != "kong" || r.PostFormValue("client_secret") != "s" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"active":%t,"sub":"u-2","username":"eva"}`, r.PostFormValue("token") == "opaque")
	})
	idp.introspect.Store(&ask)
	config := map[string]any{"introspection_endpoint": idp.URL + "/introspect", "client_id": "kong", "client_secret": "s"}
	s := oidcStage(t, idp.config(config))
	require.NotEmpty(t, seen(t, s.Do(http.MethodGet, "/", "", "Authorization: Bearer opaque")).Get("X-Userinfo"))
	require.Equal(t, "opaque", <-asked)
	jwt := idp.token(t, nil)
	a := s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+jwt)
	require.Equal(t, http.StatusUnauthorized, a.Status, "the issuer says that it has been revoked")
	require.Contains(t, a.Header.Get("WWW-Authenticate"), "the token is not active")
	require.Equal(t, jwt, <-asked)

	config["introspect_jwt_tokens"] = "no"
	s = oidcStage(t, idp.config(config))
	require.Equal(t, http.StatusOK, s.Do(http.MethodGet, "/", "", "Authorization: Bearer "+jwt).Status)
	require.Equal(t, http.StatusOK, s.Do(http.MethodGet, "/", "", "Authorization: Bearer opaque").Status)
	require.Equal(t, "opaque", <-asked)
	require.Empty(t, asked)
}

func TestOIDC_sharesNoTokensBetweenPlugins(t *testing.T) {
	one, two := newIssuer(t), newIssuer(t)
	kinds := plugin.Kinds()
	s := plugintest.NewStage(t, plugintest.Options{Kinds: kinds, Service: echo()})
	require.NoError(t, s.Gateway.Update(func(c entity.Config) (entity.Config, error) {
		for name, idp := range map[string]*issuer{"one": one, "two": two} {
			c.Routes = append(c.Routes, entity.Route{Name: name, Paths: []string{"/" + name}, Service: &entity.Ref{Name: "service"}})
			c.Plugins = append(c.Plugins, entity.Plugin{Name: "oidc", Config: []byte(idp.config(nil)), Route: &entity.Ref{Name: name}})
		}
		return c, nil
	}))
	token := one.token(t, nil)
	for range 3 { // the second and third time it is remembered
		require.Equal(t, http.StatusOK, s.Do(http.MethodGet, "/one", "", "Authorization: Bearer "+token).Status)
		require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/two", "", "Authorization: Bearer "+token).Status)
	}
}

func TestOIDC_fetchesTheKeysOfAnIssuerOnce(t *testing.T) {
	idp := newIssuer(t)
	s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(), Service: echo()})
	const many = 20
	require.NoError(t, s.Gateway.Update(func(c entity.Config) (entity.Config, error) {
		for i := range many {
			name := fmt.Sprintf("r%d", i)
			c.Routes = append(c.Routes, entity.Route{Name: name, Paths: []string{"/" + name + "/"}, Service: &entity.Ref{Name: "service"}})
			c.Plugins = append(c.Plugins, entity.Plugin{Name: "oidc", Config: []byte(idp.config(nil)), Route: &entity.Ref{Name: name}})
		}
		return c, nil
	}))
	token := idp.token(t, nil)
	for i := range many {
		require.Equal(t, http.StatusOK, s.Do(http.MethodGet, fmt.Sprintf("/r%d/", i), "", "Authorization: Bearer "+token).Status)
	}
	require.EqualValues(t, 1, idp.fetches.Load())
}

func TestFilter_coversEverySpellingOfAPath(t *testing.T) {
	idp := newIssuer(t)
	s := oidcStage(t, idp.config(map[string]any{"filters": "/public, /img/.*[.]png"}))
	for _, path := range []string{"/public", "/public/", "/public/a/b", "/img/x.png", "/%70ublic", "/a/../public"} {
		require.Equal(t, http.StatusOK, s.Do(http.MethodGet, path, "").Status, path)
	}
	for _, path := range []string{
		"/", "/publicity", "/PUBLIC", "/secret/public", "/public/../secret", "/public/%2e%2e/secret",
		"/public%2f..%2fsecret", "/public/..%2fsecret",
		"/public/..%5csecret", "/public/..;/secret", "/public;/../secret", "/public/%252e%252e/secret", "/public%00",
		"/img/x.png/../../secret", "/img/x.png%0a",
		"/secret/img/x.png", "/secret?/public", "/secret#/public",
	} {
		require.NotEqual(t, http.StatusOK, s.Do(http.MethodGet, path, "").Status, path)
	}
}

func TestOIDC_coversEverySpellingOfAPath(t *testing.T) {
	idp := newIssuer(t)
	s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(),
		Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.URL.Path)
		})})
	require.NoError(t, s.Gateway.Update(func(c entity.Config) (entity.Config, error) {
		no := false
		c.Routes = append(c.Routes, entity.Route{Name: "secured", Paths: []string{"~/secret$", "/secret/"}, StripPath: &no,
			Service: &entity.Ref{Name: "service"}})
		c.Plugins = append(c.Plugins, entity.Plugin{Name: "oidc", Config: []byte(idp.config(nil)), Route: &entity.Ref{Name: "secured"}})
		return c, nil
	}))
	for _, path := range []string{"/secret", "//secret", "/%73ecret", "/a/../secret", "/a/%2e%2e/secret", "/./secret",
		"/secret/", "/secret//x", "/secret/../secret"} {
		a := s.Do(http.MethodGet, path, "")
		require.Equal(t, http.StatusUnauthorized, a.Status, "%s came to the service as %s", path, a.Body)
	}
}

func ExampleOIDC() {
	_, err := plugin.OIDC().Compile(gateway.Setup{Config: []byte(`{"client_id":"kong","discovery":"idm.example"}`)})
	fmt.Println(err)
	// Output: config.discovery: expected http://HOST/PATH or https://HOST/PATH
}
