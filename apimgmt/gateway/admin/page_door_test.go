package admin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/storage"
)

// byHeader lets callers in with the role of the header field X-Role.
func byHeader(r *http.Request, role string) error {
	if httpapi.Role(r.Header.Get("X-Role")).Includes(httpapi.Role(role)) {
		return nil
	}
	return &httpapi.Error{Status: http.StatusForbidden, Detail: "The role " + role + " is required"}
}

// newDoored returns the pages behind a door, mounted below a folder of a program.
func newDoored(t *testing.T) (*admin.Store, http.Handler) {
	store, _ := openStore(t, storage.NewMemoryDocuments())
	api, err := admin.New(admin.Config{Store: store, Authorize: byHeader})
	require.NoError(t, err)
	s := &shell.Shell{Name: "platform", Home: "/ui/", Person: func(r *http.Request) shell.Person {
		return shell.Person{Name: "ann", Role: httpapi.Role(r.Header.Get("X-Role"))}
	}, Sections: func(*http.Request) []shell.Section { return []shell.Section{{Name: "APIs", Href: "/ui/apis/"}} }}
	mux := http.NewServeMux()
	mux.Handle("/ui/gateway/", http.StripPrefix("/ui/gateway", api.Page()))
	mux.Handle("/", api.Handler())
	return store, s.With(mux)
}

// visit sends a request of a person with a role; a form makes it a POST.
func visit(h http.Handler, role, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	if form != nil {
		r = httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("X-Role", role)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAPI_Page_isForRolesOfTheDoor(t *testing.T) {
	store, h := newDoored(t)
	require.NoError(t, store.Publish(t.Context(), "enabler:lamps", thing("lamps")))
	const at = "/ui/gateway/"
	page := visit(h, "reader", at+"services", nil)
	require.Equal(t, 200, page.Code)
	require.Contains(t, page.Body.String(), "lamps.example")
	require.NotContains(t, page.Body.String(), "New service", "a reader is offered nothing to change")
	require.Contains(t, page.Body.String(), `<ol><li><a href="/ui/apis/">APIs</a></li><li><a href="./">Gateway</a></li></ol>`)
	require.Equal(t, 403, visit(h, "public", at+"services", nil).Code)
	require.Equal(t, 403, visit(h, "reader", at+"services/new", nil).Code)
	service := url.Values{"name": {"doors"}, "protocol": {"http"}, "host": {"doors.example"}, "enabled": {"true"}}
	require.Equal(t, 403, visit(h, "reader", at+"services/new", service).Code)
	made := visit(h, "operator", at+"services/new", service)
	require.Equal(t, 303, made.Code, made.Body.String())
	require.Equal(t, "../services", made.Header().Get("Location"))

	config, err := store.Config(t.Context())
	require.NoError(t, err)
	shown := visit(h, "reader", at+"services/"+config.Services[0].ID, nil).Body.String()
	require.Contains(t, shown, `<fieldset class="bare" disabled>`)
	require.NotContains(t, shown, "/delete")

	// Old addresses lead on, the account is gone, and the page is also where it was.
	for _, path := range []string{"/admin/setup", "/admin/sign-in", at + "setup"} {
		w := visit(h, "reader", path, nil)
		require.Equal(t, 303, w.Code, path)
		require.Equal(t, "./", w.Header().Get("Location"))
	}
	require.Equal(t, 200, visit(h, "reader", "/admin/", nil).Code)
	require.Equal(t, 405, visit(h, "admin", "/admin/setup", url.Values{"name": {"x"}}).Code)
	require.Equal(t, 403, visit(h, "operator", "/services", nil).Code, "the API shows secrets")
}

func TestAPI_Page_leavesSecretsToAdministrators(t *testing.T) {
	store, h := newDoored(t)
	require.NoError(t, store.Change(t.Context(), func(c entity.Config) (entity.Config, error) {
		c.Consumers = []entity.Consumer{{Username: "ann"}}
		secret := []byte(`{"discovery":"https://i.example","client_id":"gw","client_secret":"hush-hush"}`)
		c.Plugins = []entity.Plugin{{Name: "oidc", Config: secret}, {Name: "cors"}}
		return c, nil
	}))
	config, err := store.Config(t.Context())
	require.NoError(t, err)
	const at = "/ui/gateway/"
	ann := config.Consumers[0].ID
	key := url.Values{"consumer": {ann}}
	require.Equal(t, 403, visit(h, "operator", at+"key-auths/new?consumer="+ann, nil).Code)
	require.Equal(t, 403, visit(h, "operator", at+"key-auths/new", key).Code)
	require.NotContains(t, visit(h, "operator", at+"consumers/"+ann, nil).Body.String(), "New key")
	require.Equal(t, 200, visit(h, "admin", at+"key-auths/new", key).Code)
	config, err = store.Config(t.Context())
	require.NoError(t, err)
	require.Len(t, config.Keys, 1)
	revoke := at + "key-auths/" + config.Keys[0].ID + "/delete"
	require.Equal(t, 403, visit(h, "operator", revoke, url.Values{}).Code)
	require.Equal(t, 303, visit(h, "admin", revoke, url.Values{}).Code)

	for _, p := range config.Plugins {
		page := visit(h, "operator", at+"plugins/"+p.ID, nil).Body.String()
		require.NotContains(t, page, "hush-hush")
		require.Equal(t, p.Name == "oidc", strings.Contains(page, "only an administrator may change it"), p.Name)
	}
	oidc := url.Values{"name": {"oidc"}, "instance_name": {"second"}, "config.discovery": {"https://i.example"},
		"config.client_id": {"gw"}, "config.response_type": {"code"},
		"config.introspection_endpoint_auth_method": {"client_secret_post"}, "config.token_endpoint_auth_method": {"client_secret_post"}}
	for _, p := range config.Plugins {
		if p.Name == "oidc" {
			require.Equal(t, 403, visit(h, "operator", at+"plugins/"+p.ID, oidc).Code)
		}
	}
	oidc.Set("config.client_secret", "mine")
	given := visit(h, "operator", at+"plugins/new", oidc)
	require.Equal(t, 403, given.Code)
	require.Contains(t, given.Body.String(), "Only an administrator may give a plugin secrets")
}

func TestAPI_Page_listsAThousandAPIsByPages(t *testing.T) {
	store, h := newDoored(t)
	require.NoError(t, store.Change(t.Context(), func(c entity.Config) (entity.Config, error) {
		for i := range 1000 {
			one, err := entity.Config{}.Replace(fmt.Sprintf("enabler:api%d", i), api(i, 0))
			if err != nil {
				return c, err
			}
			c.Services, c.Routes, c.Plugins = append(c.Services, one.Services...), append(c.Routes, one.Routes...),
				append(c.Plugins, one.Plugins...)
		}
		return c, nil
	}))
	const at = "/ui/gateway/"
	for _, path := range []string{"", "services", "routes", "plugins", "plugins/new?kind=key-auth", "routes/new", "history?range=10m"} {
		w := visit(h, "operator", at+path, nil)
		require.Equal(t, 200, w.Code)
		require.Less(t, w.Body.Len(), 100_000, path)
	}
	page := visit(h, "reader", at+"routes?q=api77-", nil).Body.String()
	require.Contains(t, page, "10 routes found")
	page = visit(h, "reader", at+"services", nil).Body.String()
	require.Contains(t, page, "page 1 of 10")
	require.Contains(t, page, `href="?page=2"`)
	require.Contains(t, visit(h, "reader", at+"services?page=99", nil).Body.String(), "page 10 of 10")

	// Too many for a choice: a form takes the name.
	form := url.Values{"name": {"key-auth"}, "service": {"api3"}, "enabled": {"true"}, "config.key_in_header": {"true"},
		"config.key_in_query": {"true"}, "config.run_on_preflight": {"true"}}
	require.Equal(t, 303, visit(h, "operator", at+"plugins/new", form).Code)
	form.Set("service", "none of them")
	require.Equal(t, 400, visit(h, "operator", at+"plugins/new", form).Code)
}

func TestConfig_NoAccount_isForThisMachine(t *testing.T) {
	open := func(own string) http.Handler {
		store, _ := openStore(t, storage.NewMemoryDocuments())
		api, err := admin.New(admin.Config{Store: store, Token: own, NoAccount: true})
		require.NoError(t, err)
		return api.Handler()
	}
	require.Equal(t, 200, ask(open(""), "GET", "/admin/services", here, me, nil).Code)
	require.Equal(t, 303, ask(open(""), "GET", "/admin/setup", here, me, nil).Code)
	require.Equal(t, 403, ask(open(""), "GET", "/admin/services", "192.0.2.1:8101", there, nil).Code)
	require.Equal(t, 403, ask(open(""), "GET", "/admin/services", here, me, map[string]string{"X-Forwarded-For": "192.0.2.7"}).Code)
	require.Equal(t, 403, ask(open(""), "POST", "/admin/services/new", here, me, map[string]string{"Origin": "https://evil.example"}).Code)
	w := ask(open(token), "GET", "/admin/services", here, me, nil)
	require.Equal(t, 303, w.Code)
	require.Equal(t, "./setup", w.Header().Get("Location"), "with a token the page has an account")
}
