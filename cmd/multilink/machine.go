package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
	"github.com/iotenablers/enablers/multilink/kernel"
	"github.com/iotenablers/enablers/multilink/wg"
)

// machine is the plane and the host below it.
type machine struct {
	host       *host.Host // nil with the kernel's plane
	plane      multilink.Plane
	interfaces func(context.Context) ([]multilink.LinkInfo, error)
}

// open opens the plane. It changes nothing on the machine, except that it removes what a
// killed process has left behind.
func (s *settings) open(ctx context.Context, log *slog.Logger) (*machine, error) {
	if s.plane == planeKernel {
		plane, err := kernel.Open(ctx, kernel.Config{Name: s.tap, Logger: log})
		if err != nil {
			return nil, fmt.Errorf("-plane kernel: %w", err)
		}
		return &machine{plane: plane}, nil
	}
	h, err := host.Open(ctx, &host.Options{
		Name: s.tap, Interfaces: s.interfaces, Allow: s.allow, Journal: filepath.Join(s.data, "journal"), Logger: log,
		Underlay: func(ctx context.Context, c multilink.UnderlayConfig) (multilink.Underlay, error) {
			return wg.Open(ctx, c, &wg.Options{Logger: log})
		},
	})
	if err != nil {
		return nil, err
	}
	plane, err := multilink.New(multilink.Config{Host: h, Isolate: s.isolate, Logger: log})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return &machine{host: h, plane: plane, interfaces: h.Links}, nil
}

// close ends the plane and removes its devices and addresses.
func (m *machine) close() error {
	err := m.plane.Close()
	if m.host != nil {
		err = errors.Join(err, m.host.Close())
	}
	return err
}
