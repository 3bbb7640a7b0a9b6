package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/internal/server"
)

// training is the training collector with the FL repository and its own folder.
type training struct {
	*collector.Collector
	web, clients net.Listener
	there        *inventory
}

// openTraining opens the collector. The caller closes it.
func openTraining(ctx context.Context, dir string, web, clients net.Listener, hosts []string, log *slog.Logger) (*training, error) {
	c, err := collector.Open(ctx, collector.Config{Dir: dir, Hosts: hosts, Logger: log})
	if err != nil {
		return nil, err
	}
	server.WarnIfExposed(log, web, "training collector")
	server.WarnIfExposed(log, clients, "Flower clients")
	there := newInventory(ctx, func(ctx context.Context) ([]console.Fact, error) {
		n, err := c.Results(ctx)
		return []console.Fact{{Name: "results", Value: uint64(n)}}, err
	})
	return &training{Collector: c, web: web, clients: clients, there: there}, nil
}

func (t *training) parts() []server.Part { return t.Parts(t.web, t.clients, nil) }

func (t *training) address() string { return "http://" + t.web.Addr().String() }

func (t *training) service() console.Service {
	totals := t.Jobs.Totals()
	jobs := 0
	for _, n := range totals.Jobs {
		jobs += n
	}
	s := console.Service{
		Name:    "Training collector",
		Summary: "Federated learning with Flower clients, and the FL repository for its results.",
		Address: t.address(),
		Links: []console.Link{
			{Text: "Jobs", Href: t.address() + "/"}, {Text: "Interface", Href: t.address() + "/docs/"},
			{Text: "Repository", Href: t.address() + "/repository/docs/"}, {Text: "Metrics", Href: t.address() + "/metrics"},
		},
		Facts: []console.Fact{
			{Name: "clients", Value: uint64(totals.Clients)},
			{Name: "jobs", Value: uint64(jobs)},
			{Name: "training", Value: uint64(totals.Jobs[flcollect.Training])},
		},
	}
	t.there.show(&s)
	if err := t.Jobs.Ready(); err != nil {
		s.Fault = err.Error()
	}
	return s
}
