package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
)

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

// tokens returns the token of -token or of its file, none if callers authenticate
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
