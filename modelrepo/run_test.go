package modelrepo_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
)

func TestStore_Run_collectsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		documents, blobs := openMemory(t)
		s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
		require.NoError(t, err)
		prepare(t, s)
		for _, format := range []string{"gone", "kept"} {
			_, err = s.Upload(t.Context(), crashVersion, format, strings.NewReader(format), nil)
			require.NoError(t, err)
		}
		require.NoError(t, s.DeleteContent(t.Context(), crashVersion, "gone", modelrepo.Condition{}))

		// What a process leaves that crashAt while it creates and uploads.
		crashed := &crasher{crashAt: 3}
		dying, err := modelrepo.New(modelrepo.Config{Documents: crashingDocuments{crashed, documents},
			Blobs: crashingBlobs{crashed, blobs}})
		require.NoError(t, err)
		require.Error(t, dying.CreateNamespace(t.Context(), "half", modelrepo.NamespaceUpdate{}))
		crashed.crashAt, crashed.applyLast = crashed.count.Load()+5, true
		_, err = dying.Upload(t.Context(), crashVersion, "half", strings.NewReader("half"), nil)
		require.Error(t, err)

		count := func() (found int) {
			for range blobs.List(t.Context(), "") {
				found++
			}
			return found
		}
		require.Equal(t, 3, count())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		require.Equal(t, 3, count(), "nothing goes before the grace period has passed")
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		require.Equal(t, 1, count())
		cancel()
		require.NoError(t, <-ended)
		requireClean(t, newWithoutGrace(t, documents, blobs), documents, blobs, "at the end")
		require.Equal(t, "kept", observe(t, s)["kept"])
	})
}
