package disk_test

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// stores runs a benchmark over the store in memory and the one on disk.
func stores[S any](b *testing.B, memory S, onDisk func(*disk.Store) S, run func(b *testing.B, store S)) {
	b.Run("memory", func(b *testing.B) { run(b, memory) })
	b.Run("disk", func(b *testing.B) { run(b, onDisk(open(b, b.TempDir()))) })
}

func documentStores(b *testing.B, run func(b *testing.B, docs storage.Documents)) {
	stores(b, storage.Documents(storage.NewMemoryDocuments()),
		func(s *disk.Store) storage.Documents { return s.Documents() }, run)
}

func blobStores(b *testing.B, run func(b *testing.B, blobs storage.Blobs)) {
	stores(b, storage.Blobs(storage.NewMemoryBlobs()), func(s *disk.Store) storage.Blobs { return s.Blobs() }, run)
}

var benchData = []byte(`{"name":"weather","tags":["edge","demo"],"mapping":"` + fmt.Sprintf("%0400d", 7) + `"}`)

// BenchmarkDocumentsUpdate is one writer that waits for each write.
func BenchmarkDocumentsUpdate(b *testing.B) {
	documentStores(b, func(b *testing.B, docs storage.Documents) {
		revision, err := docs.Create(b.Context(), "document", benchData)
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if revision, err = docs.Update(b.Context(), "document", revision, benchData); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDocumentsUpdateTogether is 64 writers a CPU, each with a document
// of its own, so that transactions are shared.
func BenchmarkDocumentsUpdateTogether(b *testing.B) {
	var writers atomic.Int64
	documentStores(b, func(b *testing.B, docs storage.Documents) {
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			key := fmt.Sprintf("document/%d", writers.Add(1))
			revision, err := docs.Create(b.Context(), key, benchData)
			for err == nil && pb.Next() {
				revision, err = docs.Update(b.Context(), key, revision, benchData)
			}
			if err != nil {
				b.Error(err)
			}
		})
	})
}

func BenchmarkDocumentsGet(b *testing.B) {
	documentStores(b, func(b *testing.B, docs storage.Documents) {
		for i := range 100 {
			_, err := docs.Create(b.Context(), fmt.Sprintf("document/%d", i), benchData)
			require.NoError(b, err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := docs.Get(b.Context(), "document/50"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBlobWrite(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			chunk := make([]byte, min(size, 1<<20))
			blobStores(b, func(b *testing.B, blobs storage.Blobs) {
				b.SetBytes(int64(size))
				for b.Loop() {
					writer, err := blobs.Create(b.Context(), "blob")
					require.NoError(b, err)
					for done := 0; done < size; done += len(chunk) {
						if _, err := writer.Write(chunk); err != nil {
							b.Fatal(err)
						}
					}
					_, err = writer.Commit(b.Context())
					require.NoError(b, err)
				}
			})
		})
	}
}

func BenchmarkBlobRead(b *testing.B) {
	blobStores(b, func(b *testing.B, blobs storage.Blobs) {
		const size = 16 << 20
		writer, err := blobs.Create(b.Context(), "blob")
		require.NoError(b, err)
		_, err = writer.Write(make([]byte, size))
		require.NoError(b, err)
		_, err = writer.Commit(b.Context())
		require.NoError(b, err)
		b.SetBytes(size)
		for b.Loop() {
			reader, err := blobs.Open(b.Context(), "blob")
			require.NoError(b, err)
			_, err = io.Copy(io.Discard, reader)
			require.NoError(b, err)
			require.NoError(b, reader.Close())
		}
	})
}
