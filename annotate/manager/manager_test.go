package manager_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

func TestManager_Create_returnsWhenSubscribed(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	managertest.Create(t, m, managertest.Channel("now"))
	managertest.Publish(t, b, "now/in", 0, 1)
	require.Equal(t, managertest.Triples(0, 1), managertest.Await(t, b, "now/out", 1))
	require.False(t, managertest.Status(t, m, "now").Stopped)
}

func TestCountStates_countsEachState(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	require.Empty(t, manager.CountStates(m.All()))
	managertest.Create(t, m, managertest.Channel("running"))
	stopped := managertest.Channel("stopped")
	stopped.Stopped = true
	managertest.Create(t, m, stopped)
	b.Down()
	managertest.Create(t, m, managertest.Channel("failed"))
	require.Eventually(t, func() bool {
		counts := manager.CountStates(m.All())
		want := map[manager.State]int{manager.StateWaiting: 1, manager.StateStopped: 1, manager.StateFailed: 1}
		return maps.Equal(counts, want)
	}, managertest.Patience, time.Millisecond)
	b.Up()
	require.Eventually(t, func() bool {
		return manager.CountStates(m.All())[manager.StateRunning] == 1
	}, managertest.Patience, time.Millisecond)
}

func TestManager_Create_generatesAnIdentifierFromTheTopics(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := managertest.Config(b, nil)
	m, _ := managertest.Start(t, env)
	c := managertest.Channel("")
	c.Input.Name = "in put"
	c.Output.Name = "out"
	c.Output.Broker = kafka.Type
	id := managertest.Create(t, m, c)
	require.Regexp(t, `^input_out_MQTT_KAFKA_[0-9a-f-]{36}$`, id)
	s, err := m.Get(id)
	require.NoError(t, err)
	require.Len(t, managertest.MQTT(s.Input).ClientID, 23)
	require.NotEqual(t, managertest.MQTT(s.Input).ClientID, managertest.Spare(s, annotate.OutputTopic, mqtt.Type).(mqtt.Settings).ClientID)
	require.True(t, strings.HasPrefix(s.Output.Settings.(kafka.Settings).GroupID, "group_"+id))
	require.Equal(t, 2, s.Parallelism)
	require.Equal(t, 10, s.BufferSize)
}

func TestManager_Create_keepsTheReasonOfAChannelThatCannotConnect(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	b.Down()
	documents := storage.NewMemoryDocuments()
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	managertest.Create(t, m, managertest.Channel("down"))
	b.Up()
	require.Never(t, func() bool { return !managertest.Status(t, m, "down").Stopped }, 50*time.Millisecond, 5*time.Millisecond)
	require.Contains(t, managertest.Status(t, m, "down").Error, "broker unavailable")
	require.NoError(t, stop())
	m, _ = managertest.Start(t, managertest.Config(b, documents))
	require.True(t, managertest.Status(t, m, "down").Stopped)
	require.Contains(t, managertest.Status(t, m, "down").Error, "broker unavailable")
	require.Equal(t, manager.Started, managertest.Patch(t, m, "down", false))
	require.Empty(t, managertest.Status(t, m, "down").Error)
}

func TestManager_Create_refusesASessionThatIsTaken(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), nil))
	managertest.Create(t, m, managertest.Channel("first"))
	first, err := m.Get("first")
	require.NoError(t, err)

	// A copy of what the service shows holds the client identifiers as well.
	second := managertest.Channel("second")
	second.Input.Settings = first.Output.Settings
	_, err = m.Create(t.Context(), second)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "settings.inputTopicSettings.mqttSettings.clientId", field.Field)
	require.Contains(t, field.Reason, `as in outputTopicSettings of channel "first" on the same broker`)
	require.Len(t, slices.Collect(m.All()), 1)

	require.NoError(t, m.Delete(t.Context(), "first"))
	managertest.Create(t, m, second)
}

func TestManager_Patch_returnsTheOutcome(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	c := managertest.WithSideTopics(managertest.Channel("patch"))
	c.Stopped = true
	managertest.Create(t, m, c)
	require.Equal(t, manager.Unchanged, managertest.Patch(t, m, "patch", true))
	require.Equal(t, manager.Started, managertest.Patch(t, m, "patch", false))
	require.Equal(t, manager.Unchanged, managertest.Patch(t, m, "patch", false))
	outcome, err := m.Patch(t.Context(), "patch", manager.Update{Error: manager.Off})
	require.NoError(t, err)
	require.Equal(t, manager.Updated, outcome)
	require.Equal(t, manager.Stopped, managertest.Patch(t, m, "patch", true))
	require.NoError(t, m.Restart(t.Context(), "patch"))
	require.False(t, managertest.Status(t, m, "patch").Stopped)
	require.True(t, managertest.Status(t, m, "patch").Off.Error, "a switch survives stopping")
	require.NoError(t, m.Delete(t.Context(), "patch"))
	_, err = m.Get("patch")
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	require.ErrorIs(t, m.Delete(t.Context(), "patch"), manager.ErrChannelNotFound)
}

func TestManager_Run_restoresChannelsAsTheyWere(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	managertest.Create(t, m, managertest.Channel("runs"))
	stopped := managertest.Channel("rests")
	stopped.Stopped = true
	managertest.Create(t, m, stopped)
	before, err := m.Get("runs")
	require.NoError(t, err)
	require.NoError(t, stop())
	managertest.Publish(t, b, "runs/in", 0, 5) // kept by the broker for the session

	m, stop = managertest.Start(t, managertest.Config(b, documents))
	require.Equal(t, managertest.Triples(0, 5), managertest.Await(t, b, "runs/out", 5))
	require.True(t, managertest.Status(t, m, "rests").Stopped)
	after, err := m.Get("runs")
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, stop())

	c := managertest.Config(b, documents)
	c.RestoreStopped = true
	m, _ = managertest.Start(t, c)
	require.True(t, managertest.Status(t, m, "runs").Stopped)
}

func TestManager_killed_unconfirmedMessagesAreRedelivered(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	killed := managertest.Config(b, documents)
	killed.RetryMin = time.Hour // it never comes back
	m, _ := managertest.Start(t, killed)
	managertest.Create(t, m, managertest.Channel("killed"))
	b.HoldConfirmations()
	managertest.Publish(t, b, "killed/in", 0, 10)
	managertest.Await(t, b, "killed/out", 10)

	managertest.Start(t, managertest.Config(b, documents)) // takes over the session
	require.Equal(t, managertest.Triples(0, 10), managertest.Await(t, b, "killed/out", 20)[10:])
	b.ReleaseConfirmations()
	c, err := m.Get("killed")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Unacknowledged(c.Input) == 0 }, managertest.Patience, time.Millisecond)
}

func TestManager_Run_retriesRestoredChannels(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	managertest.Create(t, m, managertest.Channel("patient"))
	managertest.Create(t, m, managertest.Channel("cancelled"))
	require.NoError(t, stop())
	b.Down()
	m, _ = managertest.Start(t, managertest.Config(b, documents))
	for _, id := range []string{"patient", "cancelled"} {
		require.Eventually(t, func() bool { return managertest.Status(t, m, id).Error != "" }, managertest.Patience, time.Millisecond)
		require.True(t, managertest.Status(t, m, id).Stopped)
	}
	require.Equal(t, manager.Stopped, managertest.Patch(t, m, "cancelled", true))
	b.Up()
	require.Eventually(t, func() bool { return !managertest.Status(t, m, "patient").Stopped }, managertest.Patience, time.Millisecond)
	require.Empty(t, managertest.Status(t, m, "patient").Error)
	require.True(t, managertest.Status(t, m, "cancelled").Stopped)
}

func TestManager_failedChannel_isStartedAgain(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	managertest.Create(t, m, managertest.Channel("falls"))
	c, err := m.Get("falls")
	require.NoError(t, err)
	thief, err := b.Subscribe(t.Context(), c.Input, annotate.ConnectOptions{})
	require.NoError(t, err)
	managertest.Publish(t, b, "falls/in", 0, 1)
	require.Equal(t, managertest.Triples(0, 1), managertest.Await(t, b, "falls/out", 1))
	require.NoError(t, thief.Close(t.Context()))
}

func TestManager_credentials_areStoredEncrypted(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	c := managertest.Config(b, documents)
	c.Secret = strings.Repeat("s", manager.SecretLength)
	m, stop := managertest.Start(t, c)
	guarded := managertest.Channel("guarded")
	guarded.Input.Settings = mqtt.Settings{Protocol: "tcp", Host: "h", Port: 1, User: "alice", Password: "w0nderländ"}
	managertest.Create(t, m, guarded)
	managertest.Create(t, m, managertest.Channel("plain"))
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

	m, stop = managertest.Start(t, c)
	restored, err := m.Get("guarded")
	require.NoError(t, err)
	require.Equal(t, "w0nderländ", managertest.MQTT(restored.Input).Password)
	require.NoError(t, stop())

	for _, secret := range []string{strings.Repeat("x", manager.SecretLength), ""} {
		c.Secret = secret
		m, stop = managertest.Start(t, c)
		require.True(t, managertest.Status(t, m, "guarded").Stopped)
		require.Contains(t, managertest.Status(t, m, "guarded").Error, "cannot be decrypted")
		require.Eventually(t, func() bool { return !managertest.Status(t, m, "plain").Stopped }, managertest.Patience, time.Millisecond)
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
		rest.NewHandler(m, nil).ServeHTTP(recorder, request)
		require.Equal(t, http.StatusOK, recorder.Code, recorder.Body)
		return recorder.Body.String()
	}
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	before := answer(m)
	require.NoError(t, stop())
	m, _ = managertest.Start(t, managertest.Config(b, documents))
	require.Equal(t, before, answer(m), "nothing is generated for a record that cannot be read")
	require.Contains(t, managertest.Status(t, m, "empty").Error, `restore channel "empty": settings: required`)
	require.Contains(t, managertest.Status(t, m, "number").Error, "expected a JSON object")
	require.Contains(t, managertest.Status(t, m, "other").Error, `expected one of MQTT, KAFKA, got "OTHER"`)
	require.Len(t, slices.Collect(m.All()), 3)
	for c := range m.All() {
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
	seed, stop := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	c := managertest.WithSideTopics(managertest.Channel("shared"))
	c.Stopped = true
	managertest.Create(t, seed, c)
	require.NoError(t, stop())

	a, stopA := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	b, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	_, err := a.Patch(t.Context(), "shared", manager.Update{Error: manager.Off})
	require.NoError(t, err)
	_, err = b.Patch(t.Context(), "shared", manager.Update{MonitorInput: manager.Off})
	require.NoError(t, err)
	_, err = b.Create(t.Context(), managertest.Channel("other"))
	require.NoError(t, err)
	_, err = a.Create(t.Context(), managertest.Channel("other"))
	require.ErrorIs(t, err, manager.ErrChannelExists)
	require.NoError(t, stopA())

	a, _ = managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	require.True(t, managertest.Status(t, a, "shared").Off.MonitorInput)
	require.NoError(t, a.Delete(t.Context(), "shared"))
	_, err = b.Patch(t.Context(), "shared", manager.Update{MonitorOutput: manager.Off})
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
	_, err = b.Get("shared")
	require.ErrorIs(t, err, manager.ErrChannelNotFound)
}

func TestManager_Patch_doesNotChangeAReplacedChannel(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	a, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	managertest.Create(t, a, managertest.WithSideTopics(managertest.Channel("reborn")))
	b, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), documents))
	require.NoError(t, b.Delete(t.Context(), "reborn"))
	managertest.Create(t, b, managertest.WithSideTopics(managertest.Channel("reborn")))
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
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	managertest.Create(t, m, managertest.Channel("ran"))
	require.False(t, managertest.Status(t, m, "ran").Retrying)
	b.Down()
	managertest.Create(t, m, managertest.Channel("never ran"))
	require.False(t, managertest.Status(t, m, "never ran").Retrying, "it is given up")
	require.NoError(t, stop())
	m, _ = managertest.Start(t, managertest.Config(b, documents))
	require.Eventually(t, func() bool { return managertest.Status(t, m, "ran").Error != "" }, managertest.Patience, time.Millisecond)
	require.True(t, managertest.Status(t, m, "ran").Retrying)
	require.Equal(t, manager.Stopped, managertest.Patch(t, m, "ran", true))
	require.False(t, managertest.Status(t, m, "ran").Retrying)
}

func TestManager_notRunning_refusesOperations(t *testing.T) {
	m, err := manager.New(managertest.Config(annotate.NewMemoryBroker(nil), nil))
	require.NoError(t, err)
	_, err = m.Create(t.Context(), managertest.Channel("early"))
	require.ErrorIs(t, err, manager.ErrNotRunning)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, m.Run(ctx))
	_, err = m.Create(t.Context(), managertest.Channel("late"))
	require.ErrorIs(t, err, manager.ErrNotRunning)
	require.Error(t, m.Run(ctx))
}

func TestManager_Run_returnsTheStorageError(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := manager.New(managertest.Config(annotate.NewMemoryBroker(nil), documents))
	require.NoError(t, err)
	require.ErrorIs(t, m.Run(ctx), context.Canceled)
	require.ErrorIs(t, m.Err(), context.Canceled)
}

// TestManager_concurrentOperations_keepStorageAndChannelsEqual lets many clients do everything at once with few
// channels, and then finds storage and manager in agreement.
func TestManager_concurrentOperations_keepStorageAndChannelsEqual(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for range 60 {
				id := fmt.Sprintf("hammer%d", random.IntN(4))
				on := random.IntN(2) == 0
				switch random.IntN(8) {
				case 0, 1, 2:
					_, _ = m.Create(t.Context(), managertest.WithSideTopics(managertest.Channel(id)))
				case 3:
					_ = m.Delete(t.Context(), id)
				case 4:
					_ = m.Restart(t.Context(), id)
				case 5:
					_, _ = m.Patch(t.Context(), id, manager.Update{Run: managertest.Switched(!on)})
				case 6:
					_, _ = m.Patch(t.Context(), id, manager.Update{Error: managertest.Switched(on), MonitorInput: managertest.Switched(on)})
				case 7:
					_ = b.Publish(t.Context(), annotate.Message{Topic: id + "/in", Payload: []byte(`{"id": 1, "value": 2}`)})
				}
				_ = slices.Collect(m.All())
				m.Stats()
			}
		})
	}
	clients.Wait()
	listed := map[string]manager.Status{}
	for c := range m.All() {
		listed[c.ID] = c.Status
	}
	require.NoError(t, stop())
	stored, err := documents.List(t.Context(), "channels/", "", 0)
	require.NoError(t, err)
	require.Len(t, stored, len(listed))
	m, _ = managertest.Start(t, managertest.Config(b, documents))
	for id, before := range listed {
		require.Eventually(t, func() bool { return managertest.Status(t, m, id).Stopped == before.Stopped },
			managertest.Patience, time.Millisecond)
		require.Equal(t, before, managertest.Status(t, m, id))
	}
}

// slowBroker gives no answer before its gate is open.
type slowBroker struct {
	annotate.Broker
	asked, gate chan struct{}
}

func newSlowBroker() slowBroker {
	return slowBroker{Broker: annotate.NewMemoryBroker(nil), asked: make(chan struct{}, 1), gate: make(chan struct{})}
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
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	stopped := managertest.Channel("slow")
	stopped.Stopped = true
	managertest.Create(t, m, stopped)
	started := make(chan error)
	go func() { started <- m.Restart(t.Context(), "slow") }()
	<-b.asked
	for range 100 {
		require.True(t, managertest.Status(t, m, "slow").Stopped)
		require.Len(t, slices.Collect(m.All()), 1)
		require.Len(t, m.Stats(), 1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, m.Delete(ctx, "slow"), context.DeadlineExceeded, "a client that goes away does not wait for its turn")
	close(b.gate)
	require.NoError(t, <-started)
	require.False(t, managertest.Status(t, m, "slow").Stopped)
}

func TestManager_Restart_endsAfterTheConnectTimeout(t *testing.T) {
	b := newSlowBroker()
	c := managertest.Config(b, nil)
	c.ConnectTimeout = 20 * time.Millisecond
	m, _ := managertest.Start(t, c)
	managertest.Create(t, m, managertest.Channel("hangs"))
	require.True(t, managertest.Status(t, m, "hangs").Stopped)
	require.Contains(t, managertest.Status(t, m, "hangs").Error, "deadline exceeded")
}
