package management

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/follow"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
)

// DataPlaneConfig configures a [DataPlane]. All but PrivateUpstreams, Portal, Token, Roots, Hosts,
// TracerProvider, AccessLog, and what is said of the identity provider, are required.
type DataPlaneConfig struct {
	// Dir is the folder where the last configuration is kept.
	Dir string
	// Gateway and Admin are open listeners, without TLS. Admin has health and metrics alone.
	Gateway, Admin net.Listener
	// Door decides on the callers of the metrics, and has the certificate of both listeners.
	Door *door.Door
	// ControlPlane is the address of the Admin API of a manager, or of several behind one
	// address, and Token one with the role admin there. Roots verify its certificate; nil
	// means the system's.
	ControlPlane, Token string
	Roots               *x509.CertPool
	// Portal is the address of the portal, from which APIs may be tried. Empty means none.
	Portal string
	// ClientSecret is that of the gateway's client at an identity provider, to which definitions refer.
	// Provider, Discovery and Realm are those of the manager, as in [Config]; with its provider inside,
	// Provider is the address that the definitions have.
	ClientSecret, Provider, Discovery, Realm string
	// PrivateUpstreams says whether services may be on this machine and in private networks.
	// Nil means that they may while the gateway listens on loopback alone.
	PrivateUpstreams *bool
	// Hosts are further names of Admin, as in httpapi.Options.
	Hosts []string
	// TracerProvider is the gateway's. Nil makes no spans.
	TracerProvider trace.TracerProvider
	// AccessLog is the gateway's. Nil logs no request.
	AccessLog *server.AccessLog
	// Logger logs what happens.
	Logger *slog.Logger
}

// DataPlane is a gateway without a store, a portal and a publisher: it follows a manager, and
// serves on without it. Make one with [OpenDataPlane].
type DataPlane struct {
	config   DataPlaneConfig
	gateway  *gateway.Gateway
	follower *follow.Follower
}

// ConfigurationFile is the name of the file with the last configuration of a [DataPlane].
const ConfigurationFile = "gateway-configuration"

// OpenDataPlane makes a gateway that serves the configuration that was kept. It starts nothing.
// The caller closes it.
func OpenDataPlane(ctx context.Context, config DataPlaneConfig) (*DataPlane, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &DataPlane{config: config}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if config.Roots != nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: config.Roots}
	}
	var err error
	d.follower, err = follow.New(follow.Config{
		ControlPlane: config.ControlPlane, Token: config.Token, File: filepath.Join(config.Dir, ConfigurationFile),
		HTTPClient: &http.Client{Transport: transport}, Logger: config.Logger,
	})
	if err != nil {
		return nil, err
	}
	// There is no store, so plugins with the policy cluster count as with local.
	counts, err := plugin.NewCounts(plugin.CountsConfig{Logger: config.Logger})
	if err != nil {
		return nil, err
	}
	shared := plugin.Options{Counts: counts, Secret: d.follower.Secret}
	if config.Provider != "" {
		issuer := strings.TrimRight(config.Provider, "/") + "/realms/" + config.Realm
		shared.ClientSecrets = []plugin.ClientSecret{clientSecret(config.ClientSecret, issuer, config.Discovery)}
	}
	options := gateway.Options{
		Kinds: plugin.SharedKinds(shared), Logger: config.Logger,
		AllowUpstreams: Config{Portal: config.Gateway, Gateway: config.Gateway, PrivateUpstreams: config.PrivateUpstreams}.private(),
	}
	options.TracerProvider, options.AccessLog = config.TracerProvider, config.AccessLog.Logger()
	options.Transport.RootCAs = config.Door.RootCAs()
	if d.gateway, err = gateway.New(&options); err != nil {
		return nil, err
	}
	if at, err := url.Parse(config.ControlPlane); err == nil && at.Scheme == "http" && !isLocal(at.Hostname()) {
		config.Logger.Warn("the configuration crosses the network with its secrets in the clear; -control-plane may name https", "host", at.Host)
	}
	d.follower.Start(d.gateway)
	return d, nil
}

// Close closes the gateway. The parts have ended before.
func (d *DataPlane) Close() error { return d.gateway.Close() }

// Parts returns the parts in the order of their start. Announce is called when all of them
// can be used.
func (d *DataPlane) Parts(announce func()) []server.Part {
	c := d.config
	var origins []string
	if c.Portal != "" {
		origins = []string{c.Portal}
	}
	parts := []server.Part{
		{Name: "gateway", Run: d.gateway.Run},
		{Name: "gateway configuration", Run: d.follower.Run},
		server.HTTP(c.Door.Listener(c.Admin), c.Door.Handler(d.health()), c.Logger),
		server.Streams(c.Door.Listener(c.Gateway), portal.AllowPortal(d.gateway, origins, access.CookiePrefix), c.Logger),
	}
	parts[len(parts)-1].Announce = announce
	return parts
}

// health returns the handler of health and metrics.
func (d *DataPlane) health() http.Handler {
	return httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: d.ready, Role: httpapi.Public},
		{Pattern: "GET /metrics", Role: httpapi.Reader,
			Func: exposition.Handler(d.gateway.Metrics(), d.follower, droppedLines(d.config.AccessLog))},
	}, &httpapi.Options{Authorize: d.config.Door.Authorizer(), Hosts: d.config.Hosts, Logger: d.config.Logger})
}

// ready is [httpapi.Ready] with the state of the follower in its text.
func (d *DataPlane) ready(w http.ResponseWriter, r *http.Request) error {
	state := d.follower.State()
	if !state.Serving || httpapi.InstrumentsOf(r.Context()).IsDraining() {
		return httpapi.Ready(func() error { return errors.New(state.String()) })(w, r)
	}
	httpapi.WriteText(w, http.StatusOK, state.String())
	return nil
}

// RootsOf returns the certificates of a text in PEM.
func RootsOf(pem []byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("it has no certificate in PEM")
	}
	return roots, nil
}
