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
	"fmt"
	"io"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

func main() { server.Main("apimanager", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := readSettings(args)
	block := host.Entry{Opener: &s.Management, Stores: host.Kept(s.Stores, datafolder.APIManager)}
	if s.gatewayOnly {
		s.plane.Config, s.plane.Gateway, s.plane.Admin, s.plane.Portal = s.Config, s.Gateway, s.Admin, s.Portal
		block = host.Entry{Opener: &s.plane, Stores: host.Kept(stores.In(s.Stores.Data()), datafolder.APIManager), Unsaved: true}
	}
	return s.Serve(ctx, err, stdout, stderr, host.Server{
		Owner: datafolder.APIManager, Listeners: []*host.Listener{s.Portal, s.Gateway, s.Admin},
		Blocks: []host.Entry{block}, Announce: s.announce,
	})
}

// announce prints the addresses.
func (s *settings) announce(stdout io.Writer) {
	for _, l := range []*host.Listener{s.Portal, s.Gateway, s.Admin} {
		if !l.Absent {
			l.Print(stdout, s.Door.URL(l))
		}
	}
	if s.Provider == "" && !s.gatewayOnly {
		fmt.Fprintf(stdout, "listening on %s/auth/ (idp)\n", s.Door.URL(s.Portal))
	}
}
