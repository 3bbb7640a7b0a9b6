package mongo_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/storagetest"
)

// open opens a store on a database of its own for the length of a test.
func open(t testing.TB, server *mongotest.Server) *mongo.Store {
	t.Helper()
	return openDatabase(t, server, server.Database(t))
}

// openDatabase opens a store on a database that a test names.
func openDatabase(t testing.TB, server *mongotest.Server, database string) *mongo.Store {
	t.Helper()
	store, err := mongo.Open(t.Context(), mongo.Config{URI: server.URI, Database: database, Timeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// demanded skips a test that takes long over FerretDB, which reads a whole
// collection for most commands, unless the server was asked for.
func demanded(t *testing.T) {
	t.Helper()
	if !peertest.Required() && os.Getenv(mongotest.URIVariable) == "" {
		t.Skipf("takes long over FerretDB; %s=1 demands it", peertest.RequirePeers)
	}
}

func TestDocuments_conforms(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	storagetest.Documents(t, func(t *testing.T) storage.Documents { return open(t, server).Documents() })
}

func TestBlobs_conforms(t *testing.T) {
	t.Parallel()
	demanded(t)
	server := mongotest.Start(t)
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs { return open(t, server).Blobs() })
}

const prefix = "shared/\U0010ffff/"

func TestDocuments_conformsWithAPrefix(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	storagetest.Documents(t, func(t *testing.T) storage.Documents {
		return storage.Prefixed(open(t, server).Documents(), prefix)
	})
}

func TestStore_Close_refusesLaterCalls(t *testing.T) {
	store := open(t, mongotest.Start(t))
	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
	storagetest.ClosedDocuments(t, store.Documents())
	storagetest.ClosedBlobs(t, store.Blobs())
}
