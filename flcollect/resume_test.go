package flcollect_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

var errDead = errors.New("the store is dead")

// fuse lets some writes pass, and then the whole storage dies: at the last write,
// which may have happened or not.
type fuse struct {
	mu      sync.Mutex
	left    int
	happens bool // the last write, though it fails
	blown   chan struct{}
}

func newFuse(writes int, happens bool) *fuse {
	return &fuse{left: writes, happens: happens, blown: make(chan struct{})}
}

func (f *fuse) write(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return errDead
	}
	if f.left--; f.left > 0 {
		return do()
	}
	defer close(f.blown)
	if f.happens {
		do()
	}
	return errDead
}

func (f *fuse) read() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return errDead
	}
	return nil
}

type fusedDocuments struct {
	storage.Documents
	*fuse
}

func (d fusedDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	if err := d.read(); err != nil {
		return storage.Document{}, err
	}
	return d.Documents.Get(ctx, key)
}

func (d fusedDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if err := d.read(); err != nil {
		return nil, err
	}
	return d.Documents.List(ctx, prefix, after, limit)
}

func (d fusedDocuments) Create(ctx context.Context, key string, data []byte) (revision storage.Revision, err error) {
	err = d.write(func() (err error) {
		revision, err = d.Documents.Create(ctx, key, data)
		return err
	})
	return revision, err
}

func (d fusedDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (revision storage.Revision, err error) {
	err = d.write(func() (err error) {
		revision, err = d.Documents.Update(ctx, key, prev, data)
		return err
	})
	return revision, err
}

func (d fusedDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	return d.write(func() error { return d.Documents.Delete(ctx, key, prev) })
}

type fusedBlobs struct {
	storage.Blobs
	*fuse
}

func (b fusedBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	if err := b.read(); err != nil {
		return nil, err
	}
	return b.Blobs.Open(ctx, key)
}

func (b fusedBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	if err := b.read(); err != nil {
		return func(yield func(storage.BlobInfo, error) bool) { yield(storage.BlobInfo{}, err) }
	}
	return b.Blobs.List(ctx, prefix)
}

func (b fusedBlobs) Delete(ctx context.Context, key string) error {
	return b.write(func() error { return b.Blobs.Delete(ctx, key) })
}

func (b fusedBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	if err := b.read(); err != nil {
		return nil, err
	}
	w, err := b.Blobs.Create(ctx, key)
	return fusedWriter{w, b.fuse}, err
}

type fusedWriter struct {
	storage.BlobWriter
	*fuse
}

// Write is that of the blob, not of the fuse.
func (w fusedWriter) Write(data []byte) (int, error) { return w.BlobWriter.Write(data) }

func (w fusedWriter) Commit(ctx context.Context) (info storage.BlobInfo, err error) {
	err = w.write(func() (err error) {
		info, err = w.BlobWriter.Commit(ctx)
		return err
	})
	return info, err
}

// adam is a job whose strategy carries state from round to round.
func adam(rounds int) jobconfig.Config {
	conf := config(rounds, 2)
	conf.Strategy = "FedAdam"
	return conf
}

func TestServer_Run_resumesAfterACrashAtAnyWrite(t *testing.T) {
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

	for _, happens := range []bool{false, true} {
		died := true
		for writes := 1; died; writes++ {
			require.Less(t, writes, 100)
			t.Run(fmt.Sprintf("write %d, done %v", writes, happens), func(t *testing.T) {
				n := &neighbours{}
				documents, blobs, f := storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), newFuse(writes, happens)
				first := newWorld(t, flcollect.Config{
					Documents: fusedDocuments{documents, f}, Blobs: fusedBlobs{blobs, f}, Initial: zeros, Repository: n, Orchestrator: n, Park: time.Hour,
				})
				join(t, first)
				acknowledged := first.Start(t.Context(), "job", adam(rounds)) == nil
				died = first.dies(t, f)
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
				status = second.untilState(t, "job", report.Finished)
				require.Equal(t, want, second.weights(t, "job"))
				require.EqualValues(t, 1, status.Run)
				require.True(t, status.Stored)
				second.hasRounds(t, rounds)
				result, _ := n.stored("job")
				require.Equal(t, want, numbers(result.Weights))
				require.Equal(t, rounds, result.Rounds)
				require.NotNil(t, result.FinalLoss)
				delivered := map[string]bool{}
				for _, entry := range n.all() {
					delivered[entry] = true
				}
				require.Equal(t, map[string]bool{"round 1": true, "round 2": true, "round 3": true, "store job": true}, delivered)
				require.Equal(t, 1, countBlobs(t, blobs), "what the crash left is collected")
				second.audited(t, rounds)
			})
		}
	}
}

// audited checks that the log is whole, and that it has each round that counts,
// and perhaps attempts that the crash has made vain.
func (w *world) audited(t *testing.T, rounds int) {
	t.Helper()
	lines := w.auditLog(t, "job")
	_, err := report.VerifyAudit(joined(lines))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(lines), rounds)
	require.LessOrEqual(t, len(lines), rounds+2)
	counted, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	model := ""
	for i, round := range counted {
		line := readLine(t, lines[round.Audit.Line-1])
		require.Equal(t, i+1, line.Round)
		require.Equal(t, report.Counts{Kept: 2}, line.Counts)
		require.True(t, model == "" || model == line.Model, "rounds that count follow each other")
		model = line.Result
	}
}

// dies waits until the storage is dead, or the server has nothing more to do, and
// reports which.
func (w *world) dies(t *testing.T, f *fuse) (dead bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		select {
		case <-f.blown:
			dead = true
			return true
		default:
		}
		status, err := w.Status(t.Context(), "job")
		totals := w.Totals()
		return err == nil && status.State.Ended() && totals.Undelivered == 0 && totals.Clients == 0
	}, patience, time.Millisecond)
	return dead
}

// hasRounds checks that every round is on record once.
func (w *world) hasRounds(t *testing.T, count int) {
	t.Helper()
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Len(t, rounds, count)
	for i, r := range rounds {
		require.Equal(t, i+1, r.Number)
		require.True(t, r.Aggregated)
	}
}

func countBlobs(t *testing.T, blobs storage.Blobs) int {
	t.Helper()
	count := 0
	for _, err := range blobs.List(t.Context(), "") {
		require.NoError(t, err)
		count++
	}
	return count
}

func TestServer_Run_outlastsAFailingStorage(t *testing.T) {
	f := &flaky{}
	w := newWorld(t, flcollect.Config{Documents: flakyDocuments{storage.NewMemoryDocuments(), f}, Initial: zeros})
	slow, gate := gated(1, 1)
	w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	w.untilState(t, "job", report.Training)
	f.set(true)
	gate <- struct{}{}
	status := w.until(t, "job", "in trouble", func(s flcollect.Status) bool { return s.Error != "" })
	require.Equal(t, "storage: the store is dead", status.Error)
	require.ErrorContains(t, w.Ready(), `store job "job": the store is dead`)
	f.set(false)
	gate <- struct{}{}
	status = w.untilState(t, "job", report.Finished)
	require.Empty(t, status.Error)
	require.NoError(t, w.Ready())
	require.Equal(t, []float64{2, 2, 2, 3}, w.weights(t, "job"))
}

// flaky is whether a storage takes writes.
type flaky struct {
	mu   sync.Mutex
	down bool
}

func (f *flaky) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

type flakyDocuments struct {
	storage.Documents
	*flaky
}

// Update happens, but its answer is lost.
func (d flakyDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	revision, err := d.Documents.Update(ctx, key, prev, data)
	if d.down {
		return 0, errDead
	}
	return revision, err
}

func TestServer_Run_interruptsAJobWithADamagedCheckpoint(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Park: time.Hour})
	slow, gate := gated(1, 1)
	_, leave := w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(2, 1), 1, 1)))
	gate <- struct{}{}
	w.until(t, "job", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
	leave()
	w.end()
	for blob, err := range w.blobs.List(t.Context(), "checkpoint/") {
		require.NoError(t, err)
		writer, err := w.blobs.Create(t.Context(), blob.Key)
		require.NoError(t, err)
		_, err = writer.Write(make([]byte, blob.Size))
		require.NoError(t, err)
		_, err = writer.Commit(t.Context())
		require.NoError(t, err)
	}
	again := newWorld(t, flcollect.Config{Documents: w.documents, Blobs: w.blobs})
	status := again.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "go on after round 1")
	require.Contains(t, status.Error, "damaged checkpoint")
}

func TestServer_Run_leavesAnUnreadableJobAlone(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	w.end()
	_, err := w.documents.Create(t.Context(), "job/bad", []byte(`{"round":"?"}`))
	require.NoError(t, err)
	writer, err := w.blobs.Create(t.Context(), "checkpoint/of/bad")
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	again := newWorld(t, flcollect.Config{Documents: w.documents, Blobs: w.blobs, Initial: zeros})
	require.ErrorContains(t, again.Start(t.Context(), "bad", config(1, 1)), `read job "bad"`)
	jobs, next, err := again.Jobs(t.Context(), "", "", 1)
	require.NoError(t, err)
	require.Equal(t, "bad", next)
	require.Equal(t, report.Inactive, jobs[0].State)
	require.Contains(t, jobs[0].Error, `read job "bad"`)
	again.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, again.Start(t.Context(), "good", config(1, 1)))
	again.untilState(t, "good", report.Finished)
	_, err = w.blobs.Stat(t.Context(), "checkpoint/of/bad")
	require.NoError(t, err)
}
