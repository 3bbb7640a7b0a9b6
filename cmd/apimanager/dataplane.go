package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// serveDataPlane runs a gateway that follows a manager, until ctx ends or a part fails.
func (s *settings) serveDataPlane(ctx context.Context, at *listeners, stdout io.Writer, log *slog.Logger) (err error) {
	config := management.DataPlaneConfig{
		Dir: s.stores.Data(), Gateway: at.gateway, Admin: at.admin, ControlPlane: s.controlPlane, Token: s.controlToken,
		ClientSecret: s.clientSecret, Provider: s.provider, Discovery: s.discovery, Realm: s.realm,
		Portal: s.portalURL, PrivateUpstreams: s.private, Hosts: s.door.Hosts(),
		TracerProvider: server.TracerProvider(ctx), AccessLog: server.AccessLogOf(ctx), Logger: log,
	}
	if s.controlCA != "" {
		pem, err := os.ReadFile(s.controlCA)
		if err == nil {
			config.Roots, err = management.RootsOf(pem)
		}
		if err != nil {
			return cli.Usage(fmt.Errorf("-control-plane-ca %q: %w", s.controlCA, err))
		}
	}
	store, err := datafolder.Open(ctx, s.stores.Data(), datafolder.APIManager)
	if err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	config.Door, err = s.door.Open(ctx, door.Config{Name: "apimanager", Dir: s.stores.Data(), Listeners: at.guarded(),
		Sessions: storage.Prefixed(store.Documents(), door.SessionsPrefix), Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, config.Door.Close()) }()
	d, err := management.OpenDataPlane(ctx, config)
	if err != nil {
		return fmt.Errorf("-control-plane: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	parts := d.Parts(func() {
		fmt.Fprintf(stdout, "listening on %s (gateway)\nlistening on %s (admin)\n", config.Door.URL(at.gateway), config.Door.URL(at.admin))
		config.Door.Announce(stdout, at.admin)
	})
	return server.Run(ctx, append([]server.Part{config.Door.Part()}, parts...)...)
}
