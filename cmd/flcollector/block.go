package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/demo/training"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/server"
)

// ReadFiles implements host.FileReader.
func (s *settings) ReadFiles(ctx context.Context, env *host.Env) error {
	if err := s.upstream.open(env.Logger); err != nil {
		return err
	}
	return s.Collector.ReadFiles(ctx, env)
}

// Open implements host.Opener.
func (s *settings) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	if env.Stores.Shared {
		if err := s.shared.complete(&s.Training, env.Stores.Work, s.Clients.Addr(), s.ClientTLS(env)); err != nil {
			return nil, err
		}
	}
	s.shared.warn(env.Logger, &s.Training)
	block, err := s.Collector.Open(ctx, env)
	if err == nil && s.demo {
		block.Later = []server.Part{{Name: "demo", Run: func(ctx context.Context) error {
			site := server.Reachable(env.Door.URL(s.Web))
			return training.Run(ctx, training.Config{
				Jobs: s.Jobs, Target: server.Reachable(s.Clients.Addr().String()), TLS: env.Door.ClientTLS(), Token: env.Door.Self(),
				Site: site, Pause: s.demoPause,
				Repository: cmp.Or(redacted(s.Repository.BaseURL), site), Output: s.output,
			})
		}}}
	}
	return block, err
}

// announce prints the addresses.
func (s *settings) announce(stdout io.Writer) {
	web, secure := s.Door.URL(s.Web), s.Door.TLS().Certificate != ""
	fmt.Fprintf(stdout, "listening on %s\nlistening on %s\n", web, s.ClientsURL(secure))
	if s.Repository.BaseURL == "" {
		fmt.Fprintf(stdout, "repository listening on %s\n", web)
	} else {
		fmt.Fprintf(stdout, "repository at %s\n", redacted(s.Repository.BaseURL))
	}
	if fleet := s.Fleet.URL(); fleet != "" {
		fmt.Fprintf(stdout, "listening on %s\n", fleet)
	}
}

// redacted returns a valid URL without its password.
func redacted(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(at.Redacted(), "/")
}
