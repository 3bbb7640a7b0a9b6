package manager_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

// runManager runs a manager until the test ends or stop is called, which
// returns what Run returned.
func runManager(t *testing.T, c manager.Config) (m *manager.Manager, stop func() error) {
	t.Helper()
	m, err := manager.New(c)
	require.NoError(t, err)
	return m, run(t, m)
}

// run runs a manager until the test ends, or until stop is called.
func run(tb testing.TB, m *manager.Manager) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- m.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-result })
	tb.Cleanup(func() { _ = stop() })
	<-m.Ready()
	require.NoError(tb, m.Err())
	return stop
}

func managerConfig(b annotate.Broker, documents storage.Documents) manager.Config {
	return manager.Config{
		Environment: environment(b), Documents: documents,
		RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond,
	}
}

func create(t *testing.T, m *manager.Manager, c manager.ChannelConfig) string {
	t.Helper()
	id, err := m.Create(t.Context(), c)
	require.NoError(t, err)
	return id
}

func status(t *testing.T, m *manager.Manager, id string) manager.Status {
	t.Helper()
	c, err := m.Get(id)
	require.NoError(t, err)
	return c.Status
}

// switched is the Switch of what is to be on.
func switched(on bool) manager.Switch {
	if on {
		return manager.On
	}
	return manager.Off
}

func mqttOf(topic annotate.Topic) mqtt.Settings { return topic.Settings.(mqtt.Settings) }

func patch(t *testing.T, m *manager.Manager, id string, stop bool) manager.Outcome {
	t.Helper()
	outcome, err := m.Patch(t.Context(), id, manager.Update{Run: switched(!stop)})
	require.NoError(t, err)
	return outcome
}

func TestManager_Create_returnsWhenSubscribed(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, nil))
	create(t, m, config("now"))
	publish(t, b, "now/in", 0, 1)
	require.Equal(t, triples(0, 1), await(t, b, "now/out", 1))
	require.False(t, status(t, m, "now").Stopped)
}

func TestManager_Create_generatesAnIdentifierFromTheTopics(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := managerConfig(b, nil)
	m, _ := runManager(t, env)
	c := config("")
	c.Input.Name, c.Output.Name, c.Output.Broker = "in put", "out", kafka.Type
	id := create(t, m, c)
	require.Regexp(t, `^input_out_MQTT_KAFKA_[0-9a-f-]{36}$`, id)
	s, err := m.Get(id)
	require.NoError(t, err)
	require.Len(t, mqttOf(s.Input).ClientID, 23)
	require.NotEqual(t, mqttOf(s.Input).ClientID, manager.Spare(s, annotate.OutputTopic, mqtt.Type).(mqtt.Settings).ClientID)
	require.True(t, strings.HasPrefix(s.Output.Settings.(kafka.Settings).GroupID, "group_"+id))
	require.Equal(t, 2, s.Parallelism)
	require.Equal(t, 10, s.BufferSize)
}

func TestManager_Create_keepsTheReasonOfAChannelThatCannotConnect(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	b.Down()
	documents := storage.NewMemoryDocuments()
	m, stop := runManager(t, managerConfig(b, documents))
	create(t, m, config("down"))
	b.Up()
	require.Never(t, func() bool { return !status(t, m, "down").Stopped }, 50*time.Millisecond, 5*time.Millisecond)
	require.Contains(t, status(t, m, "down").Error, "broker unavailable")
	require.NoError(t, stop())
	m, _ = runManager(t, managerConfig(b, documents))
	require.True(t, status(t, m, "down").Stopped)
	require.Contains(t, status(t, m, "down").Error, "broker unavailable")
	require.Equal(t, manager.Started, patch(t, m, "down", false))
	require.Empty(t, status(t, m, "down").Error)
}

func TestManager_Create_refusesASessionThatIsTaken(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), nil))
	create(t, m, config("first"))
	first, err := m.Get("first")
	require.NoError(t, err)

	// A copy of what the service shows holds the client identifiers as well.
	second := config("second")
	second.Input.Settings = first.Output.Settings
	_, err = m.Create(t.Context(), second)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "settings.inputTopicSettings.mqttSettings.clientId", field.Field)
	require.Contains(t, field.Reason, `as in outputTopicSettings of channel "first" on the same broker`)
	require.Len(t, m.List(), 1)

	require.NoError(t, m.Delete(t.Context(), "first"))
	create(t, m, second)
}

func TestManager_Patch_returnsTheOutcome(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, nil))
	c := withSideTopics(config("patch"))
	c.Stopped = true
	create(t, m, c)
	require.Equal(t, manager.Unchanged, patch(t, m, "patch", true))
	require.Equal(t, manager.Started, patch(t, m, "patch", false))
	require.Equal(t, manager.Unchanged, patch(t, m, "patch", false))
	outcome, err := m.Patch(t.Context(), "patch", manager.Update{Error: manager.Off})
	require.NoError(t, err)
	require.Equal(t, manager.Updated, outcome)
	require.Equal(t, manager.Stopped, patch(t, m, "patch", true))
	require.NoError(t, m.Restart(t.Context(), "patch"))
	require.False(t, status(t, m, "patch").Stopped)
	require.True(t, status(t, m, "patch").Off.Error, "a switch survives stopping")
	require.NoError(t, m.Delete(t.Context(), "patch"))
	_, err = m.Get("patch")
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	require.ErrorIs(t, m.Delete(t.Context(), "patch"), manager.ErrChannelNotFound)
}

func TestManager_Run_restoresChannelsAsTheyWere(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := runManager(t, managerConfig(b, documents))
	create(t, m, config("runs"))
	stopped := config("rests")
	stopped.Stopped = true
	create(t, m, stopped)
	before, err := m.Get("runs")
	require.NoError(t, err)
	require.NoError(t, stop())
	publish(t, b, "runs/in", 0, 5) // kept by the broker for the session

	m, stop = runManager(t, managerConfig(b, documents))
	require.Equal(t, triples(0, 5), await(t, b, "runs/out", 5))
	require.True(t, status(t, m, "rests").Stopped)
	after, err := m.Get("runs")
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, stop())

	c := managerConfig(b, documents)
	c.RestoreStopped = true
	m, _ = runManager(t, c)
	require.True(t, status(t, m, "runs").Stopped)
}

func TestManager_killed_unconfirmedMessagesAreRedelivered(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	killed := managerConfig(b, documents)
	killed.RetryMin = time.Hour // it never comes back
	m, _ := runManager(t, killed)
	create(t, m, config("killed"))
	b.HoldConfirmations()
	publish(t, b, "killed/in", 0, 10)
	await(t, b, "killed/out", 10)

	runManager(t, managerConfig(b, documents)) // takes over the session
	require.Equal(t, triples(0, 10), await(t, b, "killed/out", 20)[10:])
	b.ReleaseConfirmations()
	c, err := m.Get("killed")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Unacknowledged(c.Input) == 0 }, patience, time.Millisecond)
}

func TestManager_Run_retriesRestoredChannels(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := runManager(t, managerConfig(b, documents))
	create(t, m, config("patient"))
	create(t, m, config("cancelled"))
	require.NoError(t, stop())
	b.Down()
	m, _ = runManager(t, managerConfig(b, documents))
	for _, id := range []string{"patient", "cancelled"} {
		require.Eventually(t, func() bool { return status(t, m, id).Error != "" }, patience, time.Millisecond)
		require.True(t, status(t, m, id).Stopped)
	}
	require.Equal(t, manager.Stopped, patch(t, m, "cancelled", true))
	b.Up()
	require.Eventually(t, func() bool { return !status(t, m, "patient").Stopped }, patience, time.Millisecond)
	require.Empty(t, status(t, m, "patient").Error)
	require.True(t, status(t, m, "cancelled").Stopped)
}

func TestManager_failedChannel_isStartedAgain(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, nil))
	create(t, m, config("falls"))
	c, err := m.Get("falls")
	require.NoError(t, err)
	thief, err := b.Subscribe(t.Context(), c.Input, annotate.ConnectOptions{})
	require.NoError(t, err)
	publish(t, b, "falls/in", 0, 1)
	require.Equal(t, triples(0, 1), await(t, b, "falls/out", 1))
	require.NoError(t, thief.Close(t.Context()))
}

func TestManager_credentials_areStoredEncrypted(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	c := managerConfig(b, documents)
	c.Secret = strings.Repeat("s", manager.SecretLength)
	m, stop := runManager(t, c)
	guarded := config("guarded")
	guarded.Input.Settings = mqtt.Settings{Protocol: "tcp", Host: "h", Port: 1, User: "alice", Password: "w0nderländ"}
	create(t, m, guarded)
	create(t, m, config("plain"))
	document, err := documents.Get(t.Context(), "channels/guarded")
	require.NoError(t, err)
	require.NotContains(t, string(document.Data), "alice")
	require.NotContains(t, string(document.Data), "w0nder")
	shown, err := m.Get("guarded")
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(verb, shown.Input.Settings), "w0nder")
	}
	require.NoError(t, stop())

	m, stop = runManager(t, c)
	restored, err := m.Get("guarded")
	require.NoError(t, err)
	require.Equal(t, "w0nderländ", mqttOf(restored.Input).Password)
	require.NoError(t, stop())

	for _, secret := range []string{strings.Repeat("x", manager.SecretLength), ""} {
		c.Secret = secret
		m, stop = runManager(t, c)
		require.True(t, status(t, m, "guarded").Stopped)
		require.Contains(t, status(t, m, "guarded").Error, "cannot be decrypted")
		require.Eventually(t, func() bool { return !status(t, m, "plain").Stopped }, patience, time.Millisecond)
		_, err = m.Patch(t.Context(), "guarded", manager.Update{Run: manager.On})
		require.ErrorContains(t, err, "cannot be decrypted")
		require.NoError(t, stop())
	}
	c.Secret = "short"
	_, err = manager.New(c)
	require.ErrorContains(t, err, "expected 32 bytes, got 5")
}

func TestManager_Run_listsChannelsThatCannotBeRestored(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	for key, data := range map[string]string{
		"channels/empty":  `{}`,
		"channels/number": `3`,
		"channels/other": `{"settings": {"channelId": "other", "inputTopicSettings": {"topic": "a", "brokerType": "OTHER"},
			"outputTopicSettings": {"topic": "b", "brokerType": "MQTT"}},
			"metadata": {"mapping": {"inputFormat": "JSON", "outputFormat": "TTL", "rml": "r"}}}`,
	} {
		_, err := documents.Create(t.Context(), key, []byte(data))
		require.NoError(t, err)
	}
	answer := func(m *manager.Manager) string {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/channels/number?settings", nil)
		manager.NewHandler(m, nil).ServeHTTP(recorder, request)
		require.Equal(t, http.StatusOK, recorder.Code, recorder.Body)
		return recorder.Body.String()
	}
	m, stop := runManager(t, managerConfig(b, documents))
	before := answer(m)
	require.NoError(t, stop())
	m, _ = runManager(t, managerConfig(b, documents))
	require.Equal(t, before, answer(m), "nothing is generated for a record that cannot be read")
	require.Contains(t, status(t, m, "empty").Error, `restore channel "empty": settings: required`)
	require.Contains(t, status(t, m, "number").Error, "expected a JSON object")
	require.Contains(t, status(t, m, "other").Error, `expected one of MQTT, KAFKA, got "OTHER"`)
	require.Len(t, m.List(), 3)
	for _, c := range m.List() {
		require.True(t, c.Status.Stopped)
		require.ErrorContains(t, m.Restart(t.Context(), c.ID), "restore channel")
		require.NoError(t, m.Delete(t.Context(), c.ID))
	}
	left, err := documents.List(t.Context(), "", "", 0)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestManager_sameStorage_changesAreMerged(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	seed, stop := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	c := withSideTopics(config("shared"))
	c.Stopped = true
	create(t, seed, c)
	require.NoError(t, stop())

	a, stopA := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	b, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	_, err := a.Patch(t.Context(), "shared", manager.Update{Error: manager.Off})
	require.NoError(t, err)
	_, err = b.Patch(t.Context(), "shared", manager.Update{MonitorInput: manager.Off})
	require.NoError(t, err)
	_, err = b.Create(t.Context(), config("other"))
	require.NoError(t, err)
	_, err = a.Create(t.Context(), config("other"))
	require.ErrorIs(t, err, manager.ErrChannelExists)
	require.NoError(t, stopA())

	a, _ = runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	require.True(t, status(t, a, "shared").Off.MonitorInput)
	require.NoError(t, a.Delete(t.Context(), "shared"))
	_, err = b.Patch(t.Context(), "shared", manager.Update{MonitorOutput: manager.Off})
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	_, err = b.Get("shared")
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
}

func TestManager_Patch_doesNotChangeAReplacedChannel(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	a, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	create(t, a, withSideTopics(config("reborn")))
	b, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), documents))
	require.NoError(t, b.Delete(t.Context(), "reborn"))
	create(t, b, withSideTopics(config("reborn")))
	before, err := documents.Get(t.Context(), "channels/reborn")
	require.NoError(t, err)

	_, err = a.Patch(t.Context(), "reborn", manager.Update{Error: manager.Off})
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	require.ErrorIs(t, a.Delete(t.Context(), "reborn"), manager.ErrChannelNotFound)
	after, err := documents.Get(t.Context(), "channels/reborn")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestManager_Get_reportsRetrying(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := runManager(t, managerConfig(b, documents))
	create(t, m, config("ran"))
	require.False(t, status(t, m, "ran").Retrying)
	b.Down()
	create(t, m, config("never ran"))
	require.False(t, status(t, m, "never ran").Retrying, "it is given up")
	require.NoError(t, stop())
	m, _ = runManager(t, managerConfig(b, documents))
	require.Eventually(t, func() bool { return status(t, m, "ran").Error != "" }, patience, time.Millisecond)
	require.True(t, status(t, m, "ran").Retrying)
	require.Equal(t, manager.Stopped, patch(t, m, "ran", true))
	require.False(t, status(t, m, "ran").Retrying)
}

func TestManager_notRunning_refusesOperations(t *testing.T) {
	m, err := manager.New(managerConfig(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	_, err = m.Create(t.Context(), config("early"))
	require.ErrorIs(t, err, manager.ErrNotRunning)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, m.Run(ctx))
	_, err = m.Create(t.Context(), config("late"))
	require.ErrorIs(t, err, manager.ErrNotRunning)
	require.Error(t, m.Run(ctx))
}

func TestManager_Run_returnsTheStorageError(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := manager.New(managerConfig(annotate.NewMemoryBroker(nil), documents))
	require.NoError(t, err)
	require.ErrorIs(t, m.Run(ctx), context.Canceled)
	require.ErrorIs(t, m.Err(), context.Canceled)
}

// TestManager_concurrentOperations_keepStorageAndChannelsEqual lets many clients do everything at once with few
// channels, and then finds storage and manager in agreement.
func TestManager_concurrentOperations_keepStorageAndChannelsEqual(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := runManager(t, managerConfig(b, documents))
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for range 60 {
				id := fmt.Sprintf("hammer%d", random.IntN(4))
				on := random.IntN(2) == 0
				switch random.IntN(8) {
				case 0, 1, 2:
					_, _ = m.Create(t.Context(), withSideTopics(config(id)))
				case 3:
					_ = m.Delete(t.Context(), id)
				case 4:
					_ = m.Restart(t.Context(), id)
				case 5:
					_, _ = m.Patch(t.Context(), id, manager.Update{Run: switched(!on)})
				case 6:
					_, _ = m.Patch(t.Context(), id, manager.Update{Error: switched(on), MonitorInput: switched(on)})
				case 7:
					_ = b.Publish(t.Context(), annotate.Message{Topic: id + "/in", Payload: []byte(`{"id": 1, "value": 2}`)})
				}
				m.List()
				m.Stats()
			}
		})
	}
	clients.Wait()
	listed := map[string]manager.Status{}
	for _, c := range m.List() {
		listed[c.ID] = c.Status
	}
	require.NoError(t, stop())
	stored, err := documents.List(t.Context(), "channels/", "", 0)
	require.NoError(t, err)
	require.Len(t, stored, len(listed))
	m, _ = runManager(t, managerConfig(b, documents))
	for id, before := range listed {
		require.Eventually(t, func() bool { return status(t, m, id).Stopped == before.Stopped }, patience, time.Millisecond)
		require.Equal(t, before, status(t, m, id))
	}
}

// slowBroker gives no answer before its gate is open.
type slowBroker struct {
	annotate.Broker
	asked, gate chan struct{}
}

func newSlowBroker() slowBroker {
	return slowBroker{annotate.NewMemoryBroker(nil), make(chan struct{}, 1), make(chan struct{})}
}

func (b slowBroker) Connect(
	ctx context.Context, topic annotate.Topic, opts annotate.ConnectOptions) (annotate.Publisher, error,
) {
	b.asked <- struct{}{}
	select {
	case <-b.gate:
		return b.Broker.Connect(ctx, topic, opts)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", annotate.ErrBrokerUnavailable, ctx.Err())
	}
}

func TestManager_Get_doesNotWaitForBrokers(t *testing.T) {
	b := newSlowBroker()
	m, _ := runManager(t, managerConfig(b, nil))
	stopped := config("slow")
	stopped.Stopped = true
	create(t, m, stopped)
	started := make(chan error)
	go func() { started <- m.Restart(t.Context(), "slow") }()
	<-b.asked
	for range 100 {
		require.True(t, status(t, m, "slow").Stopped)
		require.Len(t, m.List(), 1)
		require.Len(t, m.Stats(), 1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, m.Delete(ctx, "slow"), context.DeadlineExceeded, "a client that goes away does not wait for its turn")
	close(b.gate)
	require.NoError(t, <-started)
	require.False(t, status(t, m, "slow").Stopped)
}

func TestManager_Restart_endsAfterTheConnectTimeout(t *testing.T) {
	b := newSlowBroker()
	c := managerConfig(b, nil)
	c.ConnectTimeout = 20 * time.Millisecond
	m, _ := runManager(t, c)
	create(t, m, config("hangs"))
	require.True(t, status(t, m, "hangs").Stopped)
	require.Contains(t, status(t, m, "hangs").Error, "deadline exceeded")
}
