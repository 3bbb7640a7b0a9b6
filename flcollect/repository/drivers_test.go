package repository_test

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/repository/repositorytest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

func TestStore_passesTheSuiteOverServers(t *testing.T) {
	database, bucket := mongotest.Start(t), s3test.StartMinIO(t)
	for name, blobs := range map[string]func(t *testing.T) storage.Blobs{
		"blobs in the database": nil, "blobs in a bucket": func(t *testing.T) storage.Blobs { return bucket.Open(t).Blobs() },
	} {
		t.Run(name, func(t *testing.T) {
			repositorytest.Run(t, func(t *testing.T) (flcollect.Repository, http.Handler) {
				in := database.Open(t)
				content := storage.Blobs(in.Blobs())
				if blobs != nil {
					content = blobs(t)
				}
				store := newStore(t, storage.Prefixed(in.Documents(), "repository/"), storage.PrefixedBlobs(content, "repository/"))
				return store, repository.NewHandler(store, nil)
			})
		})
	}
}
