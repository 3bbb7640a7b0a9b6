// Command multilink is an instance of a multi-link network: it bonds several radio
// links into one layer-2 network, so that its users do not notice the loss of a link. A
// server provisions clients; a client attaches to a server.
//
//	multilink -role server -address 10.9.0.1/24 [-listen HOST:PORT] [-data DIR] [-tap NAME] ...
//	multilink -role client [-listen HOST:PORT] [-data DIR] [-tap NAME] ...
//	multilink -demo [-listen HOST:PORT]
//
// An instance is configured over its REST interface and its page, both of which require
// the token of MULTILINK_TOKEN. Without one, the first start generates a token into the
// file token of the data folder and prints the name of the file. -access adds tokens with
// roles, those of an OpenID Connect issuer, and client certificates. An instance needs
// CAP_NET_ADMIN and /dev/net/tun.
//
// With -h it lists every flag with its environment variable and default. The first
// line on standard output is "listening on http://HOST:PORT"; the log goes to standard
// error. On an interrupt or SIGTERM it removes its devices and addresses and ends with
// status 0; a second one ends it at once.
package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/bonding"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

func main() { server.Main("multilink", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := readSettings(args)
	if err == nil && s.demo {
		return s.Flags.Flags.Serve(ctx, nil, stdout, stderr, func(ctx context.Context, _ *slog.Logger) error {
			return s.demonstrate(ctx, stdout)
		})
	}
	return s.Serve(ctx, err, stdout, stderr, host.Server{
		Name: "multilink-" + string(s.node.Role), Owner: datafolder.MultiLink, Listeners: []*host.Listener{&s.web},
		Web: &s.web, Title: "multilink",
		Blocks: []host.Entry{{Opener: s, Stores: host.Kept(stores.In(s.data), datafolder.MultiLink)}},
	})
}

// demonstrate shows failovers until ctx ends.
func (s *settings) demonstrate(ctx context.Context, stdout io.Writer) error {
	listener, err := s.Bound.Listen(s.web.Flag, s.web.Address)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already by the part that serves it
	return server.Run(ctx, server.Part{Name: "demo", Run: func(ctx context.Context) error {
		return bonding.Run(ctx, bonding.Config{Listener: listener, Output: stdout})
	}})
}
