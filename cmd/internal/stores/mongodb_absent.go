//go:build no_mongodb

package stores

import "github.com/iotenablers/enablers/storage"

func mongodbDriver() driver {
	return absent("no_mongodb", mongodbForm, "mongodb", "mongodb+srv")
}

func (s *Stores) openDatabase(Database) (storage.Documents, storage.Blobs, error) {
	return nil, nil, errAbsent("no_mongodb")
}
