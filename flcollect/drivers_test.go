package flcollect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// A server that died at a write is followed by another on the same database and bucket, which
// ends with the model of an undisturbed one in memory.
func TestServer_Run_resumesOverServers(t *testing.T) {
	const rounds = 3
	join := func(t *testing.T, w *world) {
		w.join(t, trainer{step: 1, examples: 10})
		w.join(t, trainer{step: 4, examples: 20})
	}
	undisturbed := newWorld(t, flcollect.Config{Initial: zeros})
	join(t, undisturbed)
	require.NoError(t, undisturbed.Start(t.Context(), "job", adam(rounds)))
	undisturbed.untilState(t, "job", report.Finished)
	want := undisturbed.weights(t, "job")

	database, bucket := mongotest.Start(t), s3test.StartMinIO(t)
	for _, writes := range []int{1, 2, 5, 8, 11, 1000} {
		t.Run(fmt.Sprintf("write %d", writes), func(t *testing.T) {
			n := &neighbours{}
			documents := storage.Prefixed(database.Open(t).Documents(), "collector/")
			blobs, f := storage.PrefixedBlobs(bucket.Open(t).Blobs(), "collector/"), newFuse(writes, writes%2 == 0)
			first := newWorld(t, flcollect.Config{
				Documents: fusedDocuments{documents, f}, Blobs: fusedBlobs{blobs, f}, Initial: zeros, Repository: n, Orchestrator: n, Park: time.Hour,
			})
			join(t, first)
			acknowledged := first.Start(t.Context(), "job", adam(rounds)) == nil
			require.Equal(t, writes < 1000, first.dies(t, f))
			first.end()

			second := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Initial: zeros, Repository: n, Orchestrator: n})
			join(t, second)
			status, err := second.Status(t.Context(), "job")
			require.NoError(t, err)
			if acknowledged {
				require.NotEqual(t, report.Inactive, status.State)
			} else if status.State == report.Inactive {
				require.NoError(t, second.Start(t.Context(), "job", adam(rounds)))
			}
			second.untilState(t, "job", report.Finished)
			require.Equal(t, want, second.weights(t, "job"))
			second.hasRounds(t, rounds)
			second.audited(t, rounds)
			require.Equal(t, 1, countBlobs(t, blobs), "what the crash left is collected")
		})
	}
}
