package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage/disk"
)

// models is the model repository with its own folder.
type models struct {
	*disk.Store
	repository *modelrepo.Store
	address    string
	there      *inventory
}

// openModels opens the repository. The caller closes it.
func openModels(ctx context.Context, dir, address string, log *slog.Logger) (*models, error) {
	store, err := datafolder.Open(ctx, dir, datafolder.ModelRepo)
	if err != nil {
		return nil, err
	}
	repository, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs(), Logger: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	there := newInventory(ctx, func(ctx context.Context) ([]console.Fact, error) {
		n, err := repository.Inventory(ctx)
		return []console.Fact{
			{Name: "namespaces", Value: n.Namespaces}, {Name: "models", Value: n.Models}, {Name: "versions", Value: n.Versions},
		}, err
	})
	return &models{Store: store, repository: repository, address: address, there: there}, nil
}

func (m *models) service() console.Service {
	s := console.Service{
		Name:    "Model repository",
		Summary: "Namespaces, models, versions, and their content by format.",
		Address: m.address,
		Links: []console.Link{
			{Text: "Interface", Href: m.address + "/docs/"}, {Text: "Namespaces", Href: m.address + "/"},
			{Text: "Metrics", Href: m.address + "/metrics"},
		},
	}
	m.there.show(&s)
	return s
}
