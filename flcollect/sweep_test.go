package flcollect_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/storage"
)

// skewedBlobs are of a store whose clock differs from that of its users.
type skewedBlobs struct {
	storage.Blobs
	by time.Duration
}

func (b skewedBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	return func(yield func(storage.BlobInfo, error) bool) {
		for info, err := range b.Blobs.List(ctx, prefix) {
			if info.Modified = info.Modified.Add(b.by); !yield(info, err) {
				return
			}
		}
	}
}

// TestServer_Run_asksNoClockWhichBlobsNothingNames stores blobs as another server does, which
// names them a little later.
func TestServer_Run_asksNoClockWhichBlobsNothingNames(t *testing.T) {
	for name, skew := range map[string]time.Duration{"behind": -48 * time.Hour, "ahead": 48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			onFakeClock(t, func(t *testing.T, lan network) {
				s := newSite(lan, flcollect.Config{Lease: time.Hour})
				s.blobs = skewedBlobs{s.blobs, skew}
				keys := []string{"context/5f4a", "checkpoint/another-run/91c2"}
				there := func(want bool) {
					t.Helper()
					for _, key := range keys {
						_, err := s.blobs.Stat(t.Context(), key)
						require.Equal(t, want, err == nil, key)
						require.True(t, want || errors.Is(err, storage.ErrNotFound), key)
					}
				}
				for _, key := range keys {
					w, err := s.blobs.Create(t.Context(), key)
					require.NoError(t, err)
					_, err = w.Write([]byte("content"))
					require.NoError(t, err)
					_, err = w.Commit(t.Context())
					require.NoError(t, err)
				}
				s.add(t, "a")
				<-time.After(23 * time.Hour)
				there(true)
				<-time.After(24 * time.Hour)
				there(false)
			})
		})
	}
}
