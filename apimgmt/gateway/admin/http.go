package admin

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

//go:embed openapi.json
var openapi []byte

// Config configures an [API].
type Config struct {
	// Store keeps what is administered. It is required.
	Store *Store
	// Token is the token that every request to the API requires, in the header field
	// Kong-Admin-Token or as a bearer token, and is required for creating the account of the
	// page where Authorize does not decide on that.
	// After ten wrong tokens in a row an address may try one more each second, and gets
	// status 429 before that, unless it has shown the token lately. Empty means that requests from this machine are answered without a
	// token, and no others at all.
	Token string
	// Authorize accepts callers that do not show Token: it returns nil if the caller that
	// sends a request has the role "admin", or "reader" for /metrics, and otherwise an
	// error, which refuses the request with status 403 or that of its method
	// HTTPStatus() int; a method that returns 403 says that the token is valid, and such
	// requests are not counted as wrong tokens. It also decides on the pages, which then have
	// no account of their own: "reader" sees them, "operator" changes what they show, and "admin"
	// creates keys and changes plugins that have secrets. Nil leaves the decision to Token.
	Authorize func(r *http.Request, role string) error
	// NoAccount leaves the pages without an account of their own where there is neither Token
	// nor Authorize: requests from this machine are answered by them as they are by the API.
	// It has no effect otherwise.
	NoAccount bool
	// Hosts are further names of the server, besides IP addresses, localhost and all
	// below .localhost: over a loopback connection, requests for other hosts get a
	// 421, because the owner of any name can point it to 127.0.0.1. Name what a
	// reverse proxy on the same machine forwards. A name with a scheme, such as
	// https://app.example.org, is the origin of pages that may send requests and read
	// the answers, besides those of the server. Nil means none.
	Hosts []string
	// Metrics are shown at /metrics, with the counts of requests to the API where they do
	// not have http_requests_total already. Nil means that there is no such address.
	Metrics prometheus.Gatherer
	// Logger receives failures and warnings for operators. Nil is silent.
	Logger *slog.Logger
}

// API is the Admin API and the administration page over a [Store].
type API struct {
	store  *Store
	guard  *guard
	node   string // the id of this process
	hosts  []string
	logger *slog.Logger
	routes []httpapi.Route
	page   http.Handler

	snapshots snapshots
}

// New returns the API of a store.
func New(config Config) (*API, error) {
	if config.Store == nil {
		return nil, errors.New("admin: Config.Store: is required")
	}
	if config.Token != "" && len(config.Token) < access.ShortestToken {
		return nil, fmt.Errorf("admin: Config.Token: is shorter than %d characters", access.ShortestToken)
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	a := &API{store: config.Store, node: id.String(), hosts: config.Hosts, logger: config.Logger}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.guard = newGuard(config.Token, config.Authorize, a.logger)
	a.routes = append(a.table(), httpapi.Route{Pattern: "GET /admin", Func: httpapi.RedirectTo("admin/"), Role: httpapi.Public,
		Undocumented: true, Origins: httpapi.OwnPagesAndLinks}, httpapi.Route{Pattern: "GET /favicon.ico", Func: httpapi.Icon,
		Role: httpapi.Public, Undocumented: true})
	a.page = newPages(a, config.NoAccount && config.Token == "").handler()
	if config.Metrics != nil {
		metrics := a.open("GET /metrics", exposition.Serve(config.Metrics))
		metrics.Role = httpapi.Reader
		a.routes = append(a.routes, metrics)
	}
	return a, nil
}

// Handler returns a handler that serves the Admin API, and below /admin/ the administration
// page. Give it a listener of its own, on a loopback address unless there is a token.
//
// The API shows the secrets of plugins and the keys of consumers as they are, as
// Kong's does: clients compare them with the desired state, and change what differs.
func (a *API) Handler() http.Handler {
	api := httpapi.NewHandler(a.routes, &httpapi.Options{
		Classify: classify, WriteError: writeError, Hosts: a.hosts, Authorize: a.guard.authorize, Logger: a.logger,
	})
	page := httpapi.StripPrefix("/admin", a.page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/admin/") {
			page.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// Page returns the administration page for people: the traffic, and the services, routes,
// plugins, consumers and upstreams with forms that change them. All addresses in it are
// relative, so that the handler may be mounted anywhere with [http.StripPrefix]; its account
// and its sessions are those of the page that [API.Handler] serves.
func (a *API) Page() http.Handler { return a.page }

// open is a route behind the guard.
func (a *API) open(pattern string, f httpapi.HandlerFunc) httpapi.Route {
	return httpapi.Route{Pattern: pattern, Func: asProblem(f), Role: httpapi.Admin, Origins: httpapi.OwnPages}
}

// hidden is a route behind the guard that is not part of the API.
func (a *API) hidden(pattern string, f httpapi.HandlerFunc) httpapi.Route {
	return httpapi.Route{Pattern: pattern, Func: asProblem(f), Role: httpapi.Admin, Undocumented: true, Origins: httpapi.OwnPages}
}

// table lists the routes.
func (a *API) table() []httpapi.Route {
	routes := []httpapi.Route{
		a.open("GET /{$}", a.root),
		a.open("GET /status", a.status),
		a.open("GET /endpoints", a.endpoints),
		a.open("GET /config", a.getConfig),
		a.open("POST /config", a.postConfig),
		a.open("GET /schemas/{entity}", a.schema),
		a.open("POST /schemas/{entity}/validate", a.validate),
		a.open("GET /schemas/plugins/{name}", a.pluginSchema),
		a.open("GET /plugins/enabled", a.enabled),
		a.open("GET /tags", a.tags),
		a.open("GET /tags/{tag}", a.tags),
		a.open("GET /upstreams/{parent}/health", a.health),
		a.open("POST /upstreams/{parent}/targets/{id}/healthy", a.setHealth(true)),
		a.open("POST /upstreams/{parent}/targets/{id}/unhealthy", a.setHealth(false)),
		a.open("PUT /upstreams/{parent}/targets/{id}/healthy", a.setHealth(true)),
		a.open("PUT /upstreams/{parent}/targets/{id}/unhealthy", a.setHealth(false)),
		a.hidden("GET "+DataPlanePath, a.dataPlane),
		a.hidden("GET /openapi.json", httpapi.Document(openapi)),
		a.hidden("GET /docs", httpapi.RedirectTo("docs/")),
		a.hidden("GET /docs/", httpapi.DocsUI("Gateway administration", "/docs/", "../openapi.json")),
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /readyz", Func: a.ready, Role: httpapi.Public, Undocumented: true},
	}
	for _, kind := range []entity.Kind{entity.KindService, entity.KindRoute, entity.KindConsumer, entity.KindPlugin, entity.KindUpstream} {
		c := collection{table: tableFor(kind)}
		routes = append(routes, a.collection("/"+c.table.plural, c)...)
	}
	keys := collection{table: tableFor(entity.KindKey)}
	routes = append(routes, a.open("GET /key-auths", a.list(keys)), a.open("GET /key-auths/{id}", a.get(keys)),
		a.open("GET /key-auths/{id}/consumer", a.getReferred(keys, entity.KindConsumer)),
		a.open("GET /routes/{id}/service", a.getReferred(collection{table: tableFor(entity.KindRoute)}, entity.KindService)),
		a.open("GET /upstreams/{parent}/targets/all",
			a.list(collection{table: tableFor(entity.KindTarget), parent: tableFor(entity.KindUpstream)})))
	// Clients that compare a whole gateway with a file request these as well.
	for _, absent := range []string{"certificates", "ca_certificates", "snis", "vaults", "consumer_groups"} {
		routes = append(routes, a.open("GET /"+absent, a.none))
	}
	for _, nested := range []struct {
		parent, child entity.Kind
		path          string
	}{
		{entity.KindService, entity.KindRoute, "/services/{parent}/routes"},
		{entity.KindService, entity.KindPlugin, "/services/{parent}/plugins"},
		{entity.KindRoute, entity.KindPlugin, "/routes/{parent}/plugins"},
		{entity.KindConsumer, entity.KindPlugin, "/consumers/{parent}/plugins"},
		{entity.KindConsumer, entity.KindKey, "/consumers/{parent}/key-auth"},
		{entity.KindUpstream, entity.KindTarget, "/upstreams/{parent}/targets"},
	} {
		routes = append(routes, a.collection(nested.path, collection{table: tableFor(nested.child), parent: tableFor(nested.parent)})...)
	}
	return routes
}

// collection lists the routes of a collection.
func (a *API) collection(path string, c collection) []httpapi.Route {
	return []httpapi.Route{
		a.open("GET "+path, a.list(c)),
		a.open("POST "+path, a.create(c)),
		a.open("GET "+path+"/{id}", a.get(c)),
		a.open("PUT "+path+"/{id}", a.replace(c)),
		a.open("PATCH "+path+"/{id}", a.change(c)),
		a.open("DELETE "+path+"/{id}", a.remove(c)),
	}
}

// none answers with the list of a kind of entity that the gateway does not have.
func (a *API) none(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, page{Data: []any{}})
	return nil
}

// endpoints lists the addresses of the API.
func (a *API) endpoints(w http.ResponseWriter, _ *http.Request) error {
	list, seen := []string{}, map[string]bool{}
	for _, route := range a.routes {
		_, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.TrimSuffix(path, "{$}")
		if !route.Undocumented && !seen[path] {
			seen[path] = true
			list = append(list, path)
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"data": list})
	return nil
}

// ready answers whether what is stored is served, and more can be stored.
func (a *API) ready(w http.ResponseWriter, r *http.Request) error {
	return httpapi.Ready(func() error {
		if err := a.store.Ready(); err != nil {
			return err
		}
		return storage.Space(r.Context(), a.store.record.docs)
	})(w, r)
}
