package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// node is a gateway that counts with others.
type node struct {
	counts  *Counts
	counter *counter
}

func newNode(t *testing.T, docs storage.Documents, limits ...limit) *node {
	t.Helper()
	counts, err := NewCounts(CountsConfig{Documents: docs})
	require.NoError(t, err)
	n := &node{counts, newCounter(limits, mostClients)}
	counts.add(n.counter, "plugin")
	return n
}

// take counts a request, and makes the exchange that it asks for.
func (n *node) take(t *testing.T, client string, at time.Time) bool {
	t.Helper()
	passed := !n.counter.take(client, at).refused
	select {
	case <-n.counts.wake:
		n.counts.exchange(t.Context(), false)
	default:
	}
	return passed
}

var at = time.Date(2028, 1, 1, 0, 0, 10, 0, time.UTC)

func TestCounts_boundWhatAllGatewaysAdmit(t *testing.T) {
	const nodes = 3
	for _, most := range []int64{1, 2, 7, 100, 1000} {
		docs := storage.NewMemoryDocuments()
		var all []*node
		for range nodes {
			all = append(all, newNode(t, docs, limit{period: 2, most: most}))
		}
		admitted := int64(0)
		for i := range 3 * most {
			if all[i%nodes].take(t, "a", at) {
				admitted++
			}
		}
		require.GreaterOrEqual(t, admitted, most, "a limit of %d", most)
		// The first request of a caller is announced, and does not wait.
		bound := most + (nodes-1)*max(1, (most+3)/4)
		require.LessOrEqual(t, admitted, bound, "a limit of %d", most)
		for _, n := range all {
			n.counts.exchange(t.Context(), true)
			require.False(t, n.take(t, "a", at), "after an exchange no gateway admits more")
			require.True(t, n.take(t, "a", at.Add(time.Hour)) || most < nodes, "the next hour is a new window")
		}
	}
}

func TestCounts_regularExchangesShareWhatIsFarFromTheLimit(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	a, b := newNode(t, docs, limit{period: 4, most: 1000}), newNode(t, docs, limit{period: 4, most: 1000})
	for range 100 {
		a.take(t, "a", at)
	}
	a.counts.exchange(t.Context(), true)
	b.take(t, "a", at)
	require.EqualValues(t, 1000-102, b.counter.take("a", at).left[0])
	require.EqualValues(t, 1000-1, b.counter.take("b", at).left[0], "another caller has counts of its own")
}

func TestCounts_outlastTheGateway(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	first := newNode(t, docs, limit{period: 3, most: 3}, limit{period: 4, most: 4})
	for range 3 {
		require.True(t, first.take(t, "a", at))
	}
	second := newNode(t, docs, limit{period: 3, most: 3}, limit{period: 4, most: 4})
	second.take(t, "a", at)
	require.False(t, second.take(t, "a", at))
	require.False(t, second.take(t, "a", at.Add(24*time.Hour)), "the month is full")
	require.True(t, second.take(t, "a", at.Add(40*24*time.Hour)))
}

// flaky fails writes, before or after they are made.
type flaky struct {
	storage.Documents
	before, after atomic.Bool
}

func (f *flaky) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if f.before.Load() {
		return 0, storage.ErrUnavailable
	}
	revision, err := f.Documents.Create(ctx, key, data)
	if f.after.Load() {
		return 0, storage.ErrUnavailable
	}
	return revision, err
}

func (f *flaky) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if f.before.Load() {
		return 0, storage.ErrUnavailable
	}
	revision, err := f.Documents.Update(ctx, key, prev, data)
	if f.after.Load() {
		return 0, storage.ErrUnavailable
	}
	return revision, err
}

func TestCounts_countALostAnswerOnce(t *testing.T) {
	docs := &flaky{Documents: storage.NewMemoryDocuments()}
	a, b := newNode(t, docs, limit{period: 3, most: 1000}), newNode(t, docs, limit{period: 3, most: 1000})
	docs.after.Store(true)
	a.take(t, "a", at)
	a.take(t, "a", at) // not yet sent
	docs.after.Store(false)
	docs.before.Store(true)
	a.counts.exchange(t.Context(), true)
	docs.before.Store(false)
	for range 3 {
		a.take(t, "a", at)
		a.counts.exchange(t.Context(), true)
	}
	b.take(t, "a", at)
	require.EqualValues(t, 1000-7, b.counter.take("a", at).left[0], "five there, two here")
}

func TestCounts_Run_goesOnWithoutTheStoreAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := &flaky{Documents: storage.NewMemoryDocuments()}
		var log bytes.Buffer
		counts, err := NewCounts(CountsConfig{Documents: docs, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		c := newCounter([]limit{{period: 5, most: 10}}, mostClients)
		counts.add(c, "plugin")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- counts.Run(ctx) }()
		docs.before.Store(true)
		for range 10 {
			require.False(t, c.take("a", at).refused)
		}
		require.True(t, c.take("a", at).refused, "it counts alone")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Contains(t, log.String(), "rate limits are not shared")
		require.InDelta(t, 0, readMetric(t, counts, "gateway_limits_shared"), 0)
		require.InDelta(t, 3, readMetric(t, counts, "gateway_limit_exchange_age_seconds"), 1)

		docs.before.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Contains(t, log.String(), "rate limits are shared again")
		require.InDelta(t, 1, readMetric(t, counts, "gateway_limits_shared"), 0)
		require.Less(t, readMetric(t, counts, "gateway_limit_exchange_age_seconds"), 1.1)
		other := newNode(t, docs, limit{period: 5, most: 10})
		other.take(t, "a", at)
		require.True(t, other.counter.take("a", at).refused, "what was counted meanwhile was added")

		require.False(t, c.take("b", at).refused)
		stop()
		require.NoError(t, <-ended)
		other.take(t, "b", at)
		require.EqualValues(t, 10-3, other.counter.take("b", at).left[0], "what was left when it ended was added")
	})
}

func readMetric(t *testing.T, counts *Counts, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(counts))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestCounts_sweep_removesWhatIsOver(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	n := newNode(t, docs, limit{period: 1, most: 5}, limit{period: 3, most: 50})
	n.take(t, "a", at)
	n.take(t, "b", at.Add(48*time.Hour))
	require.NoError(t, n.counts.sweep(t.Context(), at.Add(47*time.Hour)))
	require.Len(t, storedKeys(t, docs), 2, "its day has been over for less than a day")
	require.NoError(t, n.counts.sweep(t.Context(), at.Add(48*time.Hour)))
	require.Equal(t, []string{countsKey("plugin", "b")}, storedKeys(t, docs))
	require.True(t, n.take(t, "a", at.Add(48*time.Hour)), "it begins anew")
}

func storedKeys(t *testing.T, docs storage.Documents) []string {
	t.Helper()
	var keys []string
	for doc, err := range storage.All(t.Context(), docs, "") {
		require.NoError(t, err)
		keys = append(keys, doc.Key)
	}
	return keys
}

func TestCounts_remove_addsWhatIsLeft(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	n := newNode(t, docs, limit{period: 3, most: 1000})
	for range 10 {
		n.take(t, "a", at)
	}
	n.counts.remove(n.counter)
	n.counts.exchange(t.Context(), false)
	require.Empty(t, n.counts.counters)
	other := newNode(t, docs, limit{period: 3, most: 1000})
	other.take(t, "a", at)
	require.EqualValues(t, 1000-12, other.counter.take("a", at).left[0])
}

func TestCounts_areSharedOverMongo(t *testing.T) {
	server := mongotest.Start(t)
	database := server.Database(t)
	var all []*node
	for range 3 {
		documents := storage.Prefixed(server.OpenDatabase(t, database).Documents(), "limits/")
		all = append(all, newNode(t, documents, limit{period: 2, most: 40}))
	}
	admitted := 0
	for i := range 120 {
		if all[i%len(all)].take(t, "a", at) {
			admitted++
		}
	}
	require.GreaterOrEqual(t, admitted, 40)
	require.LessOrEqual(t, admitted, 40+2*10)
	for _, n := range all {
		n.counts.exchange(t.Context(), true)
		require.False(t, n.counts.away.Load())
		require.False(t, n.take(t, "a", at))
	}
}

func TestCounter_take_allocatesNothing(t *testing.T) {
	local := newCounter([]limit{{period: 0, most: 1 << 60}, {period: 4, most: 1 << 60}}, 1000)
	local.take("i192.0.2.1", at)
	require.Zero(t, testing.AllocsPerRun(1000, func() { local.take("i192.0.2.1", at) }))
	shared := newNode(t, storage.NewMemoryDocuments(), limit{period: 4, most: 1 << 60})
	shared.take(t, "i192.0.2.1", at)
	require.Zero(t, testing.AllocsPerRun(1000, func() { shared.counter.take("i192.0.2.1", at) }))
}

func TestRateLimiting_cluster_wantsSharedCounts(t *testing.T) {
	counts, err := NewCounts(CountsConfig{Documents: storage.NewMemoryDocuments(), Default: true})
	require.NoError(t, err)
	require.Equal(t, policyCluster, rateLimitingWith(counts).Config().(*rateLimiting).Policy)
	require.Equal(t, policyLocal, RateLimiting().Config().(*rateLimiting).Policy)
}

func BenchmarkCounter_shared(b *testing.B) {
	counts, err := NewCounts(CountsConfig{Documents: storage.NewMemoryDocuments()})
	require.NoError(b, err)
	ctx, stop := context.WithCancelCause(b.Context())
	ended := make(chan error)
	go func() { ended <- counts.Run(ctx) }()
	c := newCounter([]limit{{period: 0, most: 1 << 60}, {period: 4, most: 1 << 60}}, 1000)
	counts.add(c, "plugin")
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		c.take("i192.0.2.1", now)
	}
	b.StopTimer()
	stop(errors.New("over"))
	require.NoError(b, <-ended)
}

func ExampleNewCounts() {
	_, err := NewCounts(CountsConfig{Interval: -time.Second})
	fmt.Println(err)
	// Output: plugin: CountsConfig.Interval: -1s is negative
}

// refusing counts the updates that another gateway's write was before.
type refusing struct {
	storage.Documents
	updates, refused atomic.Int32
}

func (r *refusing) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	revision, err := r.Documents.Update(ctx, key, prev, data)
	r.updates.Add(1)
	if errors.Is(err, storage.ErrConflict) {
		r.refused.Add(1)
	}
	return revision, err
}

func TestCounts_readFirstWhereAnotherGatewayCountsTheCaller(t *testing.T) {
	docs := &refusing{Documents: storage.NewMemoryDocuments()}
	a, b := newNode(t, docs, limit{period: 4, most: 1000}), newNode(t, docs, limit{period: 4, most: 1000})
	for range 20 {
		for _, n := range []*node{a, b} {
			n.take(t, "a", at)
			n.counts.exchange(t.Context(), true)
		}
	}
	require.LessOrEqual(t, docs.refused.Load(), int32(2), "once for each gateway, until it knows")
	third := newNode(t, docs, limit{period: 4, most: 1000})
	third.take(t, "a", at)
	third.counts.exchange(t.Context(), true)
	require.EqualValues(t, 1000-42, third.counter.take("a", at).left[0], "all requests are counted")
}
