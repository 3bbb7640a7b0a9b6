package repository_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/repository/repositorytest"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

var errDead = errors.New("the process is dead")

// mortal counts the operations on stores, and dies at one of them: from then on
// nothing happens any more. Whether the last operation still happens is up to
// applied. before, if there is one, is called before each.
type mortal struct {
	dies    int64 // at which operation; 0 never
	applied bool
	before  func(operation int64)
	count   atomic.Int64
}

func (m *mortal) step(operation func() error) error {
	n := m.count.Add(1)
	if m.before != nil {
		m.before(n)
	}
	switch {
	case m.dies == 0 || n < m.dies:
		return operation()
	case n == m.dies && m.applied:
		_ = operation()
	}
	return errDead
}

type mortalDocuments struct {
	*mortal
	storage.Documents
}

func (d mortalDocuments) Get(ctx context.Context, key string) (doc storage.Document, err error) {
	err = d.step(func() error { doc, err = d.Documents.Get(ctx, key); return err })
	return doc, err
}

func (d mortalDocuments) Create(ctx context.Context, key string, data []byte) (revision storage.Revision, err error) {
	err = d.step(func() error { revision, err = d.Documents.Create(ctx, key, data); return err })
	return revision, err
}

func (d mortalDocuments) Update(ctx context.Context, key string, prev storage.Revision,
	data []byte) (revision storage.Revision, err error) {
	err = d.step(func() error { revision, err = d.Documents.Update(ctx, key, prev, data); return err })
	return revision, err
}

func (d mortalDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	return d.step(func() error { return d.Documents.Delete(ctx, key, prev) })
}

func (d mortalDocuments) List(ctx context.Context, prefix, after string, limit int) (page []storage.Document, err error) {
	err = d.step(func() error { page, err = d.Documents.List(ctx, prefix, after, limit); return err })
	return page, err
}

type mortalBlobs struct {
	*mortal
	storage.Blobs
}

func (b mortalBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	var writer storage.BlobWriter
	err := b.step(func() (err error) { writer, err = b.Blobs.Create(ctx, key); return err })
	if err != nil {
		return nil, err
	}
	return mortalWriter{b.mortal, writer}, nil
}

func (b mortalBlobs) Open(ctx context.Context, key string) (reader storage.BlobReader, err error) {
	err = b.step(func() error { reader, err = b.Blobs.Open(ctx, key); return err })
	return reader, err
}

func (b mortalBlobs) Delete(ctx context.Context, key string) error {
	return b.step(func() error { return b.Blobs.Delete(ctx, key) })
}

type mortalWriter struct {
	*mortal
	storage.BlobWriter
}

func (w mortalWriter) Commit(ctx context.Context) (info storage.BlobInfo, err error) {
	err = w.step(func() error { info, err = w.BlobWriter.Commit(ctx); return err })
	return info, err
}

// hasty is a repository that collects at once.
func hasty(t *testing.T, docs storage.Documents, blobs storage.Blobs) *repository.Store {
	t.Helper()
	store, err := repository.New(repository.Config{Documents: docs, Blobs: blobs, Grace: 1, Dir: t.TempDir()})
	require.NoError(t, err)
	return store
}

// readPickle are the weights of the result of the suite, nil if there are none.
func readPickle(t *testing.T, store *repository.Store) []byte {
	t.Helper()
	answer := rest{t, repository.NewHandler(store, nil)}.get("/training-results/weights/keras_test/version_1/12?format=pickle")
	if answer.Code == 404 {
		return nil
	}
	require.Equal(t, 200, answer.Code)
	return answer.Body.Bytes()
}

func written(t *testing.T, weights strategy.Model) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, tensor.WritePickle(&out, weights...))
	return out.Bytes()
}

func TestStore_Store_survivesACrashAtEveryStep(t *testing.T) {
	result := repositorytest.Result()
	want := written(t, result.Weights)
	for _, before := range []bool{false, true} { // whether the result is there already
		for _, applied := range []bool{false, true} {
			at := int64(1)
			for ; ; at++ {
				docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
				alive := hasty(t, docs, blobs)
				if before {
					require.NoError(t, alive.Store(t.Context(), result))
				}
				m := &mortal{dies: at, applied: applied}
				err := hasty(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}).Store(t.Context(), result)
				if m.count.Load() < at {
					require.NoError(t, err)
					break
				}
				if got := readPickle(t, alive); got != nil || before {
					require.Equal(t, want, got, "half a file is seen after death at %d", at)
				}
				if err == nil { // what was left is only garbage
					require.Equal(t, want, readPickle(t, alive), "death at %d was taken for a success", at)
				} else {
					require.ErrorIs(t, err, errDead)
					require.NotErrorIs(t, err, flcollect.ErrRefused)
				}
				_, err = alive.Collect(t.Context())
				require.NoError(t, err)
				require.NoError(t, alive.Store(t.Context(), result), "death at %d", at)
				require.Equal(t, want, readPickle(t, alive))
				_, err = alive.Collect(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, count(t, docs, "result/"))
				require.Equal(t, 1, count(t, docs, "file/"), "death at %d left a document", at)
				require.Equal(t, 2, blobCount(t, blobs), "death at %d left a blob", at)
			}
			require.Greater(t, at, int64(9))
		}
	}
}

func TestStore_deletionSurvivesACrashAtEveryStep(t *testing.T) {
	for at := int64(1); ; at++ {
		docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
		alive := hasty(t, docs, blobs)
		require.NoError(t, alive.Store(t.Context(), repositorytest.Result()))
		m := &mortal{dies: at}
		dying := rest{t, repository.NewHandler(hasty(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}), nil)}
		answer := dying.do("DELETE", "/training-results/keras_test/version_1/12", "", "")
		if answer.Code != 204 {
			require.Equal(t, 500, answer.Code)
			require.NotNil(t, readPickle(t, alive), "a record without its weights is left")
			require.Equal(t, 204, rest{t, repository.NewHandler(alive, nil)}.do("DELETE", "/training-results/keras_test/version_1/12", "", "").Code)
		}
		_, err := alive.Collect(t.Context())
		require.NoError(t, err)
		require.Zero(t, count(t, docs, ""))
		require.Zero(t, blobCount(t, blobs))
		if m.count.Load() < at {
			require.Greater(t, at, int64(4))
			return
		}
	}
}

func TestStore_Store_survivesACollectionBetweenSteps(t *testing.T) {
	result := repositorytest.Result()
	want := written(t, result.Weights)
	for at := int64(1); ; at++ {
		docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
		alive := hasty(t, docs, blobs)
		m := &mortal{before: func(n int64) {
			if n == at {
				_, err := alive.Collect(t.Context())
				require.NoError(t, err)
			}
		}}
		if err := hasty(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}).Store(t.Context(), result); err != nil {
			require.NotErrorIs(t, err, flcollect.ErrRefused)
			require.Nil(t, readPickle(t, alive), "half a file is seen")
			require.NoError(t, alive.Store(t.Context(), result))
		}
		require.Equal(t, want, readPickle(t, alive), "collected before operation %d", at)
		_, err := alive.Collect(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, readPickle(t, alive))
		require.Equal(t, 1, count(t, docs, "file/"))
		require.Equal(t, 2, blobCount(t, blobs), "after a collection before operation %d", at)
		if m.count.Load() < at {
			return
		}
	}
}

func TestStore_Collect_keepsAResultStoredBetweenSteps(t *testing.T) {
	result := repositorytest.Result()
	want := written(t, result.Weights)
	for deadAt := int64(1); deadAt <= 12; deadAt++ { // what there is to collect
		for at := int64(1); ; at++ {
			docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
			alive := hasty(t, docs, blobs)
			dead := &mortal{dies: deadAt, applied: true}
			_ = hasty(t, mortalDocuments{dead, docs}, mortalBlobs{dead, blobs}).Store(t.Context(), result)
			stored := false
			m := &mortal{before: func(n int64) {
				if n == at {
					stored = true
					require.NoError(t, alive.Store(t.Context(), result))
				}
			}}
			_, err := hasty(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}).Collect(t.Context())
			require.NoError(t, err)
			if !stored {
				break
			}
			require.Equal(t, want, readPickle(t, alive), "dead at %d, stored before operation %d", deadAt, at)
			_, err = alive.Collect(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, readPickle(t, alive))
			require.Equal(t, 2, blobCount(t, blobs))
		}
	}
}

func TestStore_Collect_keepsYoungFiles(t *testing.T) {
	docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	m := &mortal{dies: 6}
	require.ErrorIs(t, newStore(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}).Store(t.Context(), repositorytest.Result()), errDead)
	require.Equal(t, 1, count(t, docs, "file/"))
	removed, err := newStore(t, docs, blobs).Collect(t.Context())
	require.NoError(t, err)
	require.Zero(t, removed)
	removed, err = hasty(t, docs, blobs).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, removed)
}

// TestStore_Collect_asksNoClockOfOthers leaves an upload behind of a process whose clock differs.
func TestStore_Collect_asksNoClockOfOthers(t *testing.T) {
	for name, skew := range map[string]time.Duration{"behind": -48 * time.Hour, "ahead": 10_000 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
				m := &mortal{dies: 6}
				require.ErrorIs(t, hasty(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}).Store(t.Context(), repositorytest.Result()), errDead)
				left, err := docs.List(t.Context(), "file/", "", 2)
				require.NoError(t, err)
				require.Len(t, left, 1)
				var file map[string]any
				require.NoError(t, json.Unmarshal(left[0].Data, &file))
				file["touched"] = time.Now().Add(skew)
				data, err := json.Marshal(file)
				require.NoError(t, err)
				revision, err := docs.Update(t.Context(), left[0].Key, left[0].Revision, data)
				require.NoError(t, err)
				store := newStore(t, docs, blobs)
				collected := func(want int) {
					t.Helper()
					removed, err := store.Collect(t.Context())
					require.NoError(t, err)
					require.Equal(t, want, removed)
				}
				collected(0)
				time.Sleep(23 * time.Hour)
				collected(0)
				_, err = docs.Update(t.Context(), left[0].Key, revision, data) // it is written to
				require.NoError(t, err)
				time.Sleep(23 * time.Hour)
				collected(0)
				time.Sleep(23 * time.Hour)
				collected(0)
				time.Sleep(time.Hour)
				collected(1)
				require.Zero(t, count(t, docs, "file/"))
				require.Zero(t, blobCount(t, blobs))
			})
		})
	}
}

func TestStore_Run_collectsUntilItsContextEnds(t *testing.T) {
	docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	m := &mortal{dies: 6}
	require.ErrorIs(t, hasty(t, mortalDocuments{m, docs}, mortalBlobs{m, blobs}).Store(t.Context(), repositorytest.Result()), errDead)
	ctx, cancel := context.WithCancel(t.Context())
	store, ended := hasty(t, docs, blobs), make(chan error, 1)
	go func() { ended <- store.Run(ctx) }()
	require.Eventually(t, func() bool { return count(t, docs, "file/") == 0 }, 30*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

func TestStore_readersGoOnWhileWeightsAreReplaced(t *testing.T) {
	store := memory(t)
	r := rest{t, repository.NewHandler(store, nil)}
	r.is(201, `null`, r.json("POST", "/strategy", `{"strategy_name":"s"}`))
	r.is(204, "", r.put("/strategy/s", "file", "aaaa"))
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				r.put("/strategy/s", "file", []string{"aaaa", "bbbb"}[i%2])
			}
		}
	}()
	for range 300 {
		answer := r.get("/strategy/s")
		require.Equal(t, 200, answer.Code, answer.Body)
		require.Contains(t, []string{"aaaa", "bbbb"}, answer.Body.String())
	}
	close(stop)
	<-done
}

func TestStore_deletesTheFileOfARecordDeletedDuringAnUpload(t *testing.T) {
	docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	r := rest{t, repository.NewHandler(newStore(t, docs, blobs), nil)}
	r.is(201, `null`, r.json("POST", "/strategy", `{"strategy_name":"s"}`))
	body, contentType := form(t, "file", "data")
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, body[:len(body)-10])
		r.do("DELETE", "/strategy/s", "", "")
		_, _ = io.WriteString(writer, body[len(body)-10:])
		_ = writer.Close()
	}()
	r.is(404, detail("Strategy not found"), r.stream("PUT", "/strategy/s", contentType, reader))
	require.Zero(t, count(t, docs, ""))
	require.Zero(t, blobCount(t, blobs))
}

func TestNew_namesInvalidFields(t *testing.T) {
	good := repository.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()}
	for field, change := range map[string]func(*repository.Config){
		"Documents": func(c *repository.Config) { c.Documents = nil },
		"Blobs":     func(c *repository.Config) { c.Blobs = nil },
		"MaxFile":   func(c *repository.Config) { c.MaxFile = -1 },
		"MaxModel":  func(c *repository.Config) { c.MaxModel = -1 },
		"Grace":     func(c *repository.Config) { c.Grace = -1 },
		"Interval":  func(c *repository.Config) { c.Interval = -1 },
	} {
		config := good
		change(&config)
		_, err := repository.New(config)
		require.ErrorContains(t, err, "Config."+field)
	}
}
