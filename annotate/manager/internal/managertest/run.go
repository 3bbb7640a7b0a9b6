package managertest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

// Start runs a manager until the test ends or stop is called, which
// returns what Run returned.
func Start(t *testing.T, c manager.Config) (m *manager.Manager, stop func() error) {
	t.Helper()
	m, err := manager.New(c)
	require.NoError(t, err)
	return m, Run(t, m)
}

// Run runs a manager until the test ends, or until stop is called.
func Run(tb testing.TB, m *manager.Manager) (stop func() error) {
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

// Config returns the configuration of a manager that repeats attempts soon.
func Config(b annotate.Broker, documents storage.Documents) manager.Config {
	return manager.Config{
		Environment: environment(b), Documents: documents,
		RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond,
	}
}

// Create creates a channel.
func Create(t *testing.T, m *manager.Manager, c manager.ChannelConfig) string {
	t.Helper()
	id, err := m.Create(t.Context(), c)
	require.NoError(t, err)
	return id
}

// Status returns the status of a channel.
func Status(t *testing.T, m *manager.Manager, id string) manager.Status {
	t.Helper()
	c, err := m.Get(id)
	require.NoError(t, err)
	return c.Status
}

// Switched is the Switch of what is to be on.
func Switched(on bool) manager.Switch {
	if on {
		return manager.On
	}
	return manager.Off
}

// MQTT returns the settings of a topic of MQTT.
func MQTT(topic annotate.Topic) mqtt.Settings { return topic.Settings.(mqtt.Settings) }

// Patch stops or starts a channel.
func Patch(t *testing.T, m *manager.Manager, id string, stop bool) manager.Outcome {
	t.Helper()
	outcome, err := m.Patch(t.Context(), id, manager.Update{Run: Switched(!stop)})
	require.NoError(t, err)
	return outcome
}

// Dated is a channel whose mapping takes the elements of an array and
// whose values are to be dates with a time.
func Dated(id string) manager.ChannelConfig {
	c := WithSideTopics(Channel(id))
	c.Mapping.RML = strings.Replace(Mapping, `[ rml:reference "value" ]`,
		`[ rml:reference "value" ; rr:datatype <http://www.w3.org/2001/XMLSchema#dateTime> ]`, 1)
	return c
}

// Send publishes a message.
func Send(t *testing.T, b *annotate.MemoryBroker, topic, message string) {
	t.Helper()
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: topic, Payload: []byte(message)}))
}

// Leaks are user names and passwords that must be seen nowhere.
func Leaks() []string { return []string{"k4fka-user", "k4fka-pass", "mqtt-us3r", "mqtt-p4ss"} }

// RequireNoLeak requires that a text has none of Leaks.
func RequireNoLeak(t *testing.T, where, text string) {
	t.Helper()
	for _, leak := range Leaks() {
		require.NotContains(t, text, leak, where)
	}
}

// Spare returns the settings of a topic for a kind of broker that is not its own.
func Spare(c manager.Channel, role annotate.TopicRole, kind annotate.BrokerType) annotate.Settings {
	form := c.Form()
	for _, topic := range form.Topics() {
		if topic.Role == role {
			return form.SettingsOf(topic, kind)
		}
	}
	return nil
}
