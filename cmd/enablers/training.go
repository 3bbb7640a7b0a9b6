package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/iotenablers/enablers/cmd/internal/collector"
	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/server"
)

// training is the training collector with the FL repository and its own folder.
type training struct {
	*collector.Collector
	web, clients net.Listener
	access       *door.Door
	there        *inventory
}

// openTraining opens the collector. The caller closes it.
func (s *settings) openTraining(ctx context.Context, dir string, at *listeners, d *door.Door, log *slog.Logger) (*training, error) {
	config := collector.Config{Dir: dir, Hosts: s.door.Hosts(), Authorize: d.Authorizer(), TLS: d.TLS(), Logger: log,
		Wrap: func(interfaces http.Handler) http.Handler { return d.Handler(interfaces) },
		AuthorizeClient: func(ctx context.Context, c flower.Caller) (string, error) {
			return d.Admit(ctx, access.Credentials{Address: c.Address, Token: c.Token, TLS: c.TLS}, httpapi.Reader)
		}}
	if s.clientAccess == openToClients {
		config.AuthorizeClient = nil
		if !server.IsLoopback(at.clients) {
			log.Warn("EVERY FLOWER CLIENT MAY TRAIN that reaches the server", "address", at.clients.Addr().String())
		}
	}
	c, err := collector.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	there := newInventory(ctx, func(ctx context.Context) ([]console.Fact, error) {
		n, err := c.Results(ctx)
		return []console.Fact{{Name: "results", Value: uint64(n)}}, err
	})
	return &training{Collector: c, web: at.collector, clients: at.clients, access: d, there: there}, nil
}

func (t *training) parts() []server.Part { return t.Parts(t.access.Listener(t.web), t.clients, nil) }

func (t *training) address() string { return t.access.URL(t.web) }

// grpc returns the URL at which Flower clients connect.
func (t *training) grpc() string {
	if t.access.TLS() != nil {
		return "grpcs://" + t.clients.Addr().String()
	}
	return "grpc://" + t.clients.Addr().String()
}

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
