package flcollect_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// cable is one server's way to the store that it shares with others.
type cable struct{ cut atomic.Bool }

func (c *cable) err() error {
	if c.cut.Load() {
		return errDead
	}
	return nil
}

type cabledDocuments struct {
	storage.Documents
	*cable
}

func (d cabledDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	if err := d.err(); err != nil {
		return storage.Document{}, err
	}
	return d.Documents.Get(ctx, key)
}

func (d cabledDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	return d.Documents.List(ctx, prefix, after, limit)
}

func (d cabledDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if err := d.err(); err != nil {
		return 0, err
	}
	return d.Documents.Create(ctx, key, data)
}

func (d cabledDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if err := d.err(); err != nil {
		return 0, err
	}
	return d.Documents.Update(ctx, key, prev, data)
}

func (d cabledDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	if err := d.err(); err != nil {
		return err
	}
	return d.Documents.Delete(ctx, key, prev)
}

type cabledBlobs struct {
	storage.Blobs
	*cable
}

func (b cabledBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	if err := b.err(); err != nil {
		return nil, err
	}
	return b.Blobs.Open(ctx, key)
}

func (b cabledBlobs) List(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
	if err := b.err(); err != nil {
		return func(yield func(storage.BlobInfo, error) bool) { yield(storage.BlobInfo{}, err) }
	}
	return b.Blobs.List(ctx, prefix)
}

func (b cabledBlobs) Delete(ctx context.Context, key string) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Blobs.Delete(ctx, key)
}

func (b cabledBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	if err := b.err(); err != nil {
		return nil, err
	}
	return b.Blobs.Create(ctx, key)
}

// site is a store with servers on it.
type site struct {
	network
	documents storage.Documents
	blobs     storage.Blobs
	config    flcollect.Config // its Advertise, if it is not empty, is that of all
}

func newSite(lan network, config flcollect.Config) *site {
	if config.Initial == nil {
		config.Initial = zeros
	}
	if config.Lease == 0 {
		config.Lease = time.Second
	}
	return &site{network: lan, documents: storage.NewMemoryDocuments(), blobs: storage.NewMemoryBlobs(), config: config}
}

// member is a server of a site.
type member struct {
	*world
	*cable
	hangUp func() // of its clients, as when the process is killed
}

// add runs a server until the test ends.
func (s *site) add(t *testing.T, name string) *member {
	t.Helper()
	options, c, at := s.config, &cable{}, s.listen(t)
	options.Documents, options.Blobs = cabledDocuments{s.documents, c}, cabledBlobs{s.blobs, c}
	options.Name, options.Advertise, options.Dir = name, cmp.Or(options.Advertise, at.Addr().String()), t.TempDir()
	server, err := flcollect.NewServer(options)
	require.NoError(t, err)
	server.DialRelays(s.dial)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle, Relay: server.TrustsRelay})
	require.NoError(t, err)
	cutting := &cuttingPort{port: at}
	return &member{world: serve(t, s.network, options, server, flowers, cutting), cable: c, hangUp: cutting.cut}
}

// kill ends a server as kill -9 does: it writes nothing more, and its connections are gone.
func (m *member) kill() {
	m.cut.Store(true)
	m.hangUp()
}

// cuttingPort can cut its connections.
type cuttingPort struct {
	port
	mu    sync.Mutex
	conns []net.Conn
	dead  bool
}

func (p *cuttingPort) Accept() (net.Conn, error) {
	conn, err := p.port.Accept()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		conn.Close()
	}
	p.conns = append(p.conns, conn)
	return conn, nil
}

func (p *cuttingPort) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, conn := range p.conns {
		conn.Close()
	}
}

// undisturbed returns the bits of the model of a job that one server conducts.
func undisturbed(t *testing.T, lan network, job jobconfig.Config) []float64 {
	t.Helper()
	w := newWorldOn(t, lan, flcollect.Config{Initial: zeros})
	w.join(t, trainer{step: 1, examples: 10})
	w.join(t, trainer{step: 4, examples: 20})
	require.NoError(t, w.Start(t.Context(), "job", job))
	w.untilState(t, "job", report.Finished)
	return w.weights(t, "job")
}

// requireRounds checks that a job has each of its rounds once.
func requireRounds(t *testing.T, w *world, rounds int) {
	t.Helper()
	list, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Len(t, list, rounds)
	for i, r := range list {
		require.Equal(t, i+1, r.Number)
		require.True(t, r.Aggregated)
		require.Equal(t, 2, r.Fit.Results)
	}
}

func TestServer_Run_goesOnWithTheJobsOfADeadServer(t *testing.T) {
	const rounds = 6
	want := undisturbed(t, loopback{}, adam(rounds))
	for dies := 1; dies < rounds; dies++ {
		t.Run(fmt.Sprintf("in round %d", dies), func(t *testing.T) {
			t.Parallel()
			onFakeClock(t, func(t *testing.T, lan network) {
				n := &neighbours{}
				s := newSite(lan, flcollect.Config{Repository: n, Orchestrator: n})
				first := s.add(t, "a")
				require.NoError(t, first.Start(t.Context(), "job", adam(rounds)))
				second, third := s.add(t, "b"), s.add(t, "c")
				var fits atomic.Int32
				kill := sync.OnceFunc(first.kill)
				doomed := func(context.Context, flower.FitIns, *flower.FitRes) error {
					if fits.Add(1) == int32(dies) {
						kill() // in the middle of the round
					}
					return nil
				}
				one, _ := second.join(t, trainer{step: 1, examples: 10, fit: doomed})
				two, _ := third.join(t, trainer{step: 4, examples: 20})
				status := second.untilState(t, "job", report.Finished)
				require.Equal(t, rounds, status.Round)
				require.Empty(t, status.Error)
				require.Equal(t, want, second.weights(t, "job"))
				require.Equal(t, want, third.weights(t, "job"))
				requireRounds(t, second.world, rounds)
				require.NoError(t, <-one) // no stream was broken
				require.NoError(t, <-two)
				third.until(t, "job", "delivered", func(s flcollect.Status) bool { return s.Stored })
				stored, ok := n.stored("job")
				require.True(t, ok)
				require.Equal(t, want, numbers(stored.Weights))
			})
		})
	}
}

func TestServer_answersForTheJobsOfAnother(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{})
		first := s.add(t, "a")
		require.NoError(t, first.Start(t.Context(), "job", config(10, 1)))
		second := s.add(t, "b")
		client, gate := gated(1, 1)
		gate <- struct{}{}
		gate <- struct{}{}
		ended, _ := second.join(t, client)
		second.until(t, "job", "trained by the client", func(s flcollect.Status) bool { return s.Round > 1 && s.Clients == 1 && s.Needed == 1 })
		require.Empty(t, second.Clients("job"))
		require.Len(t, first.Clients("job"), 1)

		require.NoError(t, second.Start(t.Context(), "job", config(10, 1))) // it is repeated
		require.ErrorIs(t, second.Start(t.Context(), "job", config(3, 1)), flcollect.ErrActive)
		require.ErrorIs(t, second.StopJob(t.Context(), "other"), flcollect.ErrUnknown)
		jobs, _, err := second.Jobs(t.Context(), "", "", 0)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Equal(t, report.Training, jobs[0].State)

		require.NoError(t, second.StopJob(t.Context(), "job"))
		status, err := first.Status(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, report.Interrupted, status.State)
		require.Equal(t, "stopped on request", status.Error)
		gate <- struct{}{}
		require.NoError(t, <-ended) // as at the first

		require.NoError(t, second.Start(t.Context(), "job", config(1, 1)))
		ended, _ = first.join(t, trainer{step: 1, examples: 1})
		status = first.untilState(t, "job", report.Finished)
		require.Equal(t, int64(2), status.Run)
		require.NoError(t, <-ended)
		require.NoError(t, first.Stop(t.Context()))
	})
}

func TestServer_Stop_stopsTheJobsOfAllServers(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{})
		first, second := s.add(t, "a"), s.add(t, "b")
		require.NoError(t, first.Start(t.Context(), "one", config(10, 1)))
		require.NoError(t, second.Start(t.Context(), "two", config(10, 1)))
		require.NoError(t, second.Stop(t.Context()))
		for _, id := range []string{"one", "two"} {
			for _, m := range []*member{first, second} {
				status, err := m.Status(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, report.Interrupted, status.State)
			}
		}
		require.Eventually(t, func() bool {
			return first.Totals().Ended[report.Interrupted]+second.Totals().Ended[report.Interrupted] == 2
		}, patience, time.Millisecond, "each ending is counted at one of them")
	})
}

func TestServer_Start_startsOneRunAtSeveralServers(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{})
		members := []*member{s.add(t, "a"), s.add(t, "b"), s.add(t, "c")}
		var group sync.WaitGroup
		for i := range 20 {
			for _, m := range members {
				group.Go(func() { // require must not be called here
					if err := m.Start(t.Context(), fmt.Sprint("job ", i), config(10, 1)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
		for i := range 20 {
			status, err := members[0].Status(t.Context(), fmt.Sprint("job ", i))
			require.NoError(t, err)
			require.Equal(t, int64(1), status.Run)
		}
	})
}

// stalling does not answer the first creation of a job until the caller gives up.
type stalling struct {
	storage.Documents
	stalled atomic.Bool
	began   chan struct{}
	over    func()
}

func (d *stalling) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if strings.HasPrefix(key, "job/") && !d.stalled.Swap(true) {
		close(d.began)
		<-ctx.Done()
		d.over()
		return 0, ctx.Err()
	}
	return d.Documents.Create(ctx, key, data)
}

func TestServer_Start_startsTheJobAlthoughTheLeaseIsLostMeanwhile(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{})
		slow := &stalling{Documents: s.documents, began: make(chan struct{})}
		s.documents = slow
		m := s.add(t, "a")
		slow.over = func() { m.cut.Store(false) }
		started := make(chan error, 1)
		go func() { started <- m.Start(t.Context(), "job", config(10, 1)) }()
		<-slow.began
		m.cut.Store(true) // the lease cannot be renewed
		require.NoError(t, <-started)
		status, err := m.Status(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, int64(1), status.Run)
	})
}

func TestServer_Run_abandonsAJobWhenTheLeaseIsLost(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		const rounds = 8
		want := undisturbed(t, lan, adam(rounds))
		s := newSite(lan, flcollect.Config{})
		first := s.add(t, "a")
		require.NoError(t, first.Start(t.Context(), "job", adam(rounds)))
		second := s.add(t, "b")
		var fits atomic.Int32
		one, _ := first.join(t, trainer{step: 1, examples: 10, fit: func(context.Context, flower.FitIns, *flower.FitRes) error {
			if fits.Add(1) == 3 {
				first.cut.Store(true) // the store; its connections last
			}
			return nil
		}})
		two, _ := second.join(t, trainer{step: 4, examples: 20})
		second.until(t, "job", "taken over", func(flcollect.Status) bool { return len(second.Clients("job")) > 0 })
		first.cut.Store(false) // it comes back, with a round that is not stored
		status := second.untilState(t, "job", report.Finished)
		require.Empty(t, status.Error)
		require.Equal(t, want, first.weights(t, "job"))
		requireRounds(t, first.world, rounds)
		require.NoError(t, <-one) // relayed after it
		require.NoError(t, <-two)
	})
}

func TestServer_Run_givesJobsToAnotherWhenItEnds(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{Lease: time.Hour}) // only a release is fast enough
		first := s.add(t, "a")
		require.NoError(t, first.Start(t.Context(), "job", config(2, 1)))
		first.end()
		second := s.add(t, "b")
		second.join(t, trainer{step: 1, examples: 1})
		second.untilState(t, "job", report.Finished)
	})
}

func TestServer_Run_takesItsOwnJobsBackAtOnce(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		s := newSite(lan, flcollect.Config{Lease: time.Hour})
		first := s.add(t, "a")
		require.NoError(t, first.Start(t.Context(), "job", config(2, 1)))
		first.kill()
		again := s.add(t, "a")
		again.join(t, trainer{step: 1, examples: 1})
		again.untilState(t, "job", report.Finished)
	})
}

func TestServer_Run_goesOnWithJobsOfAServerThatWasAlone(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		documents, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
		alone := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Initial: zeros})
		require.NoError(t, alone.Start(t.Context(), "job", config(2, 1)))
		alone.end()
		s := newSite(lan, flcollect.Config{})
		s.documents, s.blobs = documents, blobs
		m := s.add(t, "a")
		m.join(t, trainer{step: 1, examples: 1})
		m.untilState(t, "job", report.Finished)
		m.end()
		alone = newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Initial: zeros}) // and back
		status, err := alone.Status(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, report.Finished, status.State)
	})
}

func TestNewServer_checksHowItSharesTheStore(t *testing.T) {
	for _, c := range []struct {
		config flcollect.Config
		fault  string
	}{
		{flcollect.Config{Name: "a/b"}, `Name is "a/b", must be up to 128 printable ASCII characters without a slash`},
		{flcollect.Config{Lease: time.Millisecond}, "Lease is 1ms, must be 100ms to 1h0m0s"},
		{flcollect.Config{Advertise: "host"}, `Advertise is "host", must be HOST:PORT`},
	} {
		c.config.Documents, c.config.Blobs = storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
		_, err := flcollect.NewServer(c.config)
		require.ErrorContains(t, err, c.fault)
	}
}
