package manager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/storage"
)

func TestManager_Create_refusesTwoTopicsWithOneSession(t *testing.T) {
	c := managertest.Channel("twins")
	c.Input.Settings = mqtt.Settings{Protocol: "tcp", Host: "h", Port: 1, ClientID: "same"}
	c.Output.Settings = mqtt.Settings{Protocol: "tcp", Host: "h", Port: 1, ClientID: "same"}
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	_, err := m.Create(t.Context(), c)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "settings.outputTopicSettings.mqttSettings.clientId", field.Field)
}

func TestManager_Create_checksKafkaTopicNames(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), storage.NewMemoryDocuments()))
	for name, good := range map[string]bool{"a.b_c-1": true, "a/b": false, "..": false, strings.Repeat("x", 250): false} {
		c := managertest.Channel("")
		c.Output = annotate.Topic{Name: name, Broker: kafka.Type}
		_, err := m.Create(t.Context(), c)
		require.Equal(t, good, err == nil, name)
	}
}
