package scale_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// What uploads, downloads and pages ask of the store does not depend on how many models there
// are. What a collection asks does.
func TestRepository_costsTheSameHoweverManyModels(t *testing.T) {
	heading("A model repository at its store, by the number of models",
		"models", "calls for an upload", "blobs", "calls for a download", "blobs",
		"calls for a page of 50", "documents read", "documents read by a collection")
	var upload, download, page tally
	for i, models := range sizes([]int{100, 1000}, []int{10_000, 100_000}) {
		counted := &meter{}
		s, err := modelrepo.New(modelrepo.Config{
			Documents: counted.documents(storage.NewMemoryDocuments()), Blobs: counted.blobs(storage.NewMemoryBlobs()),
		})
		require.NoError(t, err)
		require.NoError(t, s.CreateNamespace(t.Context(), "bench", modelrepo.NamespaceUpdate{}))
		for n := range models {
			at := modelrepo.Path{Namespace: "bench", Model: fmt.Sprintf("model-%06d", n)}
			require.NoError(t, s.CreateModel(t.Context(), at, modelrepo.ModelUpdate{}))
			at.Version = "1"
			require.NoError(t, s.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
		}
		at := func(n int) modelrepo.Path {
			return modelrepo.Path{Namespace: "bench", Model: fmt.Sprintf("model-%06d", n), Version: "1"}
		}
		const times = 50
		each := func(do func(n int)) tally {
			began := counted.read()
			for n := range times {
				do(n)
			}
			return counted.read().minus(began).over(times)
		}
		nowUpload := each(func(n int) {
			_, err := s.Upload(t.Context(), at(n), "onnx", strings.NewReader(strings.Repeat(fmt.Sprint(n), 1000)), nil)
			require.NoError(t, err)
		})
		nowDownload := each(func(n int) {
			content, err := s.Open(t.Context(), at(n), "onnx")
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, content)
			require.NoError(t, err)
			require.NoError(t, content.Close())
		})
		list := func(int) {
			_, err := s.Namespace(t.Context(), "bench", &modelrepo.Listing{PageSize: 50})
			require.NoError(t, err)
		}
		list(0)
		nowPage := each(list)
		collection := counted.read()
		_, err = s.Collect(t.Context())
		require.NoError(t, err)
		collection = counted.read().minus(collection)
		if i > 0 {
			require.InEpsilon(t, calls(upload), calls(nowUpload), 0.05)
			require.InEpsilon(t, calls(download), calls(nowDownload), 0.05)
			require.InDelta(t, calls(page), calls(nowPage), 1)
		}
		upload, download, page = nowUpload, nowDownload, nowPage
		row(models, calls(upload), upload.blobs, calls(download), download.blobsRead, calls(page), page.documents, collection.documents)
	}
}

// calls are those of documents.
func calls(t tally) float64 { return t.gets + t.lists + t.writes }
