package mongo_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/storagetest"
)

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
	storagetest.Documents(t, func(t *testing.T) storage.Documents { return server.Open(t).Documents() })
}

func TestBlobs_conforms(t *testing.T) {
	t.Parallel()
	demanded(t)
	server := mongotest.Start(t)
	storagetest.Blobs(t, func(t *testing.T) storage.Blobs { return server.Open(t).Blobs() })
}

const prefix = "shared/\U0010ffff/"

func TestDocuments_conformsWithAPrefix(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	storagetest.Documents(t, func(t *testing.T) storage.Documents {
		return storage.Prefixed(server.Open(t).Documents(), prefix)
	})
}

func TestStore_Close_refusesLaterCalls(t *testing.T) {
	store := mongotest.Start(t).Open(t)
	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
	storagetest.ClosedDocuments(t, store.Documents())
	storagetest.ClosedBlobs(t, store.Blobs())
}
