package s3_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
	"github.com/iotenablers/enablers/storage/storagetest"
)

// server is a MinIO with a bucket for the length of a test.
type server struct {
	*s3test.MinIO
	bucket string
}

// start returns the server that tests share.
func start(t *testing.T) *server {
	t.Helper()
	return withBucket(t, s3test.StartMinIO(t))
}

func withBucket(t testing.TB, minio *s3test.MinIO) *server {
	t.Helper()
	return &server{minio, minio.Bucket(t)}
}

// configOf returns the configuration of a store in the server's bucket.
func configOf(server *server, prefix string) s3.Config {
	return s3.Config{
		Endpoint: server.Address(), Bucket: server.bucket, Prefix: prefix, Insecure: true, CreateBucket: true,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, SweepInterval: -1, PartSize: 5 << 20,
	}
}

// open opens a store for the length of a test.
func open(t testing.TB, config s3.Config) *s3.Store {
	t.Helper()
	store, err := s3.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// The prefixes are such that none is the beginning of another's.
func TestBlobs_conforms(t *testing.T) {
	server := start(t)
	var stores atomic.Int64
	fresh := func(t *testing.T) storage.Blobs {
		return open(t, configOf(server, fmt.Sprintf("store-%d", stores.Add(1)))).Blobs()
	}
	t.Run("alone", func(t *testing.T) { storagetest.Blobs(t, fresh) })
	t.Run("wrapped", func(t *testing.T) {
		storagetest.Blobs(t, func(t *testing.T) storage.Blobs {
			shared := fresh(t)
			for _, key := range []string{
				"shared/\U0010ffff",
				"shared/\U0010ffff.",
				"shared/\U0010ffff0",
				"shared",
				"a",
				"\U0010ffff",
			} {
				writer, err := shared.Create(t.Context(), key)
				require.NoError(t, err)
				_, err = writer.Commit(t.Context())
				require.NoError(t, err)
			}
			return storage.PrefixedBlobs(shared, "shared/\U0010ffff/")
		})
	})
	t.Run("longest prefix", func(t *testing.T) {
		store := open(t, configOf(server, strings.Repeat("p", 179)))
		key := strings.Repeat("k", storage.MaxKeyLength)
		put(t, store, key, []byte("long"))
		require.Equal(t, []string{key}, keys(t, store, key))
	})
	t.Run("whole bucket", func(t *testing.T) {
		config := configOf(server, "")
		config.Bucket = server.Bucket(t)
		store := open(t, config)
		put(t, store, "a", []byte("1"))
		require.Equal(t, []string{"a"}, keys(t, store, ""))
	})
}

func TestStore_Close_refusesLaterCalls(t *testing.T) {
	server := start(t)
	store := open(t, configOf(server, "closed"))
	put(t, store, "blob", []byte("content"))
	reader, err := store.Blobs().Open(t.Context(), "blob")
	require.NoError(t, err)
	writer, err := store.Blobs().Create(t.Context(), "other")
	require.NoError(t, err)

	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
	storagetest.ClosedBlobs(t, store.Blobs())
	_, err = reader.Read(make([]byte, 1))
	require.ErrorIs(t, err, storage.ErrClosed)
	_, err = writer.Write([]byte("x"))
	require.ErrorIs(t, err, storage.ErrClosed)
	_, err = writer.Commit(t.Context())
	require.ErrorIs(t, err, storage.ErrClosed)
	_, err = store.Sweep(t.Context())
	require.ErrorIs(t, err, storage.ErrClosed)
	require.ErrorIs(t, store.Ping(t.Context()), storage.ErrClosed)
}
