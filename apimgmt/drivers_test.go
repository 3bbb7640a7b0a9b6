package apimgmt_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// Two publishers on one database and bucket publish at one time. Everything that either has
// acknowledged is listed at both, once, with its file.
func TestPublisher_Publish_ofSeveralOverServers(t *testing.T) {
	documents := storage.Prefixed(mongotest.Start(t).Open(t).Documents(), "publisher/")
	blobs := storage.PrefixedBlobs(s3test.StartMinIO(t).Open(t).Blobs(), "publisher/")
	gateway := apimgmt.NewMemoryGateway(nil)
	var publishers []*apimgmt.Publisher
	for range 2 {
		p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: documents, Blobs: blobs, Gateway: gateway, GatewayURL: "http://gateway.example"})
		require.NoError(t, err)
		publishers = append(publishers, p)
	}
	const each = 5
	errs := make([]error, len(publishers)*each)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			name := fmt.Sprintf("api-%d", i)
			_, errs[i] = publishers[i%2].Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(apitest.File("1", "/"+name))})
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for _, p := range publishers {
		records, more, err := p.List(t.Context(), apimgmt.Query{})
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, records, len(errs))
		for i := range errs {
			stored, err := p.Definition(t.Context(), fmt.Sprintf("api-%d", i), "1")
			require.NoError(t, err)
			require.NotNil(t, stored)
		}
		require.NoError(t, p.Ready(t.Context()))
	}

	// One of two deletes of the same version succeeds, and both publishers forget it.
	deleted := make([]error, 2)
	for i, p := range publishers {
		group.Go(func() { deleted[i] = p.Delete(t.Context(), "api-0", "", apimgmt.Condition{}) })
	}
	group.Wait()
	require.True(t, deleted[0] == nil || deleted[1] == nil, "%v", deleted)
	for _, p := range publishers {
		_, err := p.Get(t.Context(), "api-0")
		require.ErrorIs(t, err, apimgmt.ErrNotFound)
	}
}
