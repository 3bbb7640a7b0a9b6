package door_test

import (
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// instance is a server that tells each caller its name and role, behind a door of its own.
type instance struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
}

func newInstance(t *testing.T) *instance {
	i := &instance{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*i.handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(i.Close)
	return i
}

// open puts a door in front of the instance. Documents are those of the sessions.
func (i *instance) open(t *testing.T, documents storage.Documents, config door.ProviderConfig, answer string, idp http.Handler) {
	f := server.NewFlags("things", "THINGS", "")
	s := door.Declare(f)
	require.NoError(t, f.Parse([]string{"-access", "token"}))
	require.NoError(t, s.Check())
	d, err := s.Open(t.Context(), door.Config{Name: "things", Sessions: documents, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, d.SignOn(access.SignOn{Provider: door.NewProvider(config), Name: "the provider", AnswerURL: answer}))
	mux := http.NewServeMux()
	mux.Handle("/auth/", idp)
	mux.Handle("/", httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /{$}", Func: func(w http.ResponseWriter, r *http.Request) error {
			person := d.Person(r)
			_, err := io.WriteString(w, person.Name+" "+string(person.Role)+" "+person.SignOut)
			return err
		}},
		{Pattern: "GET /operate", Role: httpapi.Operator, Func: func(http.ResponseWriter, *http.Request) error { return nil }},
		{Pattern: "GET /administer", Role: httpapi.Admin, Func: func(http.ResponseWriter, *http.Request) error { return nil }},
	}, &httpapi.Options{Authorize: d.Authorizer()}))
	h := d.Handler(mux)
	i.handler.Store(&h)
}

func TestNewProvider_signsInAtAllInstances(t *testing.T) {
	one, other := newInstance(t), newInstance(t)
	realm := devidp.Demo(one.URL, one.URL)
	for i := range realm.Users {
		realm.Users[i].Password = "a password for tests"
	}
	idp, err := devidp.Open(t.Context(), devidp.Config{BaseURL: one.URL + "/auth", Realm: realm, Documents: storage.NewMemoryDocuments()})
	require.NoError(t, err)
	asked := oidc.Config{Issuer: idp.Issuer(), ClientID: "public-frontend", AllowHTTP: true}
	client, err := oidc.NewClient(oidc.ClientConfig{Config: asked, RedirectURL: one.URL + "/login/answer"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	verifier, err := oidc.New(asked)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, verifier.Close()) })
	config := door.ProviderConfig{Client: client, Verifier: verifier, RoleClaim: "realm_access.roles", Home: one.URL + "/",
		Roles: map[string]httpapi.Role{devidp.Developer: httpapi.Operator, devidp.OpenCaller: httpapi.Reader}}
	sessions := storage.NewMemoryDocuments()
	one.open(t, sessions, config, one.URL+"/login/answer", idp.Handler())
	other.open(t, sessions, config, one.URL+"/login/answer", http.NotFoundHandler())

	for user, want := range map[string]struct {
		role                httpapi.Role
		operate, administer int
	}{
		"demoopencaller": {httpapi.Reader, http.StatusForbidden, http.StatusForbidden},
		"demodeveloper":  {httpapi.Operator, http.StatusOK, http.StatusForbidden},
		"demoadmin":      {httpapi.Admin, http.StatusOK, http.StatusOK},
	} {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		p := person{t, &http.Client{Jar: jar}}
		_, text := p.signIn(other.URL, user) // the provider is at the first one
		require.Contains(t, text, `content="0; url=`+other.URL+`/"`, "the browser goes back to where it began")
		for _, at := range []*instance{one, other} {
			_, text = p.open(at.URL+"/", nil)
			require.Equal(t, user+" "+string(want.role)+" /.enablers/sign-out", text)
			status, _ := p.open(at.URL+"/operate", nil)
			require.Equal(t, want.operate, status, user)
			status, _ = p.open(at.URL+"/administer", nil)
			require.Equal(t, want.administer, status, user)
		}
		p.open(one.URL+"/.enablers/sign-out", url.Values{})
		for _, at := range []*instance{one, other} {
			status, _ := p.open(at.URL+"/", nil)
			require.Equal(t, http.StatusUnauthorized, status, "the session has ended everywhere")
		}
	}
}

func TestNewProvider_saysThatTheIssuerRefusesTheClient(t *testing.T) {
	site := newInstance(t)
	realm := devidp.Demo(site.URL, site.URL)
	for i := range realm.Users {
		realm.Users[i].Password = "a password for tests"
	}
	for i := range realm.Clients {
		if realm.Clients[i].ID == "public-frontend" {
			realm.Clients[i].Public, realm.Clients[i].Secret = false, "the secret of before"
		}
	}
	issuer := func(secret string) *devidp.Provider {
		now := realm
		now.Clients = slices.Clone(realm.Clients)
		for i := range now.Clients {
			if now.Clients[i].ID == "public-frontend" {
				now.Clients[i].Secret = secret
			}
		}
		idp, err := devidp.Open(t.Context(), devidp.Config{BaseURL: site.URL + "/auth", Realm: now, Documents: storage.NewMemoryDocuments()})
		require.NoError(t, err)
		return idp
	}
	idp := issuer("the secret of before")
	asked := oidc.Config{Issuer: idp.Issuer(), ClientID: "public-frontend", ClientSecret: "the secret of before", AllowHTTP: true}
	client, err := oidc.NewClient(oidc.ClientConfig{Config: asked, RedirectURL: site.URL + "/login/answer"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	verifier, err := oidc.New(asked)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, verifier.Close()) })
	config := door.ProviderConfig{Client: client, Verifier: verifier, RoleClaim: "realm_access.roles", Home: site.URL + "/"}
	signIn := func(idp *devidp.Provider) (status int, text string) {
		site.open(t, storage.NewMemoryDocuments(), config, site.URL+"/login/answer", idp.Handler())
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		return person{t, &http.Client{Jar: jar}}.signIn(site.URL, "demoadmin")
	}
	status, text := signIn(idp)
	require.Equal(t, http.StatusOK, status, text)
	status, text = signIn(issuer("another secret, since it was rotated"))
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "The identity provider refuses the client id or the client secret of this server.")
	require.NotContains(t, text, "cannot be reached")
	require.NotContains(t, text, "secret of before")

	p := door.NewProvider(config)
	_, err = p.Refresh(t.Context(), access.Grant{Refresh: "any"})
	require.ErrorIs(t, err, access.ErrUnavailable, "nothing is known of the session")
	require.NotErrorIs(t, err, access.ErrInvalid)
	require.ErrorContains(t, err, "unauthorized_client")
}

func TestDoor_Person_leadsBackToThePage(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/ui/models/?q=a", nil)
	for _, one := range []struct {
		args     []string
		provider bool
		want     string
	}{
		{nil, false, ""},
		{nil, true, "/.enablers/sign-on?to=%2Fui%2Fmodels%2F%3Fq%3Da"},
		{[]string{"-access", "token"}, true, "/.enablers/sign-in?to=%2Fui%2Fmodels%2F%3Fq%3Da"},
	} {
		f := server.NewFlags("things", "THINGS", "")
		s := door.Declare(f)
		require.NoError(t, f.Parse(one.args))
		require.NoError(t, s.Check())
		d, err := s.Open(t.Context(), door.Config{Name: "things", Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		if one.provider {
			require.NoError(t, d.SignOn(access.SignOn{Provider: door.NewProvider(door.ProviderConfig{}), AnswerURL: "http://127.0.0.1/answer"}))
		}
		require.Equal(t, one.want, d.Person(request).SignIn, one.args)
	}
}

// person is at a browser.
type person struct {
	t      *testing.T
	client *http.Client
}

// signIn signs in at the provider to which a server leads.
func (p person) signIn(at, user string) (status int, text string) {
	p.t.Helper()
	_, text = p.open(at+"/.enablers/sign-on?to=/", nil)
	form := url.Values{"username": {user}, "password": {"a password for tests"}}
	form.Set("request", html.UnescapeString(regexp.MustCompile(`name="request" value="([^"]+)"`).FindStringSubmatch(text)[1]))
	action := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindStringSubmatch(text)[1]
	return p.open(html.UnescapeString(action), form)
}

func (p person) open(address string, form url.Values) (status int, text string) {
	p.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	return answer.StatusCode, string(body)
}
