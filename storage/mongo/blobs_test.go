package mongo_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

func put(t *testing.T, blobs storage.Blobs, key string, content []byte) {
	t.Helper()
	writer, err := blobs.Create(t.Context(), key)
	require.NoError(t, err)
	_, err = writer.Write(content)
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
}

func get(t *testing.T, blobs storage.Blobs, key string) []byte {
	t.Helper()
	reader, err := blobs.Open(t.Context(), key)
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	return content
}

// database opens the database beside the store, with the driver alone.
func database(t *testing.T, server *mongotest.Server, name string) *driver.Database {
	t.Helper()
	client, err := driver.Connect(options.Client().ApplyURI(server.URI))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Disconnect(t.Context())) })
	return client.Database(name)
}

// clock is a clock that stands still.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) advance(by time.Duration) { c.at = c.at.Add(by) }

// sweeping is a store with such a clock, and its database.
type sweeping struct {
	*mongo.Store
	clock clock
	raw   *driver.Database
}

func openSweeping(t *testing.T) *sweeping {
	t.Helper()
	server := mongotest.Start(t)
	name := server.Database(t)
	s := &sweeping{Store: server.OpenDatabase(t, name), clock: clock{time.Now()}, raw: database(t, server, name)}
	s.SetClock(s.clock.now)
	return s
}

// after lets time go by, sweeps, and counts what is left.
func (s *sweeping) after(t *testing.T, pause time.Duration) (files, chunks, records int64) {
	t.Helper()
	s.clock.advance(pause)
	require.NoError(t, s.Sweep(t.Context()))
	counts := map[string]int64{}
	for _, name := range []string{"fs.files", "fs.chunks", "blobs"} {
		count, err := s.raw.Collection(name).CountDocuments(t.Context(), bson.D{})
		require.NoError(t, err)
		counts[name] = count
	}
	return counts["fs.files"], counts["fs.chunks"], counts["blobs"]
}

func TestBlobs_removesReplacedAndDeletedContents(t *testing.T) {
	t.Parallel()
	s := openSweeping(t)
	old := bytes.Repeat([]byte("old"), 200_000) // three chunks
	put(t, s.Blobs(), "key", old)
	reader, err := s.Blobs().Open(t.Context(), "key")
	require.NoError(t, err)
	begun := make([]byte, 10)
	_, err = io.ReadFull(reader, begun)
	require.NoError(t, err)
	put(t, s.Blobs(), "key", []byte("new"))

	files, chunks, records := s.after(t, mongo.Grace-time.Second)
	require.Equal(t, [3]int64{2, 4, 1}, [3]int64{files, chunks, records})
	rest, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, old, append(begun, rest...))

	files, chunks, records = s.after(t, 2*time.Second)
	require.Equal(t, [3]int64{1, 1, 1}, [3]int64{files, chunks, records})
	_, err = reader.Seek(0, io.SeekStart)
	require.NoError(t, err)
	_, err = reader.Read(begun)
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.Equal(t, []byte("new"), get(t, s.Blobs(), "key"))

	require.NoError(t, s.Blobs().Delete(t.Context(), "key"))
	files, chunks, records = s.after(t, mongo.Grace)
	require.Equal(t, [3]int64{}, [3]int64{files, chunks, records})
}

func TestBlobs_removesAnUploadThatIsNeverCommitted(t *testing.T) {
	t.Parallel()
	s := openSweeping(t)
	large := make([]byte, 5<<20) // more than a writer holds back
	forgotten, err := s.Blobs().Create(t.Context(), "key")
	require.NoError(t, err)
	_, err = forgotten.Write(large)
	require.NoError(t, err)
	aborted, err := s.Blobs().Create(t.Context(), "key")
	require.NoError(t, err)
	_, err = aborted.Write(large)
	require.NoError(t, err)
	require.NoError(t, aborted.Abort())

	_, chunks, _ := s.after(t, mongo.Grace)
	require.EqualValues(t, 16, chunks, "of the upload that goes on")
	_, chunks, records := s.after(t, mongo.UploadTime)
	require.EqualValues(t, 16, chunks, "a write of it may be on its way")
	require.EqualValues(t, 1, records)
	_, err = forgotten.Write(large)
	require.ErrorContains(t, err, "given up")
	_, err = forgotten.Commit(t.Context())
	require.ErrorContains(t, err, "given up")
	_, chunks, records = s.after(t, mongo.Grace)
	require.Zero(t, chunks)
	require.Zero(t, records)
}

func TestBlobs_keepsAnUploadThatIsBeingCommitted(t *testing.T) {
	t.Parallel()
	s := openSweeping(t)
	writer, err := s.Blobs().Create(t.Context(), "key")
	require.NoError(t, err)
	_, err = writer.Write(make([]byte, 5<<20))
	require.NoError(t, err)
	s.after(t, mongo.UploadTime-time.Second)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	files, chunks, _ := s.after(t, 2*mongo.UploadTime)
	require.EqualValues(t, 1, files)
	require.EqualValues(t, 21, chunks)
	require.Len(t, get(t, s.Blobs(), "key"), 5<<20)
}

func TestBlobs_areReadableAsGridFS(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	name := server.Database(t)
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	put(t, server.OpenDatabase(t, name).Blobs(), "a/key", content)
	var got bytes.Buffer
	size, err := database(t, server, name).GridFSBucket().DownloadToStreamByName(t.Context(), "a/key", &got)
	require.NoError(t, err)
	require.EqualValues(t, len(content), size)
	require.True(t, bytes.Equal(content, got.Bytes()))
}

func TestBlobs_keepsALargeBlobOutOfMemory(t *testing.T) {
	// Not parallel: it looks at the heap.
	demanded(t)
	blobs := mongotest.Start(t).Open(t).Blobs()
	const size, most = 20 << 20, 16 << 20
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i ^ i>>8 ^ i>>16)
	}
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	isBounded := func(done int) {
		t.Helper()
		if done%(4<<20) == 0 {
			require.Less(t, heap(), before+most, "after %d bytes", done)
		}
	}
	writer, err := blobs.Create(t.Context(), "large")
	require.NoError(t, err)
	defer func() { require.NoError(t, writer.Abort()) }()
	for done := 0; done < size; done += len(block) {
		_, err := writer.Write(block)
		require.NoError(t, err)
		isBounded(done)
	}
	info, err := writer.Commit(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, size, info.Size)

	reader, err := blobs.Open(t.Context(), "large")
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	got := make([]byte, len(block))
	for done := 0; done < size; done += len(block) {
		_, err := io.ReadFull(reader, got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(block, got), "at %d", done)
		isBounded(done)
	}
	n, err := reader.Read(got)
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
}
