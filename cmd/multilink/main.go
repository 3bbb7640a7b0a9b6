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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/bonding"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

func main() { server.Main("multilink", run) }

// run is the program, for main and for tests.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, flags, err := readSettings(args)
	flags.Traces(telemetry.Open)
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error { return s.start(ctx, stdout, log) })
}

// start runs the parts of the program until ctx ends or one of them fails.
func (s *settings) start(ctx context.Context, stdout io.Writer, log *slog.Logger) (err error) {
	listener, err := s.connections.Listen("listen", s.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already by the part that serves it
	if s.demo {
		return server.Run(ctx, server.Part{Name: "demo", Run: func(ctx context.Context) error {
			return bonding.Run(ctx, bonding.Config{Listener: listener, Output: stdout})
		}})
	}
	return s.serve(ctx, listener, stdout, log)
}

// serve opens the folder, the door and the machine, and runs the instance until ctx ends.
func (s *settings) serve(ctx context.Context, listener net.Listener, stdout io.Writer, log *slog.Logger) (err error) {
	store, err := datafolder.Open(ctx, s.data, datafolder.MultiLink)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tokens, where, fresh, err := s.tokens(log)
	if err != nil {
		return err
	}
	opened, err := s.door.Open(ctx, door.Config{
		Name: "multilink-" + string(s.role), Dir: s.data, Listeners: []net.Listener{listener},
		Tokens: tokens, TokensAt: where, CertificateRole: httpapi.Admin,
		Sessions: storage.Prefixed(store.Documents(), door.SessionsPrefix), Logger: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	at, err := s.open(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	n, err := node.Open(ctx, node.Config{
		Role: s.role, Plane: at.plane, Documents: store.Documents(), Interfaces: at.interfaces,
		Port: multilink.PortConfig{Name: s.tap, Addresses: s.addresses, Bridge: s.bridge, Members: s.members,
			Routes: s.routes, MTU: s.mtu},
		MaxClients: s.maxClients, NoReplay: s.plane == planeKernel, Logger: log,
	})
	if err != nil {
		return err
	}
	options := rest.HandlerOptions{Authorize: opened.Authorize, OpenMetrics: s.openMetrics, Hosts: s.door.Hosts(), Logger: log}
	atRoot, err := page.NewHandler(n, &page.HandlerOptions{REST: options, Root: true})
	if err != nil {
		return err
	}
	inConsole, err := page.NewHandler(n, &page.HandlerOptions{REST: options})
	if err != nil {
		return err
	}
	backups := backup.Of(s.data, datafolder.MultiLink, store, log)
	pages := console.Mount(atRoot, console.MountConfig{Name: "multilink", Person: opened.Person,
		Parts: []console.Part{{Section: "Links", Path: "links", Handler: inConsole}}})
	web := server.HTTP(opened.Listener(listener), opened.Handler(pages), log)
	web.Announce = func() {
		fmt.Fprintf(stdout, "listening on %s\n", opened.URL(listener))
		if fresh != "" {
			fmt.Fprintf(stdout, "a new token is in %s\n", fresh)
		}
	}
	opened.BackUp(backups.Handler())
	return server.Run(ctx, backups.Part(), opened.Part(), server.Part{Name: "run instance", Run: n.Run, Ready: server.Opened(n.Ready())}, web)
}

// tokens returns the token of -token or of its file, none if callers prove who they are
// in other ways. Where says, for the sign-in page, where the token is to be found. Fresh is
// the name of a file that is new.
func (s *settings) tokens(log *slog.Logger) (tokens []*access.TokenFile, where, fresh string, err error) {
	identity := access.Identity{Name: "token", Role: httpapi.Admin}
	token, where := s.token, "the one of MULTILINK_TOKEN or -token"
	if token == "" {
		name := s.tokenFile
		switch {
		case name != "":
			where = "the one in the file that -token-file names"
		case s.door.NeedsToken():
			name, where = filepath.Join(s.data, "token"), "the one in the file token of the data folder"
		default:
			return nil, "", "", nil
		}
		_, isNew, err := rest.LoadToken(name)
		if err != nil {
			return nil, "", "", err
		}
		if isNew {
			fresh = name
		}
		read := func() (string, error) {
			token, err := secretfile.ReadToken(name)
			if err == nil {
				err = access.CheckToken(fmt.Sprintf("token file %q", name), token, log)
			}
			return token, err
		}
		if token, err = read(); err != nil {
			return nil, "", "", err
		}
		return []*access.TokenFile{access.NewTokenFrom(identity, token, read)}, where, fresh, nil
	}
	if err := access.CheckToken("-token (MULTILINK_TOKEN)", token, log); err != nil {
		return nil, "", "", err
	}
	return []*access.TokenFile{access.NewToken(identity, token)}, where, "", nil
}
