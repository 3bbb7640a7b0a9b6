package s3_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

const (
	tooEarly = 2*time.Hour - time.Minute
	late     = 2*time.Hour + time.Minute
)

// objects counts the objects of a store by the part of its layout.
func objects(t *testing.T, server *server, prefix string) map[string]int {
	t.Helper()
	client, err := minio.New(server.Address(),
		&minio.Options{Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, "")})
	require.NoError(t, err)
	count := map[string]int{}
	for object := range client.ListObjectsIter(t.Context(), server.bucket,
		minio.ListObjectsOptions{Prefix: prefix + "/", Recursive: true}) {
		require.NoError(t, object.Err)
		count[strings.Split(object.Key, "/")[1]]++
	}
	return count
}

func sweep(t *testing.T, store *s3.Store) s3.Swept {
	t.Helper()
	swept, err := store.Sweep(t.Context())
	require.NoError(t, err)
	return swept
}

func TestStore_Sweep_removesUnreferencedContents(t *testing.T) {
	server := start(t)
	t.Run("replaced bytes go after two hours", func(t *testing.T) {
		store := open(t, configOf(server, "replaced"))
		put(t, store, "blob", []byte("old"))
		reader, err := store.Blobs().Open(t.Context(), "blob")
		require.NoError(t, err)
		defer reader.Close()
		put(t, store, "blob", []byte("new"))
		store.Advance(tooEarly)
		require.Zero(t, sweep(t, store))
		old, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Equal(t, "old", string(old))

		store.Advance(late - tooEarly)
		require.Positive(t, sweep(t, store).Blobs)
		require.Equal(t, map[string]int{"blobs": 1, "bytes": 1}, objects(t, server, "replaced"))
		require.Equal(t, "new", string(get(t, store, "blob")))
		require.Zero(t, sweep(t, store))
		_, err = reader.Seek(0, io.SeekStart)
		require.NoError(t, err)
		_, err = reader.Read(make([]byte, 1))
		require.ErrorIs(t, err, storage.ErrNotFound)
	})
	t.Run("bytes that were replaced after a sweep go too", func(t *testing.T) {
		store := open(t, configOf(server, "later"))
		put(t, store, "blob", []byte("old"))
		store.Advance(late)
		require.Zero(t, sweep(t, store))
		require.Equal(t, map[string]int{"blobs": 1, "bytes": 1}, objects(t, server, "later"))
		put(t, store, "blob", []byte("new"))
		require.Equal(t, s3.Swept{Blobs: 1}, sweep(t, store))
		require.Equal(t, "new", string(get(t, store, "blob")))
	})
	t.Run("deleted blobs leave nothing", func(t *testing.T) {
		store := open(t, configOf(server, "deleted"))
		put(t, store, "blob", contentOf("deleted", 11<<20))
		require.NoError(t, store.Blobs().Delete(t.Context(), "blob"))
		store.Advance(late)
		require.Positive(t, sweep(t, store).Blobs)
		require.Empty(t, objects(t, server, "deleted"))
	})
	t.Run("an abandoned upload goes at its age", func(t *testing.T) {
		config := configOf(server, "abandoned")
		config.UploadAge = 3 * time.Hour
		store := open(t, config)
		writer, err := store.Blobs().Create(t.Context(), "blob")
		require.NoError(t, err)
		_, err = writer.Write(contentOf("abandoned", 11<<20))
		require.NoError(t, err)
		store.Advance(late)
		require.Zero(t, sweep(t, store))
		require.Equal(t, map[string]int{"uploads": 1}, objects(t, server, "abandoned"))
		store.Advance(time.Hour)
		require.Equal(t, s3.Swept{Uploads: 1}, sweep(t, store))
		require.Empty(t, objects(t, server, "abandoned"))

		_, err = writer.Commit(t.Context())
		require.ErrorContains(t, err, "Config.UploadAge")
		require.Empty(t, keys(t, store, ""))
	})
	t.Run("an aborted upload leaves nothing", func(t *testing.T) {
		store := open(t, configOf(server, "aborted"))
		writer, err := store.Blobs().Create(t.Context(), "blob")
		require.NoError(t, err)
		_, err = writer.Write(contentOf("aborted", 11<<20))
		require.NoError(t, err)
		require.NoError(t, writer.Abort())
		require.Empty(t, objects(t, server, "aborted"))
	})
	t.Run("a commit that failed leaves nothing", func(t *testing.T) {
		gate := newGate(t, server)
		store := open(t, gate.through(configOf(server, "failed")))
		put(t, store, "blob", []byte("old"))
		gate.set(func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/") &&
				refuse(w, http.StatusForbidden, "AccessDenied")
		})
		for _, size := range []int{10, 11 << 20} {
			writer, err := store.Blobs().Create(t.Context(), "blob")
			require.NoError(t, err)
			_, err = writer.Write(contentOf("failed", size))
			require.NoError(t, err)
			_, err = writer.Commit(t.Context())
			require.ErrorContains(t, err, `commit blob "blob": `)
			require.ErrorContains(t, err, "does not allow this")
		}
		store.Advance(25 * time.Hour)
		require.Equal(t, 2, sweep(t, store).Blobs)
		require.Equal(t, map[string]int{"blobs": 1, "bytes": 1}, objects(t, server, "failed"))
		require.Equal(t, "old", string(get(t, store, "blob")))
	})
	t.Run("neighbours are left alone", func(t *testing.T) {
		neighbour := open(t, configOf(server, "neighbour"))
		put(t, neighbour, "blob", []byte("old"))
		put(t, neighbour, "blob", []byte("new"))
		store := open(t, configOf(server, "neigh"))
		require.Empty(t, keys(t, store, ""))
		store.Advance(late)
		require.Zero(t, sweep(t, store))
		require.Equal(t, 2, objects(t, server, "neighbour")["bytes"])
	})
}
