package mongo_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 2 * time.Minute

// openLosing opens a store whose messages can be lost, and another on the same
// database whose are not.
func openLosing(t *testing.T) (*losing, storage.Documents, storage.Documents) {
	t.Helper()
	server := mongotest.Start(t)
	proxy := newLosing(t, server)
	database := server.Database(t)
	config := server.Config(database)
	config.URI = proxy.uri
	store, err := mongo.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return proxy, store.Documents(), server.OpenDatabase(t, database).Documents()
}

func TestDocuments_recognisesAWriteWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	proxy, docs, direct := openLosing(t)
	ctx := t.Context()

	proxy.lose("insert", false, nil)
	first, err := docs.Create(ctx, "key", []byte(`1`))
	require.NoError(t, err)
	doc, err := direct.Get(ctx, "key")
	require.NoError(t, err)
	require.Equal(t, storage.Document{Key: "key", Revision: first, Data: []byte(`1`)}, doc)

	proxy.lose("update", false, nil)
	second, err := docs.Update(ctx, "key", first, []byte(`2`))
	require.NoError(t, err)

	proxy.lose("update", true, nil) // which never arrives
	third, err := docs.Update(ctx, "key", second, []byte(`3`))
	require.NoError(t, err)
	doc, err = direct.Get(ctx, "key")
	require.NoError(t, err)
	require.Equal(t, storage.Document{Key: "key", Revision: third, Data: []byte(`3`)}, doc)

	// Replaced by another before it is known that it happened.
	replace := func() {
		doc, err := direct.Get(ctx, "key")
		if err == nil {
			_, err = direct.Update(ctx, "key", doc.Revision, []byte(`5`))
		}
		if err != nil {
			t.Errorf("replace: %v", err)
		}
	}
	proxy.lose("update", false, replace)
	fourth, err := docs.Update(ctx, "key", third, []byte(`4`))
	require.NoError(t, err)
	_, err = docs.Update(ctx, "key", fourth, []byte(`6`))
	require.ErrorIs(t, err, storage.ErrConflict)
}

func TestDocuments_reportsNoConflictForAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	proxy, docs, direct := openLosing(t)
	ctx := t.Context()
	isUnknown := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, storage.ErrUnavailable)
		for _, certain := range []error{storage.ErrConflict, storage.ErrExists, storage.ErrNotFound} {
			require.NotErrorIs(t, err, certain)
		}
	}

	proxy.lose("insert", true, nil)
	_, err := docs.Create(ctx, "key", []byte(`1`))
	isUnknown(err)
	_, err = direct.Get(ctx, "key")
	require.ErrorIs(t, err, storage.ErrNotFound, "an insert was sent a second time")

	revision, err := docs.Create(ctx, "key", []byte(`1`))
	require.NoError(t, err)
	replaceTwice := func() {
		for range 2 {
			doc, err := direct.Get(ctx, "key")
			if err == nil {
				_, err = direct.Update(ctx, "key", doc.Revision, []byte(`"other"`))
			}
			if err != nil {
				t.Errorf("replace: %v", err)
			}
		}
	}
	proxy.lose("update", false, replaceTwice)
	_, err = docs.Update(ctx, "key", revision, []byte(`2`))
	isUnknown(err)

	doc, err := direct.Get(ctx, "key")
	require.NoError(t, err)
	proxy.lose("delete", false, nil)
	isUnknown(docs.Delete(ctx, "key", doc.Revision))
}

func TestStore_worksAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	server := mongotest.StartProcess(t)
	config := server.Config("outage")
	config.SelectTimeout = 2 * time.Second // each call takes that long in an outage
	store, err := mongo.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, patience, 20*time.Millisecond)
	docs, blobs := store.Documents(), store.Blobs()
	revision, err := docs.Create(t.Context(), "key", []byte(`1`))
	require.NoError(t, err)
	put(t, blobs, "blob", []byte("kept"))
	reader, err := blobs.Open(t.Context(), "blob")
	require.NoError(t, err)

	server.Kill()
	writer, err := blobs.Create(t.Context(), "other")
	require.NoError(t, err)
	_, err = writer.Write([]byte("bytes"))
	require.NoError(t, err)
	var calls sync.WaitGroup // at once: each of them waits as long as it may
	for call, do := range map[string]func() error{
		"Commit": func() error { _, err := writer.Commit(t.Context()); return err },
		"Get":    func() error { _, err := docs.Get(t.Context(), "key"); return err },
		"Create": func() error { _, err := docs.Create(t.Context(), "new", []byte(`1`)); return err },
		"Update": func() error { _, err := docs.Update(t.Context(), "key", revision, []byte(`2`)); return err },
		"List":   func() error { _, err := docs.List(t.Context(), "", "", 0); return err },
		"Stat":   func() error { _, err := blobs.Stat(t.Context(), "blob"); return err },
		"Read":   func() error { _, err := reader.Read(make([]byte, 4)); return err },
		"Delete": func() error { return docs.Delete(t.Context(), "key", revision) },
		"Ping":   func() error { return store.Ping(t.Context()) },
	} {
		calls.Go(func() {
			err := do()
			assert.ErrorIs(t, err, storage.ErrUnavailable, call)
			assert.ErrorContains(t, err, server.Address(), call)
		})
	}
	calls.Wait()

	server.Restart()
	require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, patience, 20*time.Millisecond)
	doc, err := docs.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, storage.Document{Key: "key", Revision: revision, Data: []byte(`1`)}, doc)
	next, err := docs.Update(t.Context(), "key", revision, []byte(`2`))
	require.NoError(t, err)
	require.NotEqual(t, revision, next)
	require.Equal(t, []byte("kept"), get(t, blobs, "blob"))
}

func TestDocuments_neverReusesARevision(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	database := server.Database(t)
	seen := map[storage.Revision]bool{}
	for range 3 { // the second and third open what others have written
		first, second := server.OpenDatabase(t, database).Documents(), server.OpenDatabase(t, database).Documents()
		for range 5 {
			for _, docs := range []storage.Documents{first, second} {
				revision, err := docs.Create(t.Context(), "key", []byte(`1`))
				require.NoError(t, err)
				require.False(t, seen[revision], "revision %d again", revision)
				seen[revision] = true
				require.NoError(t, docs.Delete(t.Context(), "key", revision))
			}
		}
	}
}

func TestDocuments_endsACallWithItsContext(t *testing.T) {
	t.Parallel()
	_, docs, _ := openLosing(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	_, err := docs.Create(ctx, "key", []byte(`1`))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
