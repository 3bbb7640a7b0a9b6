// Command apimanager is API management as a server: a portal and a publisher for
// OpenAPI definitions, a gateway that serves what they define, its admin API, and
// an identity provider for development.
//
//	apimanager [-listen HOST:PORT] [-gateway-listen HOST:PORT] [-admin-listen HOST:PORT]
//	           [-data DIR] [-idp URL] [-kong URL -gateway-url URL] [-config FILE] ...
//
// Everything is stored in the folder of -data, or in the store of -store and -blobs, which several
// servers with the same -portal-url and -gateway-url may share. The first start generates the password
// of the demonstration's users, the secret of the confidential clients and the token
// of the admin API into its file credentials.json, and prints its name;
// APIMANAGER_DEMO_PASSWORD, APIMANAGER_DEMO_ADMIN_PASSWORD, APIMANAGER_CLIENT_SECRET and
// APIMANAGER_ADMIN_TOKEN give other values. With -idp users sign in at another Keycloak. With -kong a Kong serves the
// definitions, and the program has no listeners for gateway and admin.
//
// With -gateway-only it is a gateway alone, one of many, which follows the manager whose admin
// API -control-plane names, and needs no store: what it serves is kept in the folder of -data.
//
// Programs may also show a token of -access to the publisher's interface and the admin
// API, and the metrics require one where other machines reach the portal or the admin API:
// unless -access says otherwise, the first start then generates it into the file
// access-token.
//
// With -h it lists every flag with its environment variable and default. The first
// lines on standard output are "listening on http://HOST:PORT (NAME)" for portal,
// gateway, admin and idp; the log goes to standard error. On an interrupt or SIGTERM
// it ends with status 0; a second one ends it at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/iotenablers/enablers/apimgmt/kong"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
)

func main() { server.Main("apimanager", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, flags, err := readSettings(args)
	flags.Traces(telemetry.Open)
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error { return s.serve(ctx, stdout, log) })
}

// serve runs the parts of the program until ctx ends or one of them fails.
func (s *settings) serve(ctx context.Context, stdout io.Writer, log *slog.Logger) (err error) {
	at, err := s.open()
	if err != nil {
		return err
	}
	defer at.close()
	if s.gatewayOnly {
		return s.serveDataPlane(ctx, at, stdout, log)
	}
	config := s.management()
	config.Logger, config.TracerProvider, config.AccessLog = log, server.TracerProvider(ctx), server.AccessLogOf(ctx)
	if s.kong != "" {
		if config.Elsewhere, err = kong.New(kong.Config{URL: s.kong, Token: s.kongToken, Logger: log}); err != nil {
			return cli.Usage(fmt.Errorf("-kong: %w", err))
		}
	}
	kept, err := s.stores.Open(ctx, stores.Config{Owner: datafolder.APIManager, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	addresses := sync.OnceFunc(func() { s.announce(stdout, at) })
	err = kept.Wait(ctx, stores.Waiting{Listeners: at.answering(), TLS: s.door.TLS(), Announce: addresses})
	if err != nil || ctx.Err() != nil {
		return err
	}
	access, err := s.door.Open(ctx, door.Config{Name: "apimanager", Dir: kept.Dir, Listeners: at.guarded(),
		Sessions: kept.Access(), Shared: kept.Shared, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.Close()) }()
	config.Portal, config.Gateway, config.Admin = at.portal, at.gateway, at.admin
	config.Documents, config.Blobs, config.Dir, config.Shared = kept.Documents, kept.Blobs, kept.Dir, kept.Shared
	config.Door = access
	m, err := management.Open(ctx, config)
	if err != nil {
		return fmt.Errorf("%s: %w", s.stores.Flag(), err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	m.Warn()
	if kept.Shared && (s.portalURL == "" || s.gatewayURL == "") {
		log.Warn("several servers on one store need the same -portal-url and -gateway-url: without them each has its own, " +
			"and refuses the tokens of the others")
	}
	parts := m.Parts(func() {
		addresses()
		access.Announce(stdout, at.portal)
		m.Announce(stdout, m.PortalURL()+"/")
	})
	access.BackUp(kept.Source().Handler())
	return server.Run(ctx, append(append(kept.Backups(), access.Part()), parts...)...)
}

// listeners are the open listeners. With -kong there is that of the portal only.
type listeners struct{ portal, gateway, admin net.Listener }

// open opens all of them, or none.
func (s *settings) open() (_ *listeners, err error) {
	l := &listeners{}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for _, one := range []struct {
		to            *net.Listener
		flag, address string
	}{{&l.portal, "listen", s.listen}, {&l.gateway, "gateway-listen", s.gateway}, {&l.admin, "admin-listen", s.admin}} {
		if s.kong != "" && one.to != &l.portal || s.gatewayOnly && one.to == &l.portal {
			continue
		}
		if *one.to, err = s.connections.Listen(one.flag, one.address); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// answering returns the listeners that answer while the store does not. That of the gateway
// lets callers wait.
func (l *listeners) answering() []*net.Listener {
	if l.admin == nil {
		return []*net.Listener{&l.portal}
	}
	return []*net.Listener{&l.portal, &l.admin}
}

// guarded returns the listeners whose callers the door lets in.
func (l *listeners) guarded() []net.Listener {
	switch {
	case l.admin == nil:
		return []net.Listener{l.portal}
	case l.portal == nil:
		return []net.Listener{l.admin}
	}
	return []net.Listener{l.portal, l.admin}
}

// close closes the listeners. The part that serves a listener has closed it before,
// unless the program failed first.
func (l *listeners) close() {
	for _, one := range []net.Listener{l.portal, l.gateway, l.admin} {
		if one != nil {
			_ = one.Close()
		}
	}
}

// management returns the configuration of the settings.
func (s *settings) management() management.Config {
	return management.Config{
		PortalURL: s.portalURL, GatewayURL: s.gatewayURL,
		Provider: s.provider, Discovery: s.discovery, Realm: s.realm, Clients: server.Names(s.clients),
		PrivateUpstreams: s.private, UpstreamHosts: server.Names(s.hosts), SecurityPlugin: s.securityPlugin,
		Hosts: s.door.Hosts(),
		Given: management.Credentials{DemoPassword: s.demoPassword, DemoAdminPassword: s.demoAdminPassword,
			ClientSecret: s.clientSecret, AdminToken: s.adminToken},
	}
}

// announce prints the addresses.
func (s *settings) announce(stdout io.Writer, at *listeners) {
	fmt.Fprintf(stdout, "listening on %s (portal)\n", s.door.URL(at.portal))
	if s.kong == "" {
		fmt.Fprintf(stdout, "listening on %s (gateway)\nlistening on %s (admin)\n", s.door.URL(at.gateway), s.door.URL(at.admin))
	}
	if s.provider == "" {
		fmt.Fprintf(stdout, "listening on %s/auth/ (idp)\n", s.door.URL(at.portal))
	}
}
