// Command apimanager is API management as a server: a portal and a publisher for
// OpenAPI definitions, a gateway that serves what they define, its admin API, and
// an identity provider for development.
//
//	apimanager [-listen HOST:PORT] [-gateway-listen HOST:PORT] [-admin-listen HOST:PORT]
//	           [-data DIR] [-idp URL] [-kong URL -gateway-url URL] [-config FILE] ...
//
// Everything is stored in the folder of -data. The first start generates the password
// of the demonstration's users, the secret of the confidential clients and the token
// of the admin API into its file credentials.json, and prints them once;
// APIMANAGER_DEMO_PASSWORD, APIMANAGER_CLIENT_SECRET and APIMANAGER_ADMIN_TOKEN give
// other values. With -idp users sign in at another Keycloak. With -kong a Kong serves the
// definitions, and the program has no listeners for gateway and admin.
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
	"slices"

	"github.com/iotenablers/enablers/apimgmt/kong"
	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
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
	config := s.management(at)
	config.Logger = log
	if s.kong != "" {
		if config.Elsewhere, err = kong.New(kong.Config{URL: s.kong, Token: s.kongToken, Logger: log}); err != nil {
			return fmt.Errorf("-kong: %w", err)
		}
	}
	store, err := datafolder.Open(ctx, s.data, datafolder.APIManager)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	access, err := s.door.Open(ctx, door.Config{Name: "apimanager", Dir: s.data, Listeners: at.guarded(),
		Sessions: storage.Prefixed(store.Documents(), door.SessionsPrefix), Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, access.Close()) }()
	config.Store, config.Door = store, access
	m, err := management.Open(ctx, config)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	m.Warn()
	parts := m.Parts(func() { s.announce(stdout, at, access, m) })
	backups := backup.Of(s.data, datafolder.APIManager, store, log)
	access.BackUp(backups.Handler())
	return server.Run(ctx, slices.Insert(parts, 0, backups.Part(), access.Part())...)
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
		if s.kong != "" && one.to != &l.portal {
			continue
		}
		if *one.to, err = s.connections.Listen(one.flag, one.address); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// guarded returns the listeners whose callers the door lets in.
func (l *listeners) guarded() []net.Listener {
	if l.admin == nil {
		return []net.Listener{l.portal}
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
func (s *settings) management(at *listeners) management.Config {
	return management.Config{
		Dir: s.data, Portal: at.portal, Gateway: at.gateway, Admin: at.admin, PortalURL: s.portalURL, GatewayURL: s.gatewayURL,
		Provider: s.provider, Discovery: s.discovery, Realm: s.realm, Clients: server.Names(s.clients),
		PrivateUpstreams: s.private, UpstreamHosts: server.Names(s.hosts), SecurityPlugin: s.securityPlugin,
		Hosts: s.door.Hosts(),
		Given: management.Credentials{DemoPassword: s.demoPassword, ClientSecret: s.clientSecret, AdminToken: s.adminToken},
	}
}

// announce prints the addresses, and at the first start the generated secrets.
func (s *settings) announce(stdout io.Writer, at *listeners, access *door.Door, m *management.Management) {
	fmt.Fprintf(stdout, "listening on %s (portal)\n", access.URL(at.portal))
	if s.kong == "" {
		fmt.Fprintf(stdout, "listening on %s (gateway)\nlistening on %s (admin)\n", access.URL(at.gateway), access.URL(at.admin))
	}
	if s.provider == "" {
		fmt.Fprintf(stdout, "listening on %s/auth/ (idp)\n", access.URL(at.portal))
	}
	access.Announce(stdout, at.portal)
	m.Announce(stdout, m.PortalURL()+"/")
}
