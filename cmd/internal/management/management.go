package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// Config configures a [Management]. Documents, Blobs, Portal, Door and Logger are required, and
// without Elsewhere also Gateway and Admin.
type Config struct {
	// Documents and Blobs store everything but the secrets in Dir. The caller closes them after
	// the Management.
	Documents storage.Documents
	Blobs     storage.Blobs
	// Dir is the folder of the file with generated secrets. Empty means none.
	Dir string
	// Shared says that instances with other folders have the same Documents. The generated
	// secrets are then there, and the file is for people. So it is with an empty Dir.
	Shared bool
	// Portal, Gateway and Admin are open listeners, without TLS. The latter two are not
	// used with Elsewhere.
	Portal, Gateway, Admin net.Listener
	// Door decides on the callers of the publisher's interface, the admin API and the
	// metrics, and has the certificate of all listeners. The caller closes it after the
	// Management.
	Door *door.Door
	// PortalURL and GatewayURL are the addresses that browsers use. Empty means
	// those of the listeners.
	PortalURL, GatewayURL string
	// Elsewhere is a gateway in another process. Nil means one in this process.
	Elsewhere apimgmt.Gateway
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
	// Given are secrets in place of generated ones.
	Given Credentials
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
	// Hosts are further names of the portal and of the admin API, besides that of
	// PortalURL, as in rest.HandlerOptions.
	Hosts []string
	// TracerProvider is the gateway's. Nil makes no spans.
	TracerProvider trace.TracerProvider
	// AccessLog is the gateway's. Nil logs no request.
	AccessLog *server.AccessLog
	// Logger logs what happens.
	Logger *slog.Logger
}

// Management is API management over open stores. Make one with [Open].
type Management struct {
	// Publisher has the catalogue.
	Publisher *apimgmt.Publisher
	// Fresh holds the secrets that this Open has generated.
	Fresh Credentials
	// GatewayAdmin has the pages of the gateway. It is nil if the gateway is elsewhere.
	GatewayAdmin *admin.API
	// Issuer is the issuer of tokens.
	Issuer string

	config   Config
	provider *devidp.Provider // nil if it is elsewhere
	gateway  *gateway.Gateway // nil if it is elsewhere
	entities *admin.Store     // nil likewise
	admin    http.Handler     // nil likewise
	counts   *plugin.Counts   // nil likewise
	client   *oidc.Client

	discovery string // URL of the discovery document, for this process
	verifier  *oidc.Verifier
	portal    *portal.Portal
}

// Open reads what is stored and composes API management. It starts nothing. The caller
// closes it.
func Open(ctx context.Context, config Config) (_ *Management, err error) {
	config.Realm = cmp.Or(config.Realm, "OpenAPI")
	if config.Clients == nil {
		config.Clients = []string{"private-backend", "public-frontend", "public-backend-access"}
	}
	m := &Management{config: config}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	config.PortalURL = strings.TrimRight(cmp.Or(config.PortalURL, m.addressOf(config.Portal)), "/")
	if config.Elsewhere == nil {
		config.GatewayURL = cmp.Or(config.GatewayURL, m.addressOf(config.Gateway))
	}
	config.GatewayURL = strings.TrimRight(config.GatewayURL, "/")
	m.config = config
	secrets, fresh, err := config.credentials(ctx)
	if err != nil {
		return nil, err
	}
	m.Fresh = fresh
	if err := m.openProvider(ctx, secrets); err != nil {
		return nil, err
	}
	behind := config.Elsewhere
	if behind == nil {
		if err := m.openGateway(ctx, secrets); err != nil {
			return nil, err
		}
		behind = m.entities
	}
	publisher := apimgmt.Config{
		Documents: storage.Prefixed(config.Documents, "publisher/"), Blobs: storage.PrefixedBlobs(config.Blobs, "publisher/"),
		Gateway: behind, GatewayURL: config.GatewayURL, Upstreams: apimgmt.Upstreams{Hosts: config.UpstreamHosts, Private: config.private()},
		SecurityPlugin: config.SecurityPlugin, Logger: config.Logger,
	}
	if config.Shared && config.Elsewhere == nil {
		// A gateway in the process answers at once, so what another manager has left can be
		// finished early.
		publisher.GatewayTimeout, publisher.Patience = 5*time.Second, 6*time.Second
	}
	if m.Publisher, err = apimgmt.NewPublisher(publisher); err != nil {
		return nil, err
	}
	m.portal, err = portal.New(portal.Config{
		Publisher: m.Publisher, Verifier: m.verifier, URL: config.PortalURL, GatewayURL: config.GatewayURL,
		SignedIn: m.signedIn, SignIn: access.Prefix + "sign-on", SignOut: access.Prefix + "sign-out",
		Own: config.Own, Hosts: config.Hosts, Logger: config.Logger,
	})
	return m, err
}

// openProvider opens the identity provider, or reads where the other one is, and the
// clients of it.
func (m *Management) openProvider(ctx context.Context, secrets Credentials) (err error) {
	c := m.config
	base := strings.TrimRight(c.Provider, "/")
	if base == "" {
		base = c.PortalURL + "/auth"
		realm := devidp.Demo(c.PortalURL, c.GatewayURL)
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
				realm.Clients[i].Redirects = []string{c.home()}
			}
		}
		m.provider, err = devidp.Open(ctx, devidp.Config{BaseURL: base, Realm: realm,
			Documents: storage.Prefixed(c.Documents, "idp/"), Hosts: c.Hosts, Logger: c.Logger})
		if err != nil {
			return err
		}
	}
	m.Issuer = base + "/realms/" + c.Realm
	asked := oidc.Config{Issuer: m.Issuer, Discovery: c.Discovery, ClientID: frontend, Logger: c.Logger}
	if m.provider != nil && c.Discovery == "" {
		// This process reaches it at its own listener, whatever name browsers use.
		here := m.addressOf(c.Portal)
		asked.Discovery = here + "/auth/realms/" + c.Realm + oidc.WellKnown
		if at, err := url.Parse(c.PortalURL); err == nil && at.Scheme+"://"+at.Host != here {
			asked.Endpoints = oidc.Endpoints{
				Keys:  here + "/auth/realms/" + c.Realm + "/protocol/openid-connect/certs",
				Token: here + "/auth/realms/" + c.Realm + "/protocol/openid-connect/token",
			}
		}
		asked.HTTPClient = c.Door.Client() // which knows the certificate, whatever names that has
	}
	m.discovery = cmp.Or(asked.Discovery, m.Issuer+oidc.WellKnown)
	asked.AllowHTTP = strings.HasPrefix(m.Issuer, "http://") || strings.HasPrefix(c.Discovery, "http://") // the operator has chosen it
	if m.client, err = oidc.NewClient(oidc.ClientConfig{Config: asked, RedirectURL: c.PortalURL + answerPath}); err != nil {
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
func (c Config) home() string { return cmp.Or(c.Home, c.PortalURL+"/") }

// signOn has people sign in at the provider for all pages behind the door.
func (m *Management) signOn() error {
	c, name, home := m.config, "this platform", m.config.home()
	if m.provider == nil {
		home = c.PortalURL + "/" // another address might not be registered there
		at, err := url.Parse(m.Issuer)
		if err != nil {
			return err
		}
		name = at.Host
	}
	return c.Door.SignOn(access.SignOn{Name: name, AnswerURL: c.PortalURL + answerPath,
		Provider: door.NewProvider(door.ProviderConfig{
			Client: m.client, Verifier: m.verifier, RoleClaim: "realm_access.roles", Home: home,
			Roles: realmRoles(),
			Remedy: fmt.Sprintf("At the provider of -idp the client %s has to be enabled and public, which is without a secret, "+
				"with the redirect address %s.", frontend, c.PortalURL+answerPath),
		})})
}

// signedIn returns the access token of the person whose browser sends a request.
func (m *Management) signedIn(r *http.Request) (string, error) {
	_, grant, err := m.config.Door.Granted(r)
	var client *access.ClientError
	switch {
	case errors.As(err, &client):
		err = m.config.Door.Refusal(err)
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
	kinds, err := m.sharedKinds(ctx, storage.Prefixed(m.config.Documents, "gateway/"), secrets, registry)
	if err != nil {
		return err
	}
	options := gateway.Options{Kinds: kinds, AllowUpstreams: m.config.private(), Logger: m.config.Logger, Registerer: registry}
	options.TracerProvider, options.AccessLog = m.config.TracerProvider, m.config.AccessLog.Logger()
	registry.MustRegister(droppedLines(m.config.AccessLog))
	options.Transport.RootCAs = m.config.Door.RootCAs() // definitions may name listeners of this process
	m.gateway, err = gateway.New(&options)
	if err != nil {
		return err
	}
	m.entities, err = admin.Open(ctx,
		admin.StoreConfig{Gateway: m.gateway, Documents: storage.Prefixed(m.config.Documents, "gateway/"), Logger: m.config.Logger})
	if err != nil {
		return err
	}
	token := m.config.Given.AdminToken
	if token == "" && !server.IsLoopback(m.config.Admin) {
		token = secrets.AdminToken
	}
	api, err := admin.New(admin.Config{
		Store: m.entities, Token: token, Metrics: registry, Hosts: m.config.Hosts, Authorize: m.config.Door.Authorizer(),
		NoAccount: m.config.Door.IsOpen(), Logger: m.config.Logger,
	})
	if err != nil {
		return err
	}
	m.GatewayAdmin = api
	m.admin = console.Mount(api.Handler(), console.MountConfig{
		Name: "API management", Home: cmp.Or(m.config.Home, m.config.PortalURL+"/"), Person: m.config.Door.Person,
		Parts: []console.Part{
			{Section: "APIs", Path: "apis", Name: "Library", Elsewhere: m.config.PortalURL + console.Root + "apis"},
			{Section: "APIs", Path: "gateway", Name: "Gateway", Handler: api.Page()},
		},
	})
	return nil
}

// private returns the addresses, besides public ones, that definitions may name. Those of
// link-local services, such as the metadata of clouds, are not among them.
func (c Config) private() []netip.Prefix {
	allowed := server.IsLoopback(c.Portal) && (c.Elsewhere != nil || server.IsLoopback(c.Gateway))
	if c.PrivateUpstreams != nil {
		allowed = *c.PrivateUpstreams
	}
	if !allowed {
		return nil
	}
	var made []netip.Prefix
	for _, text := range []string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"} {
		made = append(made, netip.MustParsePrefix(text))
	}
	return made
}

// addressOf returns the URL at which this machine reaches a listener.
func (m *Management) addressOf(listener net.Listener) string {
	return server.Reachable(m.config.Door.URL(listener))
}

// PortalURL returns the address of the portal.
func (m *Management) PortalURL() string { return m.config.PortalURL }

// GatewayURL returns the address of the gateway.
func (m *Management) GatewayURL() string { return m.config.GatewayURL }

// AdminURL returns the address of the gateway's admin API as this machine reaches it. There
// is none with another gateway.
func (m *Management) AdminURL() string { return m.addressOf(m.config.Admin) }

// Close closes the gateway and the clients of the provider. The parts have ended before.
func (m *Management) Close() error {
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

// Parts returns the parts in the order of their start. Announce is called when all of them
// can be used. The gateway stops before the identity provider that its plugins call.
func (m *Management) Parts(announce func()) []server.Part {
	log, d := m.config.Logger, m.config.Door
	parts := []server.Part{{Name: "publisher", Run: m.Publisher.Run}}
	if m.gateway != nil {
		parts = append(parts, server.Part{Name: "gateway", Run: m.gateway.Run}, server.Part{Name: "gateway configuration", Run: m.entities.Run},
			server.Part{Name: "rate limits", Run: m.counts.Run})
	}
	parts = append(parts, server.HTTP(d.Listener(m.config.Portal), d.Handler(m.Handler()), log))
	if m.gateway != nil {
		origins := append([]string{m.config.PortalURL}, m.config.Origins...)
		apis := portal.AllowPortal(m.gateway, origins, access.CookiePrefix) // with plugins that let callers in
		parts = append(parts, server.HTTP(d.Listener(m.config.Admin), d.Handler(m.admin), log),
			server.Streams(d.Listener(m.config.Gateway), apis, log))
	}
	parts[len(parts)-1].Announce = announce
	return parts
}

// Handler returns the handler of the portal's listener.
func (m *Management) Handler() http.Handler {
	publisher := rest.NewHandler(m.Publisher, &rest.HandlerOptions{
		Verifier: m.verifier, Realm: m.config.Realm, Hosts: append([]string{m.config.PortalURL}, m.config.Hosts...),
		Authorize: m.config.Door.Authorizer(), Logger: m.config.Logger,
	})
	mux := http.NewServeMux()
	for _, path := range []string{"/OpenAPIDocumentation", "/OpenAPIDocumentation/", "/docs", "/docs/",
		"/openapi.json", "/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, publisher)
	}
	if m.provider != nil {
		mux.Handle("/auth/", m.provider.Handler())
	}
	mux.Handle("/", m.Page())
	if m.config.Frame != nil {
		return m.config.Frame(mux, m.Page())
	}
	parts := []console.Part{{Section: "APIs", Path: "apis", Name: "Library", Handler: m.Page()}}
	if m.GatewayAdmin != nil {
		gateway := m.AdminURL() + console.Root + "gateway"
		parts = append(parts, console.Part{Section: "APIs", Path: "gateway", Name: "Gateway", Elsewhere: gateway})
	}
	return console.Mount(mux, console.MountConfig{Name: "API management", Person: m.config.Door.Person, Parts: parts})
}

// Page returns the pages of the portal, for any listener of the door.
func (m *Management) Page() http.Handler { return m.portal.Handler() }

// Warn logs what other machines can reach and should not.
func (m *Management) Warn() {
	log := m.config.Logger
	if m.provider != nil && !server.IsLoopback(m.config.Portal) {
		log.Warn("the built-in identity provider is for development, and other machines can reach it; -idp names a real one",
			"address", m.config.Portal.Addr().String())
	}
	for _, address := range []string{m.config.PortalURL, m.Issuer} {
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
