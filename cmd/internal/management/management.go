package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/kong"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// The name of the block in headers and overviews, and the folder of its pages.
const (
	Name   = "APIs"
	folder = "apis/"
)

// Config is what the flags say about API management. The zero value has the defaults.
type Config struct {
	// PortalURL and GatewayURL are the addresses that browsers use. Empty means
	// those of the listeners.
	PortalURL, GatewayURL string
	// Kong is a Kong in place of the gateway of this process. An empty URL means none.
	Kong kong.Config
	// Provider is the base address of an identity provider, in front of "realms/".
	// Empty means one in this process, for development.
	Provider string
	// Discovery is the URL of the discovery document. Empty means that of the issuer.
	Discovery string
	// Realm is the name of the realm. Empty means "OpenAPI".
	Realm string
	// Clients are those whose tokens the publisher takes. Nil means private-backend,
	// public-frontend and public-backend-access.
	Clients []string
	// Secrets are used in place of generated ones.
	Secrets Credentials
	// PrivateUpstreams says whether definitions may name this machine and private
	// networks. Nil means that they may while portal and gateway listen on loopback alone.
	PrivateUpstreams *bool
	// UpstreamHosts are the hosts that definitions may name. Nil means any.
	UpstreamHosts []string
	// SecurityPlugin is the publisher's.
	SecurityPlugin string
	// Home is the address of the program's first page, if another listener has that.
	Home string
	// Frame puts the shell of the program around what the portal's listener serves. It mounts
	// apis, which are the portal's pages. Nil means a shell for them alone.
	Frame func(next, apis http.Handler) http.Handler
	// Origins are those of other listeners that have the portal's pages, from which APIs may be
	// tried as well.
	Origins []string
	// Own are the publishers of the platform's own APIs, as in portal.Config.
	Own []string
	// SignIn is the page where people sign in, for the output. Empty means that of the portal.
	SignIn string
}

// base is what a manager and a [DataPlane] have in common: the configuration, the listeners, and
// what the server gives them.
type base struct {
	Config
	// Portal, Gateway and Admin are the listeners, all of them required. The latter two are absent
	// with Kong, and the first one with a DataPlane.
	Portal, Gateway, Admin *host.Listener

	env    *host.Env
	door   *door.Door
	traces trace.TracerProvider
	log    *slog.Logger
	access *server.AccessLog // nil logs no request
}

// begin sets what the server gives.
func (b *base) begin(ctx context.Context, env *host.Env) {
	b.env, b.door, b.traces, b.access = env, env.Door, server.TracerProvider(ctx), server.AccessLogOf(ctx)
	b.log = env.BlockLogger(overview.Source{Block: Name, Href: overview.Page(folder, "apis/", "enabler")})
}

// Management is API management as a [host.Opener]. The fields below are set by Open.
type Management struct {
	base
	// Publisher has the catalogue.
	Publisher *apimgmt.Publisher
	// Fresh holds the secrets that this Open has generated.
	Fresh Credentials
	// GatewayAdmin has the pages of the gateway. It is nil if the gateway is elsewhere.
	GatewayAdmin *admin.API
	// Issuer is the issuer of tokens.
	Issuer string

	elsewhere apimgmt.Gateway  // nil means that of this process
	provider  *devidp.Provider // nil if it is elsewhere
	gateway   *gateway.Gateway // nil if it is elsewhere
	entities  *admin.Store     // nil likewise
	admin     http.Handler     // nil likewise
	counts    *plugin.Counts   // nil likewise
	client    *oidc.Client

	discovery string // URL of the discovery document, for this process
	verifier  *oidc.Verifier
	portal    *portal.Portal
}

// ReadFiles implements host.FileReader.
func (m *Management) ReadFiles(_ context.Context, env *host.Env) (err error) {
	if m.Kong.URL == "" {
		return nil
	}
	m.Kong.Logger = env.Logger
	if m.elsewhere, err = kong.New(m.Kong); err != nil {
		return cli.Usage(fmt.Errorf("-kong: %w", err))
	}
	return nil
}

// Open implements host.Opener. It reads what is stored.
func (m *Management) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	m.begin(ctx, env)
	env.Closing(m.close)
	shared := env.Stores.Shared && (m.PortalURL == "" || m.GatewayURL == "")
	if err := m.open(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", env.Stores.Flag, err)
	}
	m.warn()
	if shared {
		m.log.Warn("several servers on one store need the same -portal-url and -gateway-url: without them each has its own, " +
			"and refuses the tokens of the others")
	}
	pages := []console.Part{{Section: Name, Path: "apis", Name: "Library", Handler: m.portal.Handler()}}
	if m.GatewayAdmin != nil {
		pages = append(pages, console.Part{Section: Name, Path: "gateway", Name: "Gateway", Handler: m.GatewayAdmin.Page()})
	}
	return &host.Block{Pages: pages, Run: m.parts(), Announce: m.announce, Overview: m.overview(ctx)}, nil
}

func (m *Management) open(ctx context.Context) error {
	m.Realm = cmp.Or(m.Realm, "OpenAPI")
	if m.Clients == nil {
		m.Clients = []string{"private-backend", "public-frontend", "public-backend-access"}
	}
	m.PortalURL = strings.TrimRight(cmp.Or(m.PortalURL, m.address(m.Portal)), "/")
	if m.elsewhere == nil {
		m.GatewayURL = cmp.Or(m.GatewayURL, m.address(m.Gateway))
	}
	m.GatewayURL = strings.TrimRight(m.GatewayURL, "/")
	kept := m.env.Stores
	secrets, fresh, err := m.vault().credentials(ctx)
	if err != nil {
		return err
	}
	m.Fresh = fresh
	if err := m.openProvider(ctx, secrets); err != nil {
		return err
	}
	behind := m.elsewhere
	if behind == nil {
		if err := m.openGateway(ctx, secrets); err != nil {
			return err
		}
		behind = m.entities
	}
	publisher := apimgmt.Config{
		Documents: storage.Prefixed(kept.Documents, "publisher/"), Blobs: storage.PrefixedBlobs(kept.Blobs, "publisher/"),
		Gateway: behind, GatewayURL: m.GatewayURL, Upstreams: apimgmt.Upstreams{Hosts: m.UpstreamHosts, Private: m.private()},
		SecurityPlugin: m.SecurityPlugin, Logger: m.log,
	}
	if kept.Shared && m.elsewhere == nil {
		// A gateway in the process answers at once, so what another manager has left can be
		// finished early.
		publisher.GatewayTimeout, publisher.Patience = 5*time.Second, 6*time.Second
	}
	if m.Publisher, err = apimgmt.NewPublisher(publisher); err != nil {
		return err
	}
	m.portal, err = portal.New(portal.Config{
		Publisher: m.Publisher, Verifier: m.verifier, URL: m.PortalURL, GatewayURL: m.GatewayURL,
		SignedIn: m.signedIn, SignIn: access.Prefix + "sign-on", SignOut: access.Prefix + "sign-out",
		Own: m.Own, Hosts: m.env.Hosts, Logger: m.log,
	})
	return err
}

// openProvider opens the identity provider, or reads where the other one is, and the
// clients of it.
func (m *Management) openProvider(ctx context.Context, secrets Credentials) (err error) {
	c := m.Config
	base := strings.TrimRight(c.Provider, "/")
	if base == "" {
		base = m.PortalURL + "/auth"
		realm := devidp.Demo(m.PortalURL, c.GatewayURL)
		realm.Name = c.Realm
		for i, user := range realm.Users {
			realm.Users[i].Password = secrets.DemoPassword
			if user.Name == devidp.DemoAdmin {
				realm.Users[i].Password = secrets.DemoAdminPassword
			}
		}
		for i := range realm.Clients {
			if !realm.Clients[i].Public {
				realm.Clients[i].Secret = secrets.ClientSecret
			}
			if realm.Clients[i].ID == frontend {
				realm.Clients[i].Redirects = []string{m.home()}
			}
		}
		m.provider, err = devidp.Open(ctx, devidp.Config{BaseURL: base, Realm: realm,
			Documents: storage.Prefixed(m.env.Stores.Documents, "idp/"), Hosts: m.env.Hosts, Logger: m.log})
		if err != nil {
			return err
		}
	}
	m.Issuer = base + "/realms/" + c.Realm
	asked := oidc.Config{Issuer: m.Issuer, Discovery: c.Discovery, ClientID: frontend, Logger: m.log}
	if m.provider != nil && c.Discovery == "" {
		// This process reaches it at its own listener, whatever name browsers use.
		here := m.address(m.Portal)
		asked.Discovery = here + "/auth/realms/" + c.Realm + oidc.WellKnown
		if at, err := url.Parse(m.PortalURL); err == nil && at.Scheme+"://"+at.Host != here {
			asked.Endpoints = oidc.Endpoints{
				Keys:  here + "/auth/realms/" + c.Realm + "/protocol/openid-connect/certs",
				Token: here + "/auth/realms/" + c.Realm + "/protocol/openid-connect/token",
			}
		}
		asked.HTTPClient = m.door.Client() // which knows the certificate, whatever names that has
	}
	m.discovery = cmp.Or(asked.Discovery, m.Issuer+oidc.WellKnown)
	asked.AllowHTTP = strings.HasPrefix(m.Issuer, "http://") || strings.HasPrefix(c.Discovery, "http://") // the operator has chosen it
	if m.client, err = oidc.NewClient(oidc.ClientConfig{Config: asked, RedirectURL: m.PortalURL + answerPath}); err != nil {
		return err
	}
	asked.AuthorizedParties = c.Clients
	if m.verifier, err = oidc.New(asked); err != nil {
		return err
	}
	return m.signOn()
}

// frontend is the client at which people sign in.
const frontend = "public-frontend"

// answerPath is the path of the portal's listener to which the identity provider redirects
// browsers.
const answerPath = "/login/answer"

// home is the address of the program's first page.
func (m *Management) home() string { return cmp.Or(m.Home, m.PortalURL+"/") }

// signOn has people sign in at the provider for all pages behind the door.
func (m *Management) signOn() error {
	name, home := "this platform", m.home()
	if m.provider == nil {
		home = m.PortalURL + "/" // another address might not be registered there
		at, err := url.Parse(m.Issuer)
		if err != nil {
			return err
		}
		name = at.Host
	}
	return m.door.SignOn(access.SignOn{Name: name, AnswerURL: m.PortalURL + answerPath,
		Provider: door.NewProvider(door.ProviderConfig{
			Client: m.client, Verifier: m.verifier, RoleClaim: "realm_access.roles", Home: home,
			Roles: realmRoles(),
			Remedy: fmt.Sprintf("At the provider of -idp the client %s has to be enabled and public, which is without a secret, "+
				"with the redirect address %s.", frontend, m.PortalURL+answerPath),
		})})
}

// signedIn returns the access token of the person whose browser sends a request.
func (m *Management) signedIn(r *http.Request) (string, error) {
	_, grant, err := m.door.Granted(r)
	var client *access.ClientError
	switch {
	case errors.As(err, &client):
		err = m.door.Refusal(err)
	case errors.Is(err, access.ErrNoSession):
		err = fmt.Errorf("%w: %w", portal.ErrSignedOut, err)
	case errors.Is(err, access.ErrUnavailable):
		err = fmt.Errorf("%w: %w", oidc.ErrUnreachable, err)
	}
	return grant.Access, err
}

// openGateway opens the gateway of this process with its stored configuration.
func (m *Management) openGateway(ctx context.Context, secrets Credentials) (err error) {
	registry := exposition.NewRegistry()
	kinds, err := m.sharedKinds(ctx, storage.Prefixed(m.env.Stores.Documents, "gateway/"), secrets, registry)
	if err != nil {
		return err
	}
	options := gateway.Options{Kinds: kinds, AllowUpstreams: m.private(), Logger: m.log, Registerer: registry}
	options.TracerProvider, options.AccessLog = m.traces, m.access.Logger()
	registry.MustRegister(droppedLines(m.access))
	options.Transport.RootCAs = m.door.RootCAs() // definitions may name listeners of this process
	m.gateway, err = gateway.New(&options)
	if err != nil {
		return err
	}
	m.entities, err = admin.Open(ctx,
		admin.StoreConfig{Gateway: m.gateway, Documents: storage.Prefixed(m.env.Stores.Documents, "gateway/"), Logger: m.log})
	if err != nil {
		return err
	}
	token := m.Secrets.AdminToken
	if token == "" && !server.IsLoopback(m.Admin) {
		token = secrets.AdminToken
	}
	api, err := admin.New(admin.Config{
		Store: m.entities, Token: token, Metrics: registry, Hosts: m.env.Hosts, Authorize: m.door.Authorizer(),
		NoAccount: m.door.IsOpen(), Logger: m.log,
	})
	if err != nil {
		return err
	}
	m.GatewayAdmin = api
	m.admin = console.Mount(api.Handler(), console.MountConfig{
		Name: "API management", Home: m.home(), Person: m.door.Person,
		Parts: []console.Part{
			{Section: Name, Path: "apis", Name: "Library", Elsewhere: m.PortalURL + console.Root + "apis"},
			{Section: Name, Path: "gateway", Name: "Gateway", Handler: api.Page()},
		},
	})
	return nil
}

// private returns the addresses, besides public ones, that definitions may name. Those of
// link-local services, such as the metadata of clouds, are not among them.
func (b *base) private() []netip.Prefix {
	allowed := true
	for _, l := range []*host.Listener{b.Portal, b.Gateway} {
		allowed = allowed && (l.Listener == nil || server.IsLoopback(l))
	}
	if b.PrivateUpstreams != nil {
		allowed = *b.PrivateUpstreams
	}
	if !allowed {
		return nil
	}
	var prefixes []netip.Prefix
	for _, text := range []string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}

// address returns the URL at which this machine reaches a listener.
func (m *Management) address(listener *host.Listener) string {
	return server.Reachable(m.door.URL(listener))
}

// adminURL returns the address of the gateway's admin API as this machine reaches it. There
// is none with another gateway.
func (m *Management) adminURL() string { return m.address(m.Admin) }

// close closes the gateway and the clients of the provider. The parts have ended before.
func (m *Management) close() error {
	var errs []error
	if m.client != nil {
		errs = append(errs, m.client.Close())
	}
	if m.verifier != nil {
		errs = append(errs, m.verifier.Close())
	}
	if m.gateway != nil {
		errs = append(errs, m.gateway.Close())
	}
	return errors.Join(errs...)
}

// parts returns the parts in the order of their start. The gateway stops before the identity provider that its plugins call.
func (m *Management) parts() []server.Part {
	parts := []server.Part{{Name: "publisher", Run: m.Publisher.Run}}
	if m.gateway != nil {
		parts = append(parts, server.Part{Name: "gateway", Run: m.gateway.Run}, server.Part{Name: "gateway configuration", Run: m.entities.Run},
			server.Part{Name: "rate limits", Run: m.counts.Run})
	}
	parts = append(parts, m.env.Web(m.Portal.Listener, m.handler()))
	if m.gateway != nil {
		origins := append([]string{m.PortalURL}, m.Origins...)
		apis := portal.AllowPortal(m.gateway, origins, access.CookiePrefix) // with plugins that authenticate callers
		parts = append(parts, m.env.Web(m.Admin.Listener, m.admin),
			server.Streams(m.door.Listener(m.Gateway.Listener), apis, m.log))
	}
	return parts
}

// handler returns the handler of the portal's listener.
func (m *Management) handler() http.Handler {
	publisher := rest.NewHandler(m.Publisher, &rest.HandlerOptions{
		Verifier: m.verifier, Realm: m.Realm, Hosts: append([]string{m.PortalURL}, m.env.Hosts...),
		Authorize: m.door.Authorizer(), Logger: m.log,
	})
	mux := http.NewServeMux()
	for _, path := range []string{"/OpenAPIDocumentation", "/OpenAPIDocumentation/", "/docs", "/docs/",
		"/openapi.json", "/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, publisher)
	}
	if m.provider != nil {
		mux.Handle("/auth/", m.provider.Handler())
	}
	mux.Handle("/", m.portal.Handler())
	if m.Frame != nil {
		return m.Frame(mux, m.portal.Handler())
	}
	parts := []console.Part{{Section: Name, Path: "apis", Name: "Library", Handler: m.portal.Handler()}}
	if m.GatewayAdmin != nil {
		gateway := m.adminURL() + console.Root + "gateway"
		parts = append(parts, console.Part{Section: Name, Path: "gateway", Name: "Gateway", Elsewhere: gateway})
	}
	return console.Mount(mux, console.MountConfig{Name: "API management", Person: m.door.Person, Parts: parts})
}

// warn logs what other machines can reach and should not.
func (m *Management) warn() {
	log := m.log
	if m.provider != nil && !server.IsLoopback(m.Portal) {
		log.Warn("the built-in identity provider is for development, and other machines can reach it; -idp names a real one",
			"address", m.Portal.Addr().String())
	}
	for _, address := range []string{m.PortalURL, m.Issuer} {
		if at, err := url.Parse(address); err == nil && at.Scheme == "http" && !isLocal(at.Hostname()) {
			log.Warn("passwords and tokens cross the network in the clear", "address", fmt.Sprintf("%s://%s", at.Scheme, at.Host))
			break
		}
	}
}

func isLocal(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// overview returns the function that describes the block.
func (m *Management) overview(ctx context.Context) func() overview.Block {
	catalogue := overview.Tally(ctx, func(ctx context.Context) ([]overview.Fact, error) {
		n, err := m.Publisher.Inventory(ctx)
		count := func(state apimgmt.State) uint64 { return uint64(n.Versions[state]) }
		return []overview.Fact{
			{Name: "published", Value: count(apimgmt.Published), Href: folder},
			{Name: "deprecated", Value: count(apimgmt.Deprecated), Href: folder},
			{Name: "drafts", Value: count(apimgmt.Draft), Href: folder},
		}, err
	})
	return func() overview.Block {
		b := overview.Block{
			Name: Name, Summary: "A library of APIs, and a gateway that serves and secures those that are published.",
			Href: folder, Address: m.door.URL(m.Gateway),
			Links: []overview.Link{
				{Text: "Gateway", Href: "gateway/"},
				{Text: "Interface", Href: m.PortalURL + "/docs/"},
				{Text: "Metrics", Href: m.PortalURL + "/metrics"},
			},
		}
		catalogue.Show(&b)
		return b
	}
}
