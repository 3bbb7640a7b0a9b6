package annotate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func decodeChannel(t *testing.T, text string) annotate.ChannelConfig {
	t.Helper()
	var c annotate.ChannelConfig
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	return c
}

const bothSpellings = `{
	"settings": {
		"inputTopicSettings": {"topic": "in", "brokerType": "MQTT", "mqttSettings": {"protocol": "ssl", "host": "h", "port": 8883, "clientId": "c", "user": "u", "password": "p"}},
		"outputTopicSettings": {"topic": "out", "brokerType": "KAFKA", "kafkaSettings": {"host": "k", "port": 9092, "groupId": "g"}},
		"MONITORInputTopicSettings": {"topic": "seen", "brokerType": "MQTT"},
		"MONITOROutputTopicSettings": {"topic": "sent", "brokerType": "MQTT"},
		"parallelism": 3, "bufferSize": 7
	},
	"metadata": {"author": "a", "tags": ["x", "y"], "mapping": {"version": "1", "inputFormat": "CSV", "outputFormat": "JSONLD", "rml": "r"}},
	"status": {"inputMONITORTopicEnabled": false, "outputMONITORTopicEnabled": true, "isStopped": true}
}`

func TestChannelConfigTakesBothSpellings(t *testing.T) {
	short := decodeChannel(t, strings.NewReplacer("MONITORInput", "monitorInput", "MONITOROutput", "monitorOutput", "MONITOR", "Monitor").Replace(bothSpellings))
	long := decodeChannel(t, strings.NewReplacer("MONITORInput", "monitoringInput", "MONITOROutput", "monitoringOutput", "MONITOR", "Monitoring").Replace(bothSpellings))
	require.Equal(t, short, long)
	require.Equal(t, "seen", short.Settings.MonitorInput.Topic)
	require.Equal(t, "sent", short.Settings.MonitorOutput.Topic)
	require.Equal(t, "g", short.Settings.Output.Kafka.GroupID)
	require.Equal(t, 3, short.Settings.Parallelism)
	require.False(t, *short.Status.InputMonitorTopicEnabled)
	require.True(t, *short.Status.OutputMonitorTopicEnabled)
	require.Nil(t, short.Status.ErrorTopicEnabled)
	require.True(t, short.Status.IsStopped)
}

func TestChannelConfigShowsMasksAndTheOutputSpelling(t *testing.T) {
	data, err := json.Marshal(decodeChannel(t, strings.NewReplacer("MONITORI", "monitorI", "MONITORO", "monitorO", "MONITOR", "Monitor").Replace(bothSpellings)))
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

func TestStatusUpdateTakesBothSpellings(t *testing.T) {
	for _, word := range []string{"Monitor", "Monitoring"} {
		var u annotate.StatusUpdate
		require.NoError(t, json.Unmarshal([]byte(`{"input`+word+`TopicEnabled": true, "output`+word+`TopicEnabled": false}`), &u))
		require.True(t, *u.InputMonitorTopicEnabled)
		require.False(t, *u.OutputMonitorTopicEnabled)
		require.False(t, u.IsEmpty())
	}
}

func TestTwoTopicsOnOneMQTTSessionAreRefused(t *testing.T) {
	c := config("twins")
	c.Settings.Input.MQTT = &annotate.MQTTSettings{Protocol: "tcp", Host: "h", Port: 1, ClientID: "same"}
	c.Settings.Output.MQTT = &annotate.MQTTSettings{Protocol: "tcp", Host: "h", Port: 1, ClientID: "same"}
	_, err := annotate.NewChannel(c, environment(annotate.NewMemoryBroker(nil)))
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "settings.outputTopicSettings.mqttSettings.clientId", field.Field)
}

func TestKafkaTopicNamesAreChecked(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.Brokers[annotate.Kafka] = b
	for name, good := range map[string]bool{"a.b_c-1": true, "a/b": false, "..": false, strings.Repeat("x", 250): false} {
		c := config("kafka")
		c.Settings.Output = annotate.TopicSettings{Topic: name, BrokerType: annotate.Kafka}
		_, err := annotate.NewChannel(c, env)
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
		var update annotate.StatusUpdate
		_ = json.Unmarshal(data, &update)
		var c annotate.ChannelConfig
		if json.Unmarshal(data, &c) != nil {
			return
		}
		shown, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(shown, &c))
	})
}
