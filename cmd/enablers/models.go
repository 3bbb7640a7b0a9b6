package main

import (
	"errors"
	"log/slog"
	"net"

	"github.com/iotenablers/enablers/internal/console"
	"github.com/iotenablers/enablers/internal/datafolder"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage/disk"
)

// models is the model repository over a folder of its own.
type models struct {
	*disk.Store
	repository *modelrepo.Store
	address    string
}

// openModels opens the repository. The caller closes it.
func openModels(dir string, at net.Listener, log *slog.Logger) (*models, error) {
	store, err := datafolder.Open(dir, datafolder.ModelRepo)
	if err != nil {
		return nil, err
	}
	repository, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs(), Logger: log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &models{Store: store, repository: repository, address: "http://" + at.Addr().String()}, nil
}

func (m *models) service() console.Service {
	s := m.repository.Stats()
	return console.Service{
		Name:    "Model repository",
		Summary: "Namespaces, models, versions, and their content by format.",
		Address: m.address,
		Links: []console.Link{
			{Text: "Interface", Href: m.address + "/docs/"}, {Text: "Namespaces", Href: m.address + "/"},
			{Text: "Metrics", Href: m.address + "/metrics"},
		},
		Facts: []console.Fact{{Name: "uploads", Value: s.Uploads}, {Name: "downloads", Value: s.Downloads}},
	}
}
