package manager_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

// account returns MQTT settings with a user and a password.
func account(host string) mqtt.Settings {
	return mqtt.Settings{Protocol: "tcp", Host: host, Port: 1883, User: managertest.Leaks()[2], Password: managertest.Leaks()[3]}
}

// masked returns a configuration as clients see it.
func masked(c manager.ChannelConfig) manager.ChannelConfig {
	for _, topic := range c.Topics() {
		s := topic.Settings.(mqtt.Settings)
		s.User, s.Password = annotate.Mask(s.User), annotate.Mask(s.Password)
		topic.Settings = s
	}
	return c
}

func TestManager_Replace_losesNoMessage(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	managertest.Create(t, m, managertest.Channel("edited"))
	const n = 400
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for i := range n {
			payload := fmt.Appendf(nil, `{"id": %d, "value": "v%d"}`, i, i)
			_ = b.Publish(t.Context(), annotate.Message{Topic: "edited/in", Payload: payload}) // await notices what is missing
		}
	})
	for i := range 5 {
		c, err := m.Get("edited")
		require.NoError(t, err)
		next := masked(c.ChannelConfig)
		next.Parallelism = i + 1
		next.Output.Name = fmt.Sprintf("edited/out%d", i)
		require.NoError(t, m.Replace(t.Context(), "edited", next))
		require.False(t, managertest.Status(t, m, "edited").Stopped)
	}
	publishing.Wait()
	seen := map[string]bool{}
	require.Eventually(t, func() bool {
		for _, topic := range []string{"edited/out", "edited/out0", "edited/out1", "edited/out2", "edited/out3", "edited/out4"} {
			for _, message := range b.Messages(topic) {
				seen[string(message.Payload)] = true
			}
		}
		return len(seen) == n
	}, managertest.Patience, 5*time.Millisecond)
}

func TestManager_Replace_isStoredInOneStep(t *testing.T) {
	b, documents := annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()
	c := managertest.Config(b, documents)
	c.Secret = strings.Repeat("s", manager.SecretLength)
	m, stop := managertest.Start(t, c)
	made := managertest.WithSideTopics(managertest.Channel("kept"))
	made.Input.Settings, made.Metadata.Name = account("h"), "before"
	made.Off.MonitorInput = true
	managertest.Create(t, m, made)
	_, err := m.Patch(t.Context(), "kept", manager.Update{Run: manager.Off})
	require.NoError(t, err)

	before, err := m.Get("kept")
	require.NoError(t, err)
	next := masked(before.ChannelConfig)
	next.Stopped, next.Metadata = false, manager.Metadata{Name: "after", Tags: []string{"t"}}
	next.MonitorOutput, next.Mapping.RML = nil, next.Mapping.RML+"# newer\n"
	next.BufferSize = 7
	require.NoError(t, m.Replace(t.Context(), "kept", next))
	check := func(m *manager.Manager) {
		now, err := m.Get("kept")
		require.NoError(t, err)
		require.True(t, now.Status.Stopped, "the status is not part of it")
		require.True(t, now.Status.Off.MonitorInput)
		require.Equal(t, "after", now.Metadata.Name)
		require.Nil(t, now.MonitorOutput)
		require.Equal(t, 7, now.BufferSize)
		require.Contains(t, now.Mapping.RML, "# newer")
		require.Equal(t, before.Input.Settings, now.Input.Settings, "with the password and the name of the subscription")
		require.Equal(t, before.Output.Settings, now.Output.Settings)
	}
	check(m)
	managertest.RequireNoLeak(t, "stored", managertest.Stored(t, documents))
	require.NoError(t, stop())
	m, _ = managertest.Start(t, c)
	check(m)
}

func TestManager_Replace_keepsSecretsForTheirAddress(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	made := managertest.Channel("secret")
	made.Input.Settings = account("h")
	managertest.Create(t, m, made)
	c, err := m.Get("secret")
	require.NoError(t, err)
	for _, change := range []func(*mqtt.Settings){
		func(s *mqtt.Settings) { s.Host = "elsewhere" },
		func(s *mqtt.Settings) { s.Port = 1884 },
		func(s *mqtt.Settings) { s.Protocol = "tls" },
	} {
		next := masked(c.ChannelConfig)
		s := next.Input.Settings.(mqtt.Settings)
		change(&s)
		next.Input.Settings = s
		var field *annotate.FieldError
		require.ErrorAs(t, m.Replace(t.Context(), "secret", next), &field)
		require.Equal(t, "settings.inputTopicSettings.mqttSettings.user", field.Field)
		s.User, s.Password = "", ""
		next.Input.Settings = s
		require.NoError(t, m.Replace(t.Context(), "secret", next))
		now, err := m.Get("secret")
		require.NoError(t, err)
		require.Equal(t, s, now.Input.Settings)
		require.NoError(t, m.Replace(t.Context(), "secret", c.ChannelConfig))
	}
}

func TestManager_Replace_givesAnotherTopicAnotherSubscription(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	managertest.Create(t, m, managertest.Channel("moved"))
	c, err := m.Get("moved")
	require.NoError(t, err)
	next := c.ChannelConfig
	next.Input.Name = "moved/other"
	var field *annotate.FieldError
	require.ErrorAs(t, m.Replace(t.Context(), "moved", next), &field)
	require.Contains(t, field.Reason, `reads topic "moved/in"`)
	s := next.Input.Settings.(mqtt.Settings)
	s.ClientID = ""
	next.Input.Settings = s
	require.NoError(t, m.Replace(t.Context(), "moved", next))
	now, err := m.Get("moved")
	require.NoError(t, err)
	require.NotEmpty(t, now.Input.Settings.Subscriber())
	require.NotEqual(t, c.Input.Settings.Subscriber(), now.Input.Settings.Subscriber())
	managertest.Publish(t, b, "moved/in", 0, 1)
	managertest.Publish(t, b, "moved/other", 1, 2)
	require.Equal(t, managertest.Triples(1, 2), managertest.Await(t, b, "moved/out", 1))
	require.Len(t, b.Messages("moved/out"), 1, "nothing comes of the old topic")
}

func TestManager_Replace_keepsTheSettingsOfTheOtherKindOfBroker(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	made := managertest.Channel("kinds")
	made.Output.Settings = account("h")
	managertest.Create(t, m, made)
	next := managertest.Channel("kinds")
	next.Output = annotate.Topic{Name: "kinds", Broker: kafka.Type}
	next.Input.Settings = nil
	require.NoError(t, m.Replace(t.Context(), "kinds", next))
	c, err := m.Get("kinds")
	require.NoError(t, err)
	require.Equal(t, kafka.Type, c.Output.Broker)
	require.Equal(t, managertest.Leaks()[3], managertest.Spare(c, annotate.OutputTopic, mqtt.Type).(mqtt.Settings).Password)
}

func TestManager_Replace_refusesWhatCannotBe(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	managertest.Create(t, m, managertest.Channel("a"))
	other := managertest.Channel("b")
	other.Input.Settings = mqtt.Settings{Protocol: "tcp", Host: "127.0.0.1", Port: 1883, ClientID: "taken"}
	managertest.Create(t, m, other)
	require.ErrorIs(t, m.Replace(t.Context(), "none", managertest.Channel("none")), manager.ErrChannelNotFound)
	before, err := m.Get("a")
	require.NoError(t, err)
	for name, change := range map[string]func(c *manager.ChannelConfig){
		"settings.channelId":                                func(c *manager.ChannelConfig) { c.ID = "b" },
		"settings.distributed":                              func(c *manager.ChannelConfig) { c.Distributed = true },
		"settings.parallelism":                              func(c *manager.ChannelConfig) { c.Parallelism = 1000 },
		"settings.outputTopicSettings.topic":                func(c *manager.ChannelConfig) { c.Output.Name = "#" },
		"settings.inputTopicSettings.mqttSettings.clientId": func(c *manager.ChannelConfig) { c.Input.Settings = other.Input.Settings },
		"metadata.mapping.rml":                              func(c *manager.ChannelConfig) { c.Mapping.RML = "x" },
	} {
		next := before.ChannelConfig
		change(&next)
		var field *annotate.FieldError
		require.ErrorAs(t, m.Replace(t.Context(), "a", next), &field, name)
		require.Equal(t, name, field.Field)
	}
	now, err := m.Get("a")
	require.NoError(t, err)
	require.Equal(t, before, now, "nothing has changed")
}

func TestManager_Replace_isTriedAgainUntilTheBrokerIsThere(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	managertest.Create(t, m, managertest.Channel("away"))
	c, err := m.Get("away")
	require.NoError(t, err)
	b.Down()
	next := c.ChannelConfig
	next.Parallelism = 9
	require.NoError(t, m.Replace(t.Context(), "away", next))
	require.True(t, managertest.Status(t, m, "away").Stopped)
	require.Contains(t, managertest.Status(t, m, "away").Error, "unavailable")
	b.Up()
	require.Eventually(t, func() bool { return !managertest.Status(t, m, "away").Stopped }, managertest.Patience, time.Millisecond)
	managertest.Publish(t, b, "away/in", 0, 2)
	require.Equal(t, managertest.Triples(0, 2), managertest.Await(t, b, "away/out", 2))
}

func TestManager_Replace_isAppliedAfterALostAnswer(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	documents := &forgetful{Documents: storage.NewMemoryDocuments()}
	m, _ := managertest.Start(t, managertest.Config(b, documents))
	managertest.Create(t, m, managertest.Channel("lost"))
	c, err := m.Get("lost")
	require.NoError(t, err)
	next := masked(c.ChannelConfig)
	next.Output.Name = "lost/other"
	documents.loses = true
	require.Error(t, m.Replace(t.Context(), "lost", next))
	documents.loses = false
	_, err = m.Patch(t.Context(), "lost", manager.Update{Run: manager.Off})
	require.NoError(t, err)
	_, err = m.Patch(t.Context(), "lost", manager.Update{Run: manager.On})
	require.NoError(t, err)
	managertest.Publish(t, b, "lost/in", 0, 1)
	require.Equal(t, managertest.Triples(0, 1), managertest.Await(t, b, "lost/other", 1))
}

// forgetful is a storage whose answers to changes are lost at times.
type forgetful struct {
	storage.Documents
	loses bool
}

func (f *forgetful) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	revision, err := f.Documents.Update(ctx, key, prev, data)
	if f.loses {
		return 0, storage.ErrUnavailable
	}
	return revision, err
}

func TestManager_Replace_keepsSecretsForTheirDestination(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, storage.NewMemoryDocuments()))
	made := managertest.Channel("secret")
	made.Output.Settings = account("h")
	managertest.Create(t, m, made)
	c, err := m.Get("secret")
	require.NoError(t, err)
	next := masked(c.ChannelConfig)
	s := next.Output.Settings.(mqtt.Settings)
	s.Version = mqtt.Version311
	next.Output.Settings = s
	require.NoError(t, m.Replace(t.Context(), "secret", next))
	now, err := m.Get("secret")
	require.NoError(t, err)
	require.Equal(t, managertest.Leaks()[3], managertest.MQTT(now.Output).Password)
	require.Equal(t, mqtt.Version311, managertest.MQTT(now.Output).Version)
}
