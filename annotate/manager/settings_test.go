package manager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

// kinds are the drivers of the annotator, without brokers.
func kinds() []annotate.Driver {
	return []annotate.Driver{mqtt.Driver(nil, nil), kafka.Driver(nil, nil)}
}

func decodeChannel(t *testing.T, text string) manager.ChannelConfig {
	t.Helper()
	c, err := manager.Read(kinds(), []byte(text))
	require.NoError(t, err)
	return c
}

const bothSpellings = `{
	"settings": {
		"inputTopicSettings": {
			"topic": "in",
			"brokerType": "MQTT",
			"mqttSettings": {"protocol": "ssl", "host": "h", "port": 8883, "clientId": "c", "user": "u", "password": "p"}
		},
		"outputTopicSettings": {"topic": "out", "brokerType": "KAFKA", "kafkaSettings": {"host": "k", "port": 9092, "groupId": "g"}},
		"MONITORInputTopicSettings": {"topic": "seen", "brokerType": "MQTT"},
		"MONITOROutputTopicSettings": {"topic": "sent", "brokerType": "MQTT"},
		"parallelism": 3, "bufferSize": 7
	},
	"metadata": {"author": "a", "tags": ["x", "y"], "mapping": {"version": "1", "inputFormat": "CSV", "outputFormat": "JSONLD", "rml": "r"}},
	"status": {"inputMONITORTopicEnabled": false, "outputMONITORTopicEnabled": true, "isStopped": true}
}`

func TestForms_read_acceptsBothSpellings(t *testing.T) {
	short := decodeChannel(t, strings.NewReplacer("MONITORInput", "monitorInput", "MONITOROutput", "monitorOutput",
		"MONITOR", "Monitor").Replace(bothSpellings))
	long := decodeChannel(t, strings.NewReplacer("MONITORInput", "monitoringInput", "MONITOROutput", "monitoringOutput",
		"MONITOR", "Monitoring").Replace(bothSpellings))
	require.Equal(t, short, long)
	require.Equal(t, "seen", short.MonitorInput.Name)
	require.Equal(t, "sent", short.MonitorOutput.Name)
	require.Equal(t, "g", short.Output.Settings.(kafka.Settings).GroupID)
	require.Equal(t, 3, short.Parallelism)
	require.Equal(t, annotate.OptionalTopics{MonitorInput: true}, short.Off)
	require.True(t, short.Stopped)
}

func TestForms_settings_masksSecretsInTheOutputSpelling(t *testing.T) {
	data, err := manager.Show(kinds(), decodeChannel(t,
		strings.NewReplacer("MONITORI", "monitorI", "MONITORO", "monitorO", "MONITOR", "Monitor").Replace(bothSpellings)))
	require.NoError(t, err)
	text := string(data)
	require.Contains(t, text, `"monitoringInputTopicSettings":`)
	require.Contains(t, text, `"monitoringOutputTopicSettings":`)
	require.Contains(t, text, `"inputMonitorTopicEnabled":false`)
	require.Contains(t, text, `"user":"********","password":"********"`)
	require.Contains(t, text, `"rmlHash":"454349E422F05297191EAD13E21D3DB520E5ABEF52055E4964B82FB213F593A1"`)
	require.NotContains(t, text, `"p"`)
	again := decodeChannel(t, text)
	require.Equal(t, []string{"x", "y"}, again.Metadata.Tags)
}

func TestDecodeUpdate_acceptsBothSpellings(t *testing.T) {
	for _, word := range []string{"Monitor", "Monitoring"} {
		u, empty, err := manager.DecodeUpdate([]byte(`{"input` + word + `TopicEnabled": true, "output` + word + `TopicEnabled": false}`))
		require.NoError(t, err)
		require.Equal(t, manager.Update{MonitorInput: manager.On, MonitorOutput: manager.Off}, u)
		require.False(t, empty)
	}
}

func TestManager_Create_refusesTwoTopicsWithOneSession(t *testing.T) {
	c := config("twins")
	c.Input.Settings = mqtt.Settings{Protocol: "tcp", Host: "h", Port: 1, ClientID: "same"}
	c.Output.Settings = mqtt.Settings{Protocol: "tcp", Host: "h", Port: 1, ClientID: "same"}
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	_, err := m.Create(t.Context(), c)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "settings.outputTopicSettings.mqttSettings.clientId", field.Field)
}

func TestManager_Create_checksKafkaTopicNames(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	for name, good := range map[string]bool{"a.b_c-1": true, "a/b": false, "..": false, strings.Repeat("x", 250): false} {
		c := config("")
		c.Output = annotate.Topic{Name: name, Broker: kafka.Type}
		_, err := m.Create(t.Context(), c)
		require.Equal(t, good, err == nil, name)
	}
}

// FuzzChannelConfig checks that decoding never panics, and that what decodes
// can be shown and decoded again.
func FuzzChannelConfig(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(bothSpellings, "MONITOR", "monitor")))
	f.Add([]byte(`{"settings": null, "metadata": []}`))
	f.Add([]byte(`{"settings":{"inputTopicSettings":{"topic":"\ud800","brokerType":"MQTT","kafkaSettings":{"port":1e3}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = manager.DecodeUpdate(data)
		c, err := manager.Read(kinds(), data)
		if err != nil {
			return
		}
		shown, err := manager.Show(kinds(), c)
		require.NoError(t, err)
		_, err = manager.Read(kinds(), shown)
		require.NoError(t, err)
	})
}
