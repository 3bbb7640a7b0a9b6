package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage/disk"
)

// models is the model repository with its own folder.
type models struct {
	*disk.Store
	repository *modelrepo.Store
	address    string
	there      *overview.Inventory
}

// openModels opens the repository. The caller closes it.
func openModels(ctx context.Context, dir, address string, events *overview.Events, log *slog.Logger) (*models, error) {
	store, err := datafolder.Open(ctx, dir, datafolder.ModelRepo)
	if err != nil {
		return nil, err
	}
	repository, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs(),
		TracerProvider: server.TracerProvider(ctx),
		Logger:         events.Logger(log, overview.Source{Block: modelsBlock, Level: slog.LevelWarn, Href: overview.Page("models/", "", "")}),
		Changed:        func(c modelrepo.Change) { events.Add(modelEvent(c)) }})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	there := overview.Tally(ctx, func(ctx context.Context) ([]overview.Fact, error) {
		n, err := repository.Inventory(ctx)
		return []overview.Fact{
			{Name: "namespaces", Value: n.Namespaces, Href: "models/"}, {Name: "models", Value: n.Models, Href: "models/"},
			{Name: "versions", Value: n.Versions, Href: "models/"},
		}, err
	})
	return &models{Store: store, repository: repository, address: address, there: there}, nil
}

func (m *models) block() overview.Block {
	b := overview.Block{
		Name: modelsBlock, Summary: "Namespaces, models and versions, with their content by format.",
		Href: "models/", Address: m.address,
		Links: []overview.Link{{Text: "Interface", Href: m.address + "/docs/"}, {Text: "Metrics", Href: m.address + "/metrics"}},
	}
	m.there.Show(&b)
	return b
}

// modelEvent returns a change as an event, with the page of what is left of it.
func modelEvent(c modelrepo.Change) overview.Event {
	at, info := c.Path, c.Action.Info()
	if info.Deletes {
		at = at.Parent()
	}
	e := overview.Event{At: time.Now(), Block: modelsBlock, Level: "info", Text: info.Text, Detail: c.Path.String(), Href: "models/"}
	if c.Format != "" {
		e.Detail += ", " + c.Format
	}
	// No character of a name has to be escaped.
	switch {
	case at.Version != "":
		e.Href += "v/" + at.String()
	case at.Model != "":
		e.Href += "m/" + at.String()
	case at.Namespace != "":
		e.Href += "n/" + at.String()
	}
	return e
}
