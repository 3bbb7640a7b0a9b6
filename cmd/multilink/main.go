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
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/demo/bonding"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
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

// Prepare implements host.Preparer.
func (s *settings) Prepare(_ context.Context, env *host.Env) (err error) {
	env.Access.CertificateRole = httpapi.Admin
	env.Access.Tokens, env.Access.TokensAt, s.fresh, err = s.tokens(env.Logger)
	return err
}

// Open implements host.Opener.
func (s *settings) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	if err := s.openPlane(ctx, env); err != nil {
		return nil, err
	}
	s.node.Documents, s.node.Logger = env.Stores.Documents, env.Logger
	n, err := node.Open(ctx, s.node)
	if err != nil {
		return nil, err
	}
	options := rest.HandlerOptions{Authorize: env.Door.Authorize, OpenMetrics: s.openMetrics, Hosts: env.Hosts, Logger: env.Logger}
	atRoot, err := page.NewHandler(n, &page.HandlerOptions{REST: options, Root: true})
	if err != nil {
		return nil, err
	}
	inConsole, err := page.NewHandler(n, &page.HandlerOptions{REST: options})
	if err != nil {
		return nil, err
	}
	return &host.Block{
		Routes:   atRoot,
		Pages:    []console.Part{{Section: "Links", Path: "links", Handler: inConsole}},
		Run:      []server.Part{{Name: "run instance", Run: n.Run, Ready: server.Opened(n.Ready())}},
		Announce: s.announce,
	}, nil
}

// announce prints the name of the file of a new token.
func (s *settings) announce(stdout io.Writer) {
	if s.fresh != "" {
		fmt.Fprintf(stdout, "a new token is in %s\n", s.fresh)
	}
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
		case s.Door.NeedsToken():
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
