package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage/disk"
)

// training is the training collector with the FL repository and its own folder.
type training struct {
	*collector.Collector
	*disk.Store
	web, clients net.Listener
	fleet        net.Listener        // nil if there is none
	keys         *collector.NodeKeys // nil without a file of them
	access       *door.Door
	there        *overview.Inventory
}

// openTraining opens the collector. The caller closes it.
func (s *settings) openTraining(ctx context.Context, dir string, at *listeners, d *door.Door, events *overview.Events, log *slog.Logger,
) (*training, error) {
	log = events.Logger(log, overview.Source{Block: trainingBlock, Href: overview.Page("training/", "live/", "job")})
	if s.clientAccess.IsOpen() {
		collector.WarnIfExposed(log, at.clients)
	}
	store, err := datafolder.Open(ctx, dir, datafolder.FLCollector)
	if err != nil {
		return nil, err
	}
	var keys *collector.NodeKeys
	if s.fleetKeys != "" {
		if keys, err = collector.OpenNodeKeys(ctx, s.fleetKeys); err != nil {
			return nil, errors.Join(cli.Usage(fmt.Errorf("-flcollector-fleet-keys: %w", err)), store.Close())
		}
	}
	c, err := collector.New(collector.Config{
		Documents: store.Documents(), Blobs: store.Blobs(), Dir: dir, Door: d,
		Fleet: at.fleet, FleetKeys: keys, OpenToNodes: s.clientAccess.IsOpen() || d.IsOpen(), Apps: s.apps,
		OpenToClients: s.clientAccess.IsOpen(), Clients: at.clients.Addr(), Hosts: s.door.Hosts(),
		TracerProvider: server.TracerProvider(ctx), Logger: log,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	c.SayNodes(log, at.taken)
	there := overview.Tally(ctx, func(ctx context.Context) ([]overview.Fact, error) {
		n, err := c.Results(ctx)
		return []overview.Fact{{Name: "results", Value: uint64(n), Href: "training/"}}, err
	})
	return &training{Collector: c, Store: store, web: at.collector, clients: at.clients, fleet: at.fleet, keys: keys,
		access: d, there: there}, nil
}

func (t *training) parts() []server.Part {
	parts := t.Parts(t.web, t.clients, nil)
	if t.keys != nil {
		parts = append(parts, server.Reloading("keys of SuperNodes", func(ctx context.Context) error { return t.keys.Reload(ctx) }))
	}
	return parts
}

func (t *training) address() string { return t.access.URL(t.web) }

// grpc returns the URL at which Flower clients connect.
func (t *training) grpc() string { return t.ClientsURL(t.clients) }

func (t *training) block() overview.Block {
	totals := t.Jobs.Totals()
	jobs := 0
	for _, n := range totals.Jobs {
		jobs += n
	}
	const page = "training/"
	b := overview.Block{
		Name: trainingBlock, Summary: "Federated learning with Flower clients, and the FL repository for its results.",
		Href: page, Address: t.address(),
		Links: []overview.Link{
			{Text: "Interface", Href: t.address() + "/docs/"}, {Text: "FL repository", Href: t.address() + "/repository/docs/"},
			{Text: "Metrics", Href: t.address() + "/metrics"},
		},
		Facts: []overview.Fact{
			{Name: "jobs", Value: uint64(jobs), Href: page}, {Name: "training now", Value: uint64(totals.Jobs[report.Training]), Href: page},
			{Name: "clients", Value: uint64(totals.Clients), Href: page},
		},
	}
	t.there.Show(&b)
	if err := t.Jobs.Ready(); err != nil {
		b.Fault = err.Error()
	}
	return b
}
