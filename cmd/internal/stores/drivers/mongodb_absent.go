//go:build no_mongodb

package drivers

import (
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/storage"
)

func mongodbDriver() stores.Driver {
	d := absent("no_mongodb", mongodbForm, "mongodb", "mongodb+srv")
	d.Database = func(*stores.Stores, stores.Database) (storage.Documents, storage.Blobs, error) {
		return nil, nil, errAbsent("no_mongodb")
	}
	return d
}
