package plugin

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/storage"
)

// compiled creates a plugin rate-limiting over counts.
func compiled(t *testing.T, counts *Counts, config string) gateway.Plugin {
	t.Helper()
	made, err := rateLimitingWith(counts).Compile(gateway.Setup{ID: "plugin", Config: []byte(config)})
	require.NoError(t, err)
	return made
}

func TestCounts_withoutDocumentsKeepNothing(t *testing.T) {
	counts, err := NewCounts(CountsConfig{})
	require.NoError(t, err)
	require.Nil(t, compiled(t, counts, `{"minute":5,"policy":"cluster"}`).Close, "there is nothing to exchange")
	require.Empty(t, counts.counters)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, counts.Run(ctx))
}

func TestCounts_windowsOfASecondAreNotShared(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	counts, err := NewCounts(CountsConfig{Documents: docs})
	require.NoError(t, err)
	compiled(t, counts, `{"second":5,"policy":"cluster"}`)
	require.Empty(t, counts.counters)
	require.NotNil(t, compiled(t, counts, `{"second":5,"hour":5,"policy":"cluster"}`).Close)
	require.Len(t, counts.counters, 1)

	a, b := newNode(t, docs, limit{0, 5}, limit{2, 100}), newNode(t, docs, limit{0, 5}, limit{2, 100})
	for range 5 {
		require.True(t, a.take(t, "a", at))
	}
	require.False(t, a.take(t, "a", at))
	a.counts.exchange(t.Context(), true)
	require.True(t, b.take(t, "a", at))
	left := b.counter.take("a", at).left
	require.Equal(t, []int64{5 - 2, 100 - 7}, left[:2])
	doc, err := docs.Get(t.Context(), countsKey("plugin", "a"))
	require.NoError(t, err)
	require.NotContains(t, string(doc.Data), "second")
	for range 3 {
		a.counter.take("a", at.Add(time.Second))
	}
	require.Empty(t, a.counts.wake, "requests far from the limit wait for the regular exchange")
}

// watched are documents whose writes and listings call functions first.
type watched struct {
	storage.Documents
	mu      sync.Mutex
	written []string
	write   func(key string)
	list    func()
}

func (w *watched) note(key string) {
	w.mu.Lock()
	w.written = append(w.written, key)
	w.mu.Unlock()
	if w.write != nil {
		w.write(key)
	}
}

func (w *watched) keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.written)
}

func (w *watched) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	w.note(key)
	return w.Documents.Create(ctx, key, data)
}

func (w *watched) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	w.note(key)
	return w.Documents.Update(ctx, key, prev, data)
}

func (w *watched) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if w.list != nil {
		w.list()
	}
	return w.Documents.List(ctx, prefix, after, limit)
}

func TestCounts_exchange_doesNotLetUrgentCallersWaitForAllOthers(t *testing.T) {
	const callers = 4 * exchangeBatch
	docs := &watched{Documents: storage.NewMemoryDocuments()}
	n := newNode(t, docs, limit{3, 1000})
	for range 2 { // the first request of each is urgent, the second is not
		n.counts.exchange(t.Context(), false)
		docs.written = nil
		for i := range callers {
			n.counter.take(fmt.Sprint(i), at)
		}
	}
	var once sync.Once
	docs.write = func(string) { once.Do(func() { n.counter.take("urgent", at) }) }
	n.counts.exchange(t.Context(), true)
	require.Len(t, docs.written, callers+1)
	require.Less(t, slices.Index(docs.written, countsKey("plugin", "urgent")), 2*exchangeBatch)
	require.Contains(t, docs.written, countsKey("plugin", "urgent"))
}

func TestCounts_Run_exchangesWhileItSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs, release := &watched{Documents: storage.NewMemoryDocuments()}, make(chan struct{})
		docs.list = func() { <-release }
		n := newNode(t, docs, limit{5, 1000})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.counts.Run(ctx) }()
		for _, client := range []string{"a", "b"} {
			n.counter.take(client, time.Now())
			time.Sleep(2 * time.Second)
			require.Contains(t, docs.keys(), countsKey("plugin", client))
		}
		close(release)
		stop()
		require.NoError(t, <-ended)
	})
}

func TestCounts_storeABoundedNumberOfCallersOfAPlugin(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	n := newNode(t, docs, limit{3, 10})
	other := newCounter([]limit{{3, 10}}, mostClients)
	n.counts.add(other, "other")
	var log bytes.Buffer
	n.counts.config.Logger, n.counts.most = slog.New(slog.NewTextHandler(&log, nil)), 3
	for i := range 5 {
		require.True(t, n.take(t, fmt.Sprint(i), at))
	}
	require.Len(t, storedKeys(t, docs), 3)
	require.EqualValues(t, 2, n.counts.exchanges[exchangeRefused].Load())
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("too many callers")))
	require.Contains(t, log.String(), "plugin=plugin")
	for range 9 {
		n.take(t, "4", at)
	}
	require.False(t, n.take(t, "4", at), "it is limited all the same")

	other.take("a", at)
	n.counts.exchange(t.Context(), true)
	require.Contains(t, storedKeys(t, docs), countsKey("other", "a"), "another plugin has room of its own")

	second := newNode(t, docs, limit{3, 10})
	second.counts.most = 3
	require.NoError(t, second.counts.sweep(t.Context(), at))
	require.False(t, second.counts.hasRoom("plugin"), "what another gateway has stored counts")
	require.True(t, second.counts.hasRoom("other"))
	require.NoError(t, second.counts.sweep(t.Context(), at.Add(72*time.Hour)))
	require.True(t, second.counts.hasRoom("plugin"))
}

// stuck are documents that cannot be deleted.
type stuck struct{ storage.Documents }

func (stuck) Delete(context.Context, string, storage.Revision) error { return storage.ErrUnavailable }

func TestCounts_sweep_knowsTheNumberAfterAFailure(t *testing.T) {
	n := newNode(t, stuck{storage.NewMemoryDocuments()}, limit{1, 10})
	for i := range 3 {
		n.take(t, fmt.Sprint(i), at)
	}
	require.ErrorIs(t, n.counts.sweep(t.Context(), at.Add(48*time.Hour)), storage.ErrUnavailable)
	require.EqualValues(t, 3, n.counts.stored["plugin"])
}

func TestCounts_exchange_beginsAnewWhereADocumentIsDamaged(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	_, err := docs.Create(t.Context(), countsKey("plugin", "a"), []byte(`{"windows":3}`))
	require.NoError(t, err)
	n := newNode(t, docs, limit{3, 10})
	var log bytes.Buffer
	n.counts.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	n.take(t, "a", at)
	n.take(t, "b", at)
	require.False(t, n.counts.away.Load(), "the store is there")
	require.Contains(t, log.String(), "begin anew")
	other := newNode(t, docs, limit{3, 10})
	other.take(t, "a", at)
	require.EqualValues(t, 10-3, other.counter.take("a", at).left[0])
}
