package s3_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// benchSize is 64 MiB, or what ENABLERS_BENCH_MIB says.
func benchSize(b *testing.B) int64 {
	mib, err := strconv.ParseInt(os.Getenv("ENABLERS_BENCH_MIB"), 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		mib = 64
	}
	require.Positive(b, mib)
	return mib << 20
}

// stream repeats one random mebibyte.
type stream struct {
	chunk []byte
	rest  int64
}

func (s *stream) Read(p []byte) (int, error) {
	if s.rest == 0 {
		return 0, io.EOF
	}
	at := int(s.rest % int64(len(s.chunk)))
	n := copy(p[:min(int64(len(p)), s.rest)], s.chunk[at:])
	s.rest -= int64(n)
	return n, nil
}

// watchHeap reports the greatest heap that it sees while the benchmark runs.
func watchHeap(b *testing.B) {
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapInuse)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	b.Cleanup(func() {
		close(stop)
		b.ReportMetric(float64(<-done)/(1<<20), "peak-heap-MiB")
	})
}

// BenchmarkTransfer moves blobs through a store and, beside it, objects of the
// same size through the library by itself.
func BenchmarkTransfer(b *testing.B) {
	server := withBucket(b, s3test.StartMinIOProcess(b)) // the load of tests is not measured
	config := configOf(server, "bench")
	config.PartSize = 0
	store, err := s3.Open(b.Context(), config)
	require.NoError(b, err)
	defer store.Close()
	client, err := minio.New(server.Address(),
		&minio.Options{Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, "")})
	require.NoError(b, err)
	size, chunk := benchSize(b), contentOf("bench", 1<<20)
	each := func(name string, move func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			watchHeap(b)
			b.SetBytes(size)
			for b.Loop() {
				move(b)
			}
		})
	}
	each("up/library", func(b *testing.B) {
		_, err := client.PutObject(b.Context(), config.Bucket, "plain", &stream{chunk, size}, -1,
			minio.PutObjectOptions{PartSize: 16 << 20, NumThreads: 2, ConcurrentStreamParts: true})
		require.NoError(b, err)
	})
	each("up/store", func(b *testing.B) {
		writer, err := store.Blobs().Create(b.Context(), "blob")
		require.NoError(b, err)
		defer writer.Abort()
		_, err = io.Copy(writer, &stream{chunk, size})
		require.NoError(b, err)
		info, err := writer.Commit(b.Context())
		require.NoError(b, err)
		require.Equal(b, size, info.Size)
	})
	each("down/library", func(b *testing.B) {
		object, err := client.GetObject(b.Context(), config.Bucket, "plain", minio.GetObjectOptions{})
		require.NoError(b, err)
		n, err := io.Copy(io.Discard, object)
		require.NoError(b, errors.Join(err, object.Close()))
		require.Equal(b, size, n)
	})
	each("down/store", func(b *testing.B) {
		reader, err := store.Blobs().Open(b.Context(), "blob")
		require.NoError(b, err)
		n, err := io.Copy(io.Discard, reader)
		require.NoError(b, errors.Join(err, reader.Close()))
		require.Equal(b, size, n)
	})
}
