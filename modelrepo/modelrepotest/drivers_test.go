package modelrepotest_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo/modelrepotest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// slowRounds is the number of rounds of races over a server. Each round has many
// interleavings, since every step waits for the network.
const slowRounds = 12

// onMongo opens databases of one server.
func onMongo(server *mongotest.Server) modelrepotest.Open {
	return func(t *testing.T) (storage.Documents, storage.Blobs) {
		store := server.Open(t)
		return store.Documents(), store.Blobs()
	}
}

// onS3 opens parts of one bucket, each with a folder for the documents.
func onS3(t *testing.T) modelrepotest.Open {
	server := s3test.StartMinIO(t)
	name := server.Bucket(t)
	var opened atomic.Int64
	return func(t *testing.T) (storage.Documents, storage.Blobs) {
		bucket, err := s3.Open(t.Context(), s3.Config{
			Endpoint: server.Address(), Bucket: name, Prefix: fmt.Sprintf("store-%d", opened.Add(1)), CreateBucket: true,
			Insecure: true, AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, SweepInterval: -1, PartSize: 5 << 20,
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, bucket.Close()) })
		folder, err := disk.Open(t.Context(), t.TempDir(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, folder.Close()) })
		return folder.Documents(), bucket.Blobs()
	}
}

func TestRun_overMongo(t *testing.T) {
	modelrepotest.Run(t, onMongo(mongotest.Start(t)))
}

func TestRaces_overMongo(t *testing.T) {
	modelrepotest.Races(t, onMongo(mongotest.Start(t)), slowRounds)
}

func TestRun_overS3AndDisk(t *testing.T) {
	modelrepotest.Run(t, onS3(t))
}

func TestRaces_overS3AndDisk(t *testing.T) {
	modelrepotest.Races(t, onS3(t), slowRounds)
}
