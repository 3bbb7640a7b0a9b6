//go:build !no_mongodb

package drivers

import (
	"context"

	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
)

// mongodbDriver opens databases of MongoDB.
func mongodbDriver() stores.Driver {
	return stores.Driver{Schemes: []string{"mongodb", "mongodb+srv"}, Form: mongodbForm,
		Open: func(_ context.Context, s *stores.Stores, where string) (storage.Documents, storage.Blobs, error) {
			name, err := stores.DatabaseName(where, s.Owner())
			if err != nil {
				return nil, nil, cli.Usage(err)
			}
			return openDatabase(s, stores.Database{URI: where, Name: name, SelectTimeout: s.Timeout()})
		},
		Database: openDatabase,
	}
}

// openDatabase opens a database.
func openDatabase(s *stores.Stores, d stores.Database) (storage.Documents, storage.Blobs, error) {
	store, err := mongo.New(mongo.Config{URI: d.URI, Database: d.Name, User: d.User, Password: d.Password, AuthSource: d.AuthSource,
		SelectTimeout: d.SelectTimeout, Logger: s.Logger()})
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	s.Closing(store.Close)
	s.InDatabase(store.Documents(), store.Hosts())
	s.Pinging(store.Ping)
	return store.Documents(), store.Blobs(), nil
}
