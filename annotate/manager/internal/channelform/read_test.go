package channelform_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// kinds are the drivers of the annotator, without brokers.
func kinds() []annotate.Driver {
	return []annotate.Driver{mqtt.Driver(nil, nil), kafka.Driver(nil, nil)}
}

// show returns the form of a channel as clients see it.
func show(c channelform.Channel) ([]byte, error) {
	state := channelform.State{Stopped: c.Stopped, Off: c.Off}
	return json.Marshal(channelform.Form{
		Settings: channelform.New(kinds()).Settings(c), Metadata: c.Metadata(true), Status: channelform.StatusOf(&c.ChannelConfig, state),
	})
}

func decodeChannel(t *testing.T, text string) channelform.Channel {
	t.Helper()
	c, err := channelform.New(kinds()).Read([]byte(text))
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
	data, err := show(decodeChannel(t,
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
	require.Equal(t, []string{"x", "y"}, again.About.Tags)
}

func TestDecodeSwitches_acceptsBothSpellings(t *testing.T) {
	for _, word := range []string{"Monitor", "Monitoring"} {
		u, empty, err := channelform.DecodeSwitches([]byte(`{"input` + word + `TopicEnabled": true, "output` + word + `TopicEnabled": false}`))
		require.NoError(t, err)
		on, off := true, false
		require.Equal(t, channelform.Switches{MonitorInput: &on, MonitorOutput: &off}, u)
		require.False(t, empty)
	}
}

// FuzzChannelConfig checks that decoding never panics, and that what decodes
// can be shown and decoded again.
func FuzzChannelConfig(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(bothSpellings, "MONITOR", "monitor")))
	f.Add([]byte(`{"settings": null, "metadata": []}`))
	f.Add([]byte(`{"settings":{"inputTopicSettings":{"topic":"\ud800","brokerType":"MQTT","kafkaSettings":{"port":1e3}}}}`))
	forms := channelform.New(kinds())
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = channelform.DecodeSwitches(data)
		c, err := forms.Read(data)
		if err != nil {
			return
		}
		shown, err := show(c)
		require.NoError(t, err)
		_, err = forms.Read(shown)
		require.NoError(t, err)
	})
}
