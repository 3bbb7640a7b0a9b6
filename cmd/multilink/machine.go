package main

import (
	"context"
	"fmt"
	"path/filepath"

	hosting "github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
	"github.com/iotenablers/enablers/multilink/kernel"
	"github.com/iotenablers/enablers/multilink/wg"
)

// openPlane opens the plane of the node. It changes nothing on the machine, except that it removes
// what a killed process has left behind.
func (s *settings) openPlane(ctx context.Context, env *hosting.Env) error {
	log, name := env.Logger, s.node.Port.Name
	if s.plane == planeKernel {
		plane, err := kernel.Open(ctx, kernel.Config{Name: name, Logger: log})
		if err != nil {
			return fmt.Errorf("-plane kernel: %w", err)
		}
		env.Closing(plane.Close)
		s.node.Plane, s.node.NoReplay = plane, true
		return nil
	}
	s.machine.Name, s.machine.Journal, s.machine.Logger = name, filepath.Join(s.data, "journal"), log
	s.machine.Underlay = func(ctx context.Context, c multilink.UnderlayConfig) (multilink.Underlay, error) {
		return wg.Open(ctx, c, &wg.Options{Logger: log})
	}
	h, err := host.Open(ctx, &s.machine)
	if err != nil {
		return err
	}
	env.Closing(h.Close)
	bond, err := multilink.New(multilink.Config{Host: h, Isolate: s.isolate, Logger: log})
	if err != nil {
		return err
	}
	env.Closing(bond.Close)
	s.node.Plane, s.node.Interfaces = bond, h.Links
	return nil
}
