package annotate_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/storage"
)

var errDisk = errors.New("disk on fire")

// faultyDocuments refuses to write while it is broken.
type faultyDocuments struct {
	storage.Documents
	broken atomic.Bool
}

func (d *faultyDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	if d.broken.Load() {
		return 0, errDisk
	}
	return d.Documents.Create(ctx, key, data)
}

func (d *faultyDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	if d.broken.Load() {
		return 0, errDisk
	}
	return d.Documents.Update(ctx, key, prev, data)
}

func (d *faultyDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	if d.broken.Load() {
		return errDisk
	}
	return d.Documents.Delete(ctx, key, prev)
}

func TestWhatCannotBeStoredIsNotDone(t *testing.T) {
	documents := &faultyDocuments{Documents: storage.NewMemoryDocuments()}
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	create(t, m, withSideTopics(config("runs")))
	rests := config("rests")
	rests.Status.IsStopped = true
	create(t, m, rests)
	documents.broken.Store(true)

	_, err := m.Create(t.Context(), config("new"))
	require.ErrorIs(t, err, errDisk)
	_, err = m.Get("new")
	require.ErrorIs(t, err, annotate.ErrChannelNotFound)
	stop, start := true, false
	_, err = m.Patch(t.Context(), "runs", annotate.StatusUpdate{IsStopped: &stop})
	require.ErrorIs(t, err, errDisk)
	require.False(t, status(t, m, "runs").IsStopped)
	_, err = m.Patch(t.Context(), "runs", annotate.StatusUpdate{ErrorTopicEnabled: &start})
	require.ErrorIs(t, err, errDisk)
	require.True(t, *status(t, m, "runs").ErrorTopicEnabled)
	_, err = m.Patch(t.Context(), "rests", annotate.StatusUpdate{IsStopped: &start})
	require.ErrorIs(t, err, errDisk)
	require.True(t, status(t, m, "rests").IsStopped)
	require.ErrorIs(t, m.Delete(t.Context(), "runs"), errDisk)
	require.False(t, status(t, m, "runs").IsStopped)
	_, err = m.AddAnnotation(t.Context(), config("").Metadata.Mapping)
	require.ErrorIs(t, err, errDisk)

	documents.broken.Store(false)
	create(t, m, config("new"))
	require.NoError(t, m.Delete(t.Context(), "runs"))
}

func TestConfigurationErrorsNameTheField(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	for field, change := range map[string]func(*annotate.Config){
		"Environment.Brokers":         func(c *annotate.Config) { c.Brokers = nil },
		"Environment.Window":          func(c *annotate.Config) { c.Window = -1 },
		"Environment.MaxMessageBytes": func(c *annotate.Config) { c.MaxMessageBytes = -1 },
		"Environment.ConnectTimeout":  func(c *annotate.Config) { c.ConnectTimeout = -1 },
		"Config.MaxShutdown":          func(c *annotate.Config) { c.MaxShutdown = -1 },
		"Config.PollInterval":         func(c *annotate.Config) { c.PollInterval = -1 },
		"Config.LeaseDuration":        func(c *annotate.Config) { c.Shared, c.Instance, c.LeaseDuration = true, "a", time.Millisecond },
		"Environment.Instance":        func(c *annotate.Config) { c.Shared = true },
		"Config.Secret":               func(c *annotate.Config) { c.Secret = strings.Repeat("x", 31) },
	} {
		c := managerConfig(b, nil)
		change(&c)
		_, err := annotate.NewManager(c)
		require.ErrorContains(t, err, "annotate: "+field+": ")
	}
}

// keyedBroker gives every message a record key, as Kafka does.
type keyedBroker struct{ annotate.Broker }

type keyedSubscription struct{ annotate.Subscription }

func (b keyedBroker) Subscribe(ctx context.Context, topic annotate.TopicSettings, opts annotate.ConnectOptions) (annotate.Subscription, error) {
	s, err := b.Broker.Subscribe(ctx, topic, opts)
	return keyedSubscription{s}, err
}

func (s keyedSubscription) Receive(ctx context.Context) (annotate.Delivery, error) {
	d, err := s.Subscription.Receive(ctx)
	d.Key = []byte("k")
	return d, err
}

func TestOutputsHaveTheKeyOfTheirInputOrTheChannels(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	for id, test := range map[string]struct {
		broker annotate.Broker
		want   string
	}{"plain": {b, "plain"}, "keyed": {keyedBroker{b}, "k"}} {
		channel := newChannel(t, config(id), environment(test.broker))
		require.NoError(t, channel.Start(t.Context()))
		publish(t, b, id+"/in", 0, 1)
		await(t, b, id+"/out", 1)
		require.Equal(t, test.want, string(b.Messages(id + "/out")[0].Key))
	}
}

func TestLongTopicsStillGiveIdentifiersThatCanBeStored(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	c := config("")
	c.Settings.Input.Topic = strings.Repeat("ü", 2000)
	c.Settings.Output.Topic = strings.Repeat("b", 2000)
	id := create(t, m, c)
	require.LessOrEqual(t, len(id), 480)
	require.False(t, status(t, m, id).IsStopped)
}

func TestStopHasALimitOfItsOwn(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.DrainTimeout = 50 * time.Millisecond
	channel := newChannel(t, config("limit"), env)
	require.NoError(t, channel.Start(t.Context()))
	b.HoldConfirmations()
	publish(t, b, "limit/in", 0, 1)
	await(t, b, "limit/out", 1)
	require.ErrorContains(t, channel.Stop(context.Background()), "messages not finished in time, to be delivered again: 1")
}

func TestRESTAnswersWhileTheServiceStarts(t *testing.T) {
	m, err := annotate.NewManager(managerConfig(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	c := newClientOf(t, m)
	const unavailable = "Service not available: annotate: the service is starting or stopping"
	c.text(c.send("POST", "/channels", channelJSON(t, "early", nil, nil, nil)), 503, unavailable)
	c.json(c.get("/status"), `{"status": "INITIALIZING"}`)
	c.text(c.get("/readyz"), 503, "annotate: the service is starting or stopping")
	c.text(c.get("/healthz"), 200, "ok")
}
