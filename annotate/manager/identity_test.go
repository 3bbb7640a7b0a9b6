package manager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/storage"
)

// Topics that give the same characters give different channels nevertheless.
func TestManager_generatedIdentifiers_differForTopicsThatLookAlike(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), nil))
	ids := map[string]bool{}
	for _, topic := range []string{"a/b", "a#b", "a-b", "a/b"} {
		c := managertest.Channel("")
		c.Input.Name = strings.ReplaceAll(topic, "#", "$")
		c.Output.Name = "out"
		c.Stopped = true
		id := managertest.Create(t, m, c)
		require.True(t, strings.HasPrefix(id, "a-b_out_MQTT_MQTT_"), id)
		ids[id] = true
	}
	require.Len(t, ids, 4)
}

// A channel of an earlier version keeps its identifier, its Kafka group and its
// MQTT clients, whatever a new one would get: its broker knows it by them.
func TestManager_storedChannelWithSlashes_keepsItsIdentities(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	documents := storage.NewMemoryDocuments()
	m, stop := managertest.Start(t, managertest.Config(b, documents))
	id := managertest.Create(t, m, managertest.Channel("test/input_test/output_MQTT_MQTT_0123"))
	before, err := m.Get(id)
	require.NoError(t, err)
	require.NoError(t, stop())

	m, _ = managertest.Start(t, managertest.Config(b, documents))
	after, err := m.Get(id)
	require.NoError(t, err)
	require.Equal(t, before.ChannelConfig, after.ChannelConfig)
	require.True(t, strings.HasPrefix(managertest.Spare(after, annotate.InputTopic, kafka.Type).(kafka.Settings).GroupID, "group_"+id))
}
