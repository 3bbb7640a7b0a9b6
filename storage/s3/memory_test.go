package s3_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlobWriter_boundsItsMemory(t *testing.T) {
	server := start(t)
	store := open(t, configOf(server, "memory"))
	const size = 96 << 20
	writer, err := store.Blobs().Create(t.Context(), "blob")
	require.NoError(t, err)
	defer writer.Abort()
	source := &stream{contentOf("memory", 1<<20), size}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = io.Copy(writer, source)
	require.NoError(t, err)
	info, err := writer.Commit(t.Context())
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Equal(t, int64(size), info.Size)
	// Three parts of 5 MiB, the growth of the first, and what each request takes,
	// which is more with the race detector.
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(72<<20))
}
