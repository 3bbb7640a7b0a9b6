//go:build !no_mongodb

package stores

import (
	"context"

	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
)

// mongodbDriver opens databases of MongoDB.
func mongodbDriver() driver {
	return driver{schemes: []string{"mongodb", "mongodb+srv"}, form: mongodbForm,
		open: func(_ context.Context, s *Stores, where string) (storage.Documents, storage.Blobs, error) {
			name, err := DatabaseName(where, s.config.Owner)
			if err != nil {
				return nil, nil, cli.Usage(err)
			}
			return s.openDatabase(Database{URI: where, Name: name, SelectTimeout: s.timeout})
		}}
}

// openDatabase opens a database.
func (s *Stores) openDatabase(d Database) (storage.Documents, storage.Blobs, error) {
	store, err := mongo.New(mongo.Config{URI: d.URI, Database: d.Name, User: d.User, Password: d.Password, AuthSource: d.AuthSource,
		SelectTimeout: d.SelectTimeout, Logger: s.log})
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	s.closers = append(s.closers, store.Close)
	s.servers.databases = append(s.servers.databases, database{store.Documents(), store.Hosts()})
	s.servers.pings = append(s.servers.pings, store.Ping)
	return store.Documents(), store.Blobs(), nil
}
