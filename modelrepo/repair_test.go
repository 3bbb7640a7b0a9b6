package modelrepo_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

func TestStore_Repair_removesTracesFromBeforeTheClockWasSetBack(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	_, err = documents.Create(t.Context(), "namespace/new",
		[]byte(`{"id": "b", "mark": {"kind": "pending", "by": "x", "since": "2100-01-01T00:00:00Z"}}`))
	require.NoError(t, err)
	done, err := s.Repair(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, done.Operations)
	_, err = documents.Get(t.Context(), "namespace/new")
	require.ErrorIs(t, err, storage.ErrNotFound)
}

// change replaces a part of the only document whose key begins with the prefix.
func change(t *testing.T, docs storage.Documents, prefix, before, after string) {
	t.Helper()
	found, err := docs.List(t.Context(), prefix, "", 2)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, string(found[0].Data), before)
	data := strings.Replace(string(found[0].Data), before, after, 1)
	_, err = docs.Update(t.Context(), found[0].Key, found[0].Revision, []byte(data))
	require.NoError(t, err)
}

// futureBlobs were all stored before the clock was set back.
type futureBlobs struct{ storage.Blobs }

func (b futureBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	return func(yield func(storage.BlobInfo, error) bool) {
		for info, err := range b.Blobs.List(ctx, prefix) {
			info.Modified = info.Modified.AddDate(100, 0, 0)
			if !yield(info, err) {
				return
			}
		}
	}
}

func TestStore_Collect_freesContentFromBeforeTheClockWasSetBack(t *testing.T) {
	docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	s, err := modelrepo.New(modelrepo.Config{Documents: docs, Blobs: futureBlobs{blobs}})
	require.NoError(t, err)
	model := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	at := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1"}
	require.NoError(t, s.CreateNamespace(t.Context(), at.Namespace, modelrepo.NamespaceUpdate{}))
	require.NoError(t, s.CreateModel(t.Context(), model, modelrepo.ModelUpdate{}))
	require.NoError(t, s.CreateVersion(t.Context(), at, modelrepo.VersionUpdate{}))
	_, err = s.Upload(t.Context(), at, "f", strings.NewReader("content"), nil)
	require.NoError(t, err)

	tidy := func() (int, modelrepo.Collected) {
		repaired, err := s.Repair(t.Context())
		require.NoError(t, err)
		collected, err := s.Collect(t.Context())
		require.NoError(t, err)
		return repaired.Uploads, collected
	}
	stray, err := blobs.Create(t.Context(), "blob/stray")
	require.NoError(t, err)
	_, err = stray.Commit(t.Context())
	require.NoError(t, err)
	ticket := func(renewed time.Time) string {
		return `"uploads":[{"id":"a","blob":"blob/stray","renewed":"` + renewed.UTC().Format(time.RFC3339) + `"}],"formats"`
	}
	// Content that is referred to stays, and so does a blob with a ticket that is only a little ahead.
	soon, far := ticket(time.Now().Add(time.Hour)), ticket(time.Now().AddDate(100, 0, 0))
	change(t, docs, "version/", `"formats"`, soon)
	for range 3 {
		uploads, collected := tidy()
		require.Zero(t, uploads)
		require.Zero(t, collected)
	}

	change(t, docs, "version/", soon, far)
	uploads, _ := tidy()
	require.Equal(t, 1, uploads)
	_, collected := tidy()
	require.Equal(t, modelrepo.Collected{Blobs: 1}, collected)

	require.NoError(t, s.DeleteContent(t.Context(), at, "f", modelrepo.Condition{}))
	_, collected = tidy()
	require.Zero(t, collected)
	change(t, docs, "content/", `"unreferenced":"`, `"unreferenced":"2100-01-01T00:00:00Z","was":"`)
	_, collected = tidy()
	require.Equal(t, 1, collected.Contents)
}

// contested are documents in which another process takes over the creation of the namespace w3c once, after
// the change was recorded in its parent, and finishes it ten seconds later.
type contested struct {
	storage.Documents
	t     *testing.T
	since time.Time // of its mark, by its clock
	taken bool
}

func (d *contested) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	revision, err := d.Documents.Update(ctx, key, prev, data)
	if key != "root" || d.taken {
		return revision, err
	}
	d.taken = true
	doc, readErr := d.Get(ctx, "namespace/w3c")
	require.NoError(d.t, readErr)
	mine, writeErr := d.Documents.Update(ctx, doc.Key, doc.Revision,
		[]byte(`{"id": "b", "mark": {"kind": "pending", "by": "x", "since": "`+d.since.UTC().Format(time.RFC3339)+`"}}`))
	require.NoError(d.t, writeErr)
	time.AfterFunc(10*time.Second, func() {
		if _, err := d.Documents.Update(context.WithoutCancel(ctx), doc.Key, mine, []byte(`{"id": "b"}`)); err != nil {
			d.t.Errorf("the creation of the other process was taken over: %v", err)
		}
	})
	return revision, err
}

func TestStore_CreateNamespace_leavesTheCreationOfALiveProcessWhateverItsClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			docs := storage.NewMemoryDocuments()
			_, err := docs.Create(t.Context(), "root", []byte(`{"id": "r"}`))
			require.NoError(t, err)
			_, err = docs.Create(t.Context(), "namespace/w3c", []byte(`{"id": "a", "mark": {"kind": "pending", "by": "y"}}`))
			require.NoError(t, err)
			s, err := modelrepo.New(modelrepo.Config{
				Documents: &contested{Documents: docs, t: t, since: time.Now().Add(ahead)}, Blobs: storage.NewMemoryBlobs(),
			})
			require.NoError(t, err)
			require.ErrorIs(t, s.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}), modelrepo.ErrExists)
			time.Sleep(time.Minute)
		})
	}
}
