package modelrepo_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// counting counts what is read of documents.
type counting struct {
	storage.Documents
	calls, documents atomic.Int64
}

func (c *counting) Get(ctx context.Context, key string) (storage.Document, error) {
	c.calls.Add(1)
	c.documents.Add(1)
	return c.Documents.Get(ctx, key)
}

func (c *counting) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	page, err := c.Documents.List(ctx, prefix, after, limit)
	c.calls.Add(1)
	c.documents.Add(int64(len(page)))
	return page, err
}

// seed stores a namespace with models, as documents, because creating them one
// by one takes long.
func seed(tb testing.TB, documents storage.Documents, models int) {
	tb.Helper()
	_, err := documents.Create(tb.Context(), "namespace/w3c", []byte(`{"id":"seed"}`))
	require.NoError(tb, err)
	var writers sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		writers.Go(func() {
			for i := next.Add(1) - 1; i < int64(models); i = next.Add(1) - 1 {
				_, err := documents.Create(tb.Context(), fmt.Sprintf("model/w3c/model-%06d", i),
					[]byte(`{"id":"seed","latestVersion":"1.0"}`))
				if err != nil {
					tb.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

func TestStore_Namespace_readsOnlyTheDocumentsOfAPage(t *testing.T) {
	memory, blobs := openMemory(t)
	seed(t, memory, 5000)
	documents := &counting{Documents: memory}
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	read := func(page int) modelrepo.Set[modelrepo.Model] {
		namespace, err := s.Namespace(t.Context(), "w3c", &modelrepo.Listing{Page: page, PageSize: 10})
		require.NoError(t, err)
		return *namespace.Models
	}
	require.Len(t, read(1).Items, 10)
	for _, page := range []int{1, 2, 250, 499, 500} {
		documents.calls.Store(0)
		documents.documents.Store(0)
		set := read(page)
		require.Equal(t, int64(5000), set.TotalCount)
		require.Equal(t, fmt.Sprintf("model-%06d", (page-1)*10), set.Items[0].Name)
		require.Equal(t, int64(2), documents.calls.Load(), "page %d", page)
		require.Equal(t, int64(11), documents.documents.Load(), "page %d", page)
	}
	documents.documents.Store(0)
	require.Empty(t, read(501).Items)
	require.Equal(t, int64(1), documents.documents.Load())
}

func TestStore_Namespace_readsChangesOfOtherProcessesOneByOne(t *testing.T) {
	memory, blobs := openMemory(t)
	seed(t, memory, 3000)
	documents := &counting{Documents: memory}
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	other, err := modelrepo.New(modelrepo.Config{Documents: memory, Blobs: blobs})
	require.NoError(t, err)
	names := func() (int64, []string) {
		namespace, err := s.Namespace(t.Context(), "w3c", &modelrepo.Listing{PageSize: 4})
		require.NoError(t, err)
		var all []string
		for _, model := range namespace.Models.Items {
			all = append(all, model.Name)
		}
		return namespace.Models.TotalCount, all
	}
	names()
	change := func(count int) {
		for i := range count {
			at := modelrepo.Path{Namespace: "w3c", Model: fmt.Sprintf("a%03d", i)}
			require.NoError(t, other.CreateModel(t.Context(), at, modelrepo.ModelUpdate{}))
			if i%2 == 1 {
				require.NoError(t, other.DeleteModel(t.Context(), at))
			}
		}
	}
	clear := func(count int) {
		for i := 0; i < count; i += 2 {
			require.NoError(t, other.DeleteModel(t.Context(), modelrepo.Path{Namespace: "w3c", Model: fmt.Sprintf("a%03d", i)}))
		}
	}
	for _, c := range []struct {
		count int
		few   bool
	}{{4, true}, {20, true}, {200, false}} {
		change(c.count)
		documents.documents.Store(0)
		total, first := names()
		require.Equal(t, int64(3000+c.count/2), total)
		require.Equal(t, []string{"a000", "a002"}, first[:2])
		require.Equal(t, c.few, documents.documents.Load() < 100, "%d documents were read after %d changes",
			documents.documents.Load(), c.count)
		clear(c.count)
		total, first = names()
		require.Equal(t, int64(3000), total)
		require.Equal(t, "model-000000", first[0])
	}

	// A namespace that was deleted and made again is another one.
	var all []string
	for doc, err := range storage.All(t.Context(), memory, "model/w3c/") {
		require.NoError(t, err)
		all = append(all, doc.Key)
	}
	for _, key := range slices.Backward(all) {
		doc, err := memory.Get(t.Context(), key)
		require.NoError(t, err)
		require.NoError(t, memory.Delete(t.Context(), key, doc.Revision))
	}
	require.NoError(t, other.DeleteNamespace(t.Context(), "w3c"))
	require.NoError(t, other.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}))
	total, first := names()
	require.Zero(t, total)
	require.Empty(t, first)
}

// BenchmarkPage is one page of 100,000 models, once the names are known.
func BenchmarkPage(b *testing.B) {
	for _, kind := range []string{"memory", "disk"} {
		b.Run(kind, func(b *testing.B) {
			documents, blobs := openBench(b, kind)
			seed(b, documents, 100_000)
			s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
			require.NoError(b, err)
			for _, page := range []int{1, 1000, 2000} {
				b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						namespace, err := s.Namespace(b.Context(), "w3c",
							&modelrepo.Listing{Page: page, PageSize: modelrepo.MaxPageSize})
						if err != nil || len(namespace.Models.Items) != modelrepo.MaxPageSize {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run("first", func(b *testing.B) {
				for b.Loop() {
					s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
					if err == nil {
						_, err = s.Namespace(b.Context(), "w3c", &modelrepo.Listing{})
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// seedDescribed is seed with metadata: a rank that differs, and one of ten
// groups.
func seedDescribed(tb testing.TB, documents storage.Documents, models int) {
	tb.Helper()
	_, err := documents.Create(tb.Context(), "namespace/w3c", []byte(`{"id":"seed"}`))
	require.NoError(tb, err)
	var writers sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		writers.Go(func() {
			for i := next.Add(1) - 1; i < int64(models); i = next.Add(1) - 1 {
				data := fmt.Sprintf(`{"id":"seed","metadata":{"group":"g%d","rank":"%06d","title":"Model number `+
					`%d"},"latestVersion":"1.0"}`, i%10, int64(models)-i, i)
				if _, err := documents.Create(tb.Context(), fmt.Sprintf("model/w3c/model-%06d", i), []byte(data)); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

func TestStore_Namespace_boundsTheMemoryOfAScan(t *testing.T) {
	documents, blobs := openMemory(t)
	if testing.Short() {
		t.Skip("measures memory")
	}
	const models = 30_000
	seedDescribed(t, documents, models)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	for _, l := range []modelrepo.Listing{
		{SortBy: "metadata.rank"},
		{SortBy: "metadata.rank", Descending: true, Page: 3},
		{SortBy: "metadata.rank", Page: models / 20},
		{Filters: []modelrepo.Filter{{Field: "metadata.group", Value: "g3"}}, SortBy: "metadata.rank", PageSize: 50},
	} {
		namespace, err := s.Namespace(t.Context(), "w3c", &l)
		require.NoError(t, err)
		set := namespace.Models
		group := int64(len(l.Filters))
		require.Equal(t, models/(1+9*group), set.TotalCount)
		require.Len(t, set.Items, set.PageSize)
		for i, m := range set.Items {
			rank := int64(1 + (set.Page-1)*set.PageSize + i)
			switch {
			case group > 0:
				rank = 10*rank - 3
			case l.Descending:
				rank = models + 1 - rank
			}
			require.Equal(t, fmt.Sprintf("%06d", rank), m.Metadata["rank"][0])
		}
	}
}

// BenchmarkScannedPage is one page of 100,000 models with metadata that only
// their documents can tell.
func BenchmarkScannedPage(b *testing.B) {
	filter := []modelrepo.Filter{{Field: "metadata.group", Value: "g3"}}
	for _, kind := range []string{"memory", "disk"} {
		b.Run(kind, func(b *testing.B) {
			documents, blobs := openBench(b, kind)
			seedDescribed(b, documents, 100_000)
			s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
			require.NoError(b, err)
			for _, c := range []struct {
				name    string
				listing modelrepo.Listing
			}{
				{"descending", modelrepo.Listing{Descending: true, Page: 1000}},
				{"by-name-filter", modelrepo.Listing{Filters: []modelrepo.Filter{{Field: "model", Value: "model-050000"}}}},
				{"filter-rare", modelrepo.Listing{Filters: []modelrepo.Filter{{Field: "metadata.rank", Value: "000100"}}}},
				{"filter-tenth", modelrepo.Listing{Filters: filter}},
				{"filter-tenth-page-200", modelrepo.Listing{Filters: filter, Page: 200, PageSize: modelrepo.MaxPageSize}},
				{"sort", modelrepo.Listing{SortBy: "metadata.rank"}},
				{"sort-page-2000", modelrepo.Listing{SortBy: "metadata.rank", Page: 2000, PageSize: modelrepo.MaxPageSize}},
			} {
				b.Run(c.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						namespace, err := s.Namespace(b.Context(), "w3c", &c.listing)
						if err != nil || len(namespace.Models.Items) == 0 {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}
