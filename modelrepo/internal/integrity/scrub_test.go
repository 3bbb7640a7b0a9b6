package integrity_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/storage"
)

func TestScrubber_Run_keepsTheScrubWhileItLooksForAbsentBlobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const contents = 300
		docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
		log := slog.New(slog.DiscardHandler)
		// Each process needs longer to read what is referred to than another one waits for it.
		all := func(ctx context.Context) iter.Seq2[integrity.Content, error] {
			return func(yield func(integrity.Content, error) bool) {
				for i := range contents {
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
					if ctx.Err() != nil || !yield(integrity.Content{Blob: fmt.Sprintf("blob/%03d", i), Size: 1}, nil) { // absent
						return
					}
				}
			}
		}
		checker := func() *integrity.Checker { return integrity.New(docs, blobs, &transfer.Copier{}, log) }
		for _, name := range []string{"first", "second"} {
			s := &integrity.Scrubber{Checker: checker(), Contents: all, Me: name, Logger: log, Wake: make(chan struct{}, 1),
				Interval: 24 * time.Hour, BytesPerSecond: 1}
			go s.Run(t.Context())
			synctest.Wait()
		}
		time.Sleep(contents * 5 / 2 * time.Second)
		reader := checker()
		state, err := reader.State(t.Context())
		require.NoError(t, err)
		require.Equal(t, "first", state.By)
		time.Sleep(contents * time.Second)
		state, err = reader.State(t.Context())
		require.NoError(t, err)
		require.False(t, state.Running())
		require.Equal(t, []int64{contents, contents}, []int64{state.Contents, state.Damaged})
		_, err = reader.Marks(t.Context())
		require.NoError(t, err)
		require.Equal(t, contents, reader.Damaged())
	})
}
