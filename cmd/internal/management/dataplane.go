package management

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/follow"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
)

// DataPlane is a gateway without a store, a portal and a publisher, as a [host.Opener]: it follows a
// manager, and serves on without it. Of the configuration it uses what is said of the identity
// provider, the portal and private networks; Secrets.ClientSecret is that of the gateway's client at
// the provider, to which definitions refer. The listener Admin has health and metrics alone.
type DataPlane struct {
	base
	// ControlPlane is the address of the Admin API of a manager, or of several behind one
	// address, and Token one with the role admin there. Authorities is a file of those that
	// verify its certificate; empty means the system's.
	ControlPlane, Token, Authorities string

	roots    *x509.CertPool
	gateway  *gateway.Gateway
	follower *follow.Follower
}

// ConfigurationFile is the name of the file with the last configuration of a [DataPlane].
const ConfigurationFile = "gateway-configuration"

// ReadFiles implements host.FileReader.
func (d *DataPlane) ReadFiles(context.Context, *host.Env) error {
	if d.Authorities == "" {
		return nil
	}
	d.roots = x509.NewCertPool()
	return host.Authorities(d.roots, "control-plane-ca", d.Authorities)
}

// Open implements host.Opener. The gateway serves the configuration that was kept.
func (d *DataPlane) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	d.begin(ctx, env)
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("-control-plane: %w", err)
	}
	env.Closing(d.gateway.Close)
	return &host.Block{Run: d.parts()}, nil
}

func (d *DataPlane) open() error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if d.roots != nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.roots}
	}
	var err error
	d.follower, err = follow.New(follow.Config{
		ControlPlane: d.ControlPlane, Token: d.Token, File: filepath.Join(d.env.Stores.Dir, ConfigurationFile),
		HTTPClient: &http.Client{Transport: transport}, Logger: d.log,
	})
	if err != nil {
		return err
	}
	// There is no store, so plugins with the policy cluster count as with local.
	counts, err := plugin.NewCounts(plugin.CountsConfig{Logger: d.log})
	if err != nil {
		return err
	}
	shared := plugin.Options{Counts: counts, Secret: d.follower.Secret}
	if d.Provider != "" {
		issuer := strings.TrimRight(d.Provider, "/") + "/realms/" + d.Realm
		shared.ClientSecrets = []plugin.ClientSecret{clientSecret(d.Secrets.ClientSecret, issuer, d.Discovery)}
	}
	options := gateway.Options{
		Kinds: plugin.SharedKinds(shared), AllowUpstreams: d.private(), Logger: d.log,
	}
	options.TracerProvider, options.AccessLog = d.traces, d.access.Logger()
	options.Transport.RootCAs = d.door.RootCAs()
	if d.gateway, err = gateway.New(&options); err != nil {
		return err
	}
	if at, err := url.Parse(d.ControlPlane); err == nil && at.Scheme == "http" && !isLocal(at.Hostname()) {
		d.log.Warn("the configuration crosses the network with its secrets in the clear; -control-plane may name https", "host", at.Host)
	}
	d.follower.Start(d.gateway)
	return nil
}

// parts returns the parts in the order of their start.
func (d *DataPlane) parts() []server.Part {
	var origins []string
	if d.PortalURL != "" {
		origins = []string{d.PortalURL}
	}
	return []server.Part{
		{Name: "gateway", Run: d.gateway.Run},
		{Name: "gateway configuration", Run: d.follower.Run},
		d.env.Web(d.Admin.Listener, d.health()),
		server.Streams(d.door.Listener(d.Gateway.Listener), portal.AllowPortal(d.gateway, origins, access.CookiePrefix), d.log),
	}
}

// health returns the handler of health and metrics.
func (d *DataPlane) health() http.Handler {
	return httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: d.ready, Role: httpapi.Public},
		{Pattern: "GET /metrics", Role: httpapi.Reader,
			Func: exposition.Handler(d.gateway.Metrics(), d.follower, droppedLines(d.access))},
	}, &httpapi.Options{Authorize: d.door.Authorizer(), Hosts: d.env.Hosts, Logger: d.log})
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
