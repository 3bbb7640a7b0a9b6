package manager_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

// Times of the tests; all of it is the virtual time of synctest.
const (
	leaseTime = 10 * time.Second
	pollTime  = 2 * time.Second
	// takeover is how long the channels of a dead instance may stand still.
	takeover = leaseTime + pollTime + pollTime/2
)

var errOutage = errors.New("the storage cannot be reached")

// reach is one instance's way to the storage. It may be cut, so that calls
// fail at once, clogged, so that they hang, or lossy, so that every second
// write is done and its answer lost. It always is slow, there and back.
type reach struct {
	storage.Documents
	mu           sync.Mutex
	cut, clogged bool
	lossy        bool
	writes       int
}

func (r *reach) lose(answers bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lossy = answers
}

// answer is the answer to a write, or none.
func (r *reach) answer(revision storage.Revision, err error) (storage.Revision, error) {
	r.travel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lossy && r.writes%2 == 0 {
		return 0, errOutage
	}
	return revision, err
}

func (r *reach) set(cut, clogged bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut, r.clogged = cut, clogged
}

func (r *reach) written() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}

// travel takes the time of one way.
func (r *reach) travel() { time.Sleep(rand.N(20 * time.Millisecond)) }

func (r *reach) pass(ctx context.Context, write bool) error {
	r.travel()
	r.mu.Lock()
	cut, clogged := r.cut, r.clogged
	if write {
		r.writes++
	}
	r.mu.Unlock()
	if clogged {
		<-ctx.Done()
		return ctx.Err()
	}
	if cut {
		return errOutage
	}
	return nil
}

func (r *reach) Get(ctx context.Context, key string) (storage.Document, error) {
	if err := r.pass(ctx, false); err != nil {
		return storage.Document{}, err
	}
	defer r.travel()
	return r.Documents.Get(ctx, key)
}

func (r *reach) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	if err := r.pass(ctx, false); err != nil {
		return nil, err
	}
	defer r.travel()
	return r.Documents.List(ctx, prefix, after, limit)
}

func (r *reach) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if err := r.pass(ctx, true); err != nil {
		return 0, err
	}
	return r.answer(r.Documents.Create(ctx, key, data))
}

func (r *reach) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if err := r.pass(ctx, true); err != nil {
		return 0, err
	}
	return r.answer(r.Documents.Update(ctx, key, prev, data))
}

func (r *reach) Delete(ctx context.Context, key string, prev storage.Revision) error {
	if err := r.pass(ctx, true); err != nil {
		return err
	}
	_, err := r.answer(0, r.Documents.Delete(ctx, key, prev))
	return err
}

// site is a storage and a broker, with the instances that share them. It
// knows at every moment which instance is subscribed to what.
type site struct {
	t         *testing.T
	documents *storage.MemoryDocuments
	broker    *annotate.MemoryBroker

	mu         sync.Mutex
	runners    map[string]map[string]int // by input topic, by instance
	twice      []string                  // topics that had two runners at once
	subscribed int
}

func newSite(t *testing.T) *site {
	return &site{t: t, documents: storage.NewMemoryDocuments(), broker: annotate.NewMemoryBroker(nil), runners: map[string]map[string]int{}}
}

func (s *site) count(topic, instance string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runners[topic] == nil {
		s.runners[topic] = map[string]int{}
	}
	if n > 0 {
		s.subscribed++
		if len(s.runners[topic]) > 0 {
			s.twice = append(s.twice, fmt.Sprintf("%s: %s beside %v", topic, instance, s.runners[topic]))
		}
	}
	s.runners[topic][instance] += n
	if s.runners[topic][instance] == 0 {
		delete(s.runners[topic], instance)
	}
}

// runner returns who is subscribed to the input of a channel.
func (s *site) runner(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(slices.Sorted(maps.Keys(s.runners[id+"/in"])))
}

// running returns how many channels each instance runs.
func (s *site) running() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, runners := range s.runners {
		for instance := range runners {
			n[instance]++
		}
	}
	return n
}

// total returns how many channels run.
func (s *site) total() (n int) {
	for _, running := range s.running() {
		n += running
	}
	return n
}

func (s *site) starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed
}

// neverTwice fails the test if a channel ever had two runners.
func (s *site) neverTwice() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(s.t, s.twice)
}

// instance is one of the services of a site.
type instance struct {
	*manager.Manager
	name  string
	site  *site
	reach *reach
	end   func() error

	mu      sync.Mutex
	dead    bool
	subs    map[*siteSubscription]struct{}
	options map[string]annotate.ConnectOptions // of the newest subscription, by input topic
}

func (s *site) start(name string, change ...func(*manager.Config)) *instance {
	s.t.Helper()
	i := s.prepare(name, change...)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- i.Run(ctx) }()
	i.end = sync.OnceValue(func() error { cancel(); return <-result })
	s.t.Cleanup(func() { _ = i.end() })
	<-i.Ready()
	require.NoError(s.t, i.Err())
	return i
}

func (s *site) prepare(name string, change ...func(*manager.Config)) *instance {
	i := &instance{name: name, site: s, reach: &reach{Documents: s.documents},
		subs: map[*siteSubscription]struct{}{}, options: map[string]annotate.ConnectOptions{}}
	c := managertest.Config(i, i.reach)
	c.Shared = true
	c.Instance = name
	c.LeaseDuration = leaseTime
	c.PollInterval = pollTime
	c.RetryMin, c.RetryMax = time.Second, time.Minute
	for _, f := range change {
		f(&c)
	}
	var err error
	i.Manager, err = manager.New(c)
	require.NoError(s.t, err)
	return i
}

// Subscribe and Connect make an instance the broker that its channels see.
func (i *instance) Subscribe(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Subscription, error,
) {
	if i.isDead() {
		return nil, annotate.ErrBrokerUnavailable
	}
	if opts.Instance != "" { // a session of its own, as drivers make it
		settings := topic.Settings.(mqtt.Settings)
		settings.ClientID += "/" + opts.Instance
		topic.Settings = settings
	}
	sub, err := i.site.broker.Subscribe(ctx, topic, opts)
	if err != nil {
		return nil, err
	}
	s := &siteSubscription{Subscription: sub, instance: i, topic: topic.Name}
	i.site.count(topic.Name, i.name, 1)
	i.mu.Lock()
	i.subs[s], i.options[topic.Name] = struct{}{}, opts
	i.mu.Unlock()
	return s, nil
}

func (i *instance) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	if i.isDead() {
		return nil, annotate.ErrBrokerUnavailable
	}
	return i.site.broker.Connect(ctx, topic, opts)
}

// connectOptions returns the options by which the instance subscribed to a topic.
func (i *instance) connectOptions(topic string) annotate.ConnectOptions {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.options[topic]
}

func (i *instance) isDead() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.dead
}

// kill is what others see of kill -9: its connections break, and it writes
// nothing any more.
func (i *instance) kill() {
	i.reach.set(true, false)
	i.mu.Lock()
	i.dead = true
	subs := slices.Collect(maps.Keys(i.subs))
	i.mu.Unlock()
	for _, s := range subs {
		_ = s.Close(context.Background())
	}
}

type siteSubscription struct {
	annotate.Subscription
	instance *instance
	topic    string
	over     sync.Once
}

func (s *siteSubscription) ended() {
	s.over.Do(func() {
		s.instance.site.count(s.topic, s.instance.name, -1)
		s.instance.mu.Lock()
		delete(s.instance.subs, s)
		s.instance.mu.Unlock()
	})
}

func (s *siteSubscription) Close(ctx context.Context) error {
	defer s.ended()
	return s.Subscription.Close(ctx)
}

func (s *siteSubscription) Forget(ctx context.Context) error {
	defer s.ended()
	return s.Subscription.Forget(ctx)
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(*testing.T, *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		test(t, s)
		s.neverTwice()
	})
}

// pass lets time pass, and then all that is due happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// until lets time pass until something is so, and returns how much it was.
func until(t *testing.T, limit time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !is() {
		require.Less(t, time.Since(began), limit, "it did not become true in time: %s", what)
		pass(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (s *site) createMany(i *instance, n int) {
	s.t.Helper()
	for k := range n {
		managertest.Create(s.t, i.Manager, managertest.Channel(fmt.Sprintf("c%02d", k)))
	}
}

func TestManager_shared_distributesChannelsEvenly(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		s.createMany(a, 10)
		require.Equal(t, map[string]int{"a": 10}, s.running())
		b := s.start("b")
		pass(3 * leaseTime)
		require.Equal(t, map[string]int{"a": 5, "b": 5}, s.running())
		s.start("c")
		pass(3 * leaseTime)
		require.Equal(t, 10, s.total())
		require.LessOrEqual(t, slices.Max(slices.Collect(maps.Values(s.running()))), 4)
		before, written := s.starts(), b.reach.written()
		pass(time.Hour)
		require.Equal(t, before, s.starts(), "nothing moves without a reason")
		perSecond := float64(b.reach.written()-written) / time.Hour.Seconds()
		require.Less(t, perSecond, 0.7, "one renewal for all channels")
		for c := range b.All() {
			require.False(t, c.Status.Stopped)
			require.Equal(t, s.runner(c.ID), "["+c.Status.Instance+"]")
		}
	})
}

func TestManager_shared_takesOverChannelsOfAKilledInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		s.createMany(a, 9)
		s.start("b")
		s.start("c")
		pass(4 * leaseTime)
		require.Len(t, s.running(), 3)
		a.kill()
		managertest.Publish(t, s.broker, "c00/in", 0, 3)
		took := until(t, takeover, "all channels run", func() bool { return s.total() == 9 })
		t.Logf("taken over after %v", took)
		require.Equal(t, managertest.Triples(0, 3), managertest.Await(t, s.broker, "c00/out", 3))
		require.NotContains(t, s.running(), "a")
	})
}

func TestManager_shared_handsOverAtAStopWithoutLossOrRepetition(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		managertest.Create(t, a.Manager, managertest.Channel("flow"))
		s.start("b")
		pass(leaseTime)
		go func() {
			for i := range 400 {
				managertest.Publish(t, s.broker, "flow/in", i, i+1)
				time.Sleep(10 * time.Millisecond)
			}
		}()
		pass(time.Second)
		require.Equal(t, "[a]", s.runner("flow"))
		require.NoError(t, a.end())
		took := until(t, pollTime+pollTime/2, "b runs it", func() bool { return s.runner("flow") == "[b]" })
		t.Logf("handed over after %v", took)
		require.Equal(t, managertest.Triples(0, 400), managertest.Await(t, s.broker, "flow/out", 400))
		pass(time.Minute)
		require.Len(t, s.broker.Messages("flow/out"), 400)
	})
}

func TestManager_shared_anyInstanceChangesAnyChannel(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		id := managertest.Create(t, a.Manager, managertest.WithSideTopics(managertest.Channel("x")))
		b := s.start("b")
		pass(pollTime * 3 / 2)
		require.Equal(t, "[a]", s.runner("x"))
		require.Equal(t, "a", managertest.Status(t, b.Manager, id).Instance)
		require.False(t, managertest.Status(t, b.Manager, id).Stopped)

		outcome, err := b.Patch(t.Context(), id, manager.Update{Error: manager.Off})
		require.NoError(t, err)
		require.Equal(t, manager.Updated, outcome)
		pass(pollTime * 3 / 2)
		require.True(t, managertest.Status(t, a.Manager, id).Off.Error)

		starts := s.starts()
		require.NoError(t, b.Restart(t.Context(), id))
		pass(pollTime * 3 / 2)
		require.Equal(t, starts+1, s.starts())
		require.Equal(t, "[a]", s.runner("x"))

		next := managertest.Channel("").Mapping
		next.RML = managertest.Renamed()
		require.NoError(t, b.SetMapping(t.Context(), id, next))
		pass(pollTime * 3 / 2)
		require.Equal(t, starts+1, s.starts(), "a mapping is replaced without stopping")
		managertest.Publish(t, s.broker, "x/in", 0, 1)
		require.Contains(t, managertest.Await(t, s.broker, "x/out", 1)[0], "http://example.com/renamed")

		require.Equal(t, manager.Stopped, managertest.Patch(t, b.Manager, id, true))
		pass(pollTime * 3 / 2)
		require.Zero(t, s.total())
		require.True(t, managertest.Status(t, a.Manager, id).Stopped)
		pass(pollTime * 3 / 2) // until the other one has read that it was let go
		require.True(t, managertest.Status(t, b.Manager, id).Stopped)
		require.Equal(t, manager.Unchanged, managertest.Patch(t, b.Manager, id, true))
		pass(pollTime * 2)
		require.Equal(t, manager.Started, managertest.Patch(t, b.Manager, id, false))
		require.Equal(t, "[b]", s.runner("x"), "the instance that gets the request starts a channel that none runs")
		pass(pollTime * 2)
		require.Equal(t, "b", managertest.Status(t, a.Manager, id).Instance)

		require.NoError(t, a.Delete(t.Context(), id))
		require.Zero(t, s.total(), "deleted is stopped, wherever it ran")
		for _, m := range []*instance{a, b} {
			pass(pollTime * 2)
			_, err := m.Get(id)
			require.ErrorIs(t, err, manager.ErrChannelNotFound)
		}
		left, err := s.documents.List(t.Context(), "c", "", 0)
		require.NoError(t, err)
		require.Empty(t, left, "neither the channel nor its lease")
		managertest.Create(t, a.Manager, managertest.Channel("x"))
		until(t, pollTime, "one of them runs it", func() bool { return s.runner("x") == "[a]" || s.runner("x") == "[b]" })
	})
}

func TestManager_Create_reusesAnIdentifierAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a, b := s.start("a"), s.start("b")
		managertest.Create(t, a.Manager, managertest.Channel("again"))
		pass(2 * pollTime)
		for range 10 {
			require.NoError(t, b.Delete(t.Context(), "again"))
			managertest.Create(t, b.Manager, managertest.Channel("again"))
			pass(2 * pollTime)
			require.Equal(t, 1, s.total())
			a, b = b, a
		}
	})
}

func TestManager_Delete_isFinishedByAnotherInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		managertest.Create(t, a.Manager, managertest.Channel("orphan"))
		b := s.start("b")
		pass(2 * pollTime)
		c, err := b.Get("orphan")
		require.NoError(t, err)
		a.kill()
		managertest.Publish(t, s.broker, "orphan/in", 0, 5)
		require.NoError(t, b.Delete(t.Context(), "orphan"))
		require.Zero(t, s.broker.Unacknowledged(c.Input), "the broker keeps nothing for it")
		left, err := s.documents.List(t.Context(), "c", "", 0)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestManager_shared_showsErrorsOnEveryInstance(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		managertest.Create(t, a.Manager, managertest.Channel("down"))
		b := s.start("b")
		pass(2 * pollTime)
		s.broker.Down()
		pass(2 * pollTime)
		require.Contains(t, managertest.Status(t, b.Manager, "down").Error, "in-memory broker is down")
		written := a.reach.written()
		pass(time.Minute)
		const renewals = 6 * time.Minute / leaseTime
		require.Less(t, a.reach.written()-written, int(renewals)+10)
		s.broker.Up()
		pass(5 * pollTime)
		require.Empty(t, managertest.Status(t, b.Manager, "down").Error)
	})
}

func TestManager_Replace_isAppliedByTheInstanceThatRunsIt(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site) {
		a := s.start("a")
		managertest.Create(t, a.Manager, managertest.Channel("flow"))
		b := s.start("b")
		pass(leaseTime)
		go func() {
			for i := range 400 {
				managertest.Publish(t, s.broker, "flow/in", i, i+1)
				time.Sleep(10 * time.Millisecond)
			}
		}()
		pass(time.Second)
		c, err := b.Get("flow")
		require.NoError(t, err)
		next := masked(c.ChannelConfig)
		next.Output.Name, next.Mapping.RML = "flow/other", managertest.Renamed()
		require.NoError(t, b.Replace(t.Context(), "flow", next))
		pass(time.Minute)
		require.Equal(t, "[a]", s.runner("flow"), "it stays where it is")
		first := managertest.Texts(s.broker.Messages("flow/out"))
		require.Equal(t, managertest.Triples(0, len(first)), first)
		require.Len(t, append(first, managertest.Texts(s.broker.Messages("flow/other"))...), 400, "nothing is lost and nothing comes twice")
		require.Contains(t, string(s.broker.Messages("flow/other")[0].Payload), "renamed")
		require.NoError(t, a.end())
		until(t, takeover, "b runs it", func() bool { return s.runner("flow") == "[b]" })
		managertest.Publish(t, s.broker, "flow/in", 400, 401)
		pass(time.Second)
		require.Len(t, s.broker.Messages("flow/other"), 401-len(first))
	})
}
