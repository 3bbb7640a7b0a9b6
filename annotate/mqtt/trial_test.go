package mqtt_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

func TestDriver_trialTakesNoSessionAndNoMessage(t *testing.T) {
	at := mqtttest.Embedded(t)
	broker := mqtt.New(nil)
	env := annotate.Environment{Drivers: []annotate.Driver{mqtt.Driver(broker, nil)}}
	topic := at.Topic("shared/in", "client-of-a-channel")
	mqtttest.Change(&topic, func(s *mqtt.Settings) { s.ShareName = "group" })
	sub, err := broker.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
	require.NoError(t, err)
	defer func() { _ = sub.Close(context.Background()) }()

	require.NoError(t, env.TryConnection(t.Context(), topic, annotate.InputTopic))
	named := topic
	named.Name = "$share/group/shared/in"
	mqtttest.Change(&named, func(s *mqtt.Settings) { s.ShareName = "" })
	require.NoError(t, env.TryConnection(t.Context(), named, annotate.InputTopic))
	require.NoError(t, env.TryConnection(t.Context(), at.Topic("out", "client-of-a-channel"), annotate.OutputTopic))

	require.NoError(t, sub.Health(), "the session was not taken over")
	pub, err := broker.Connect(t.Context(), at.Topic("shared/in", "other"), annotate.ConnectOptions{})
	require.NoError(t, err)
	defer func() { _ = pub.Close(context.Background()) }()
	require.NoError(t, pub.Publish(t.Context(), annotate.Message{Topic: "shared/in", Payload: []byte("m")}, func(error) {}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	delivery, err := sub.Receive(ctx)
	require.NoError(t, err)
	require.Equal(t, "m", string(delivery.Payload))
}

func TestDriver_trialNamesHostAndPort(t *testing.T) {
	env := annotate.Environment{Drivers: []annotate.Driver{mqtt.Driver(mqtt.New(nil), nil)}}
	topic := annotate.Topic{Name: "t", Broker: mqtt.Type, Settings: mqtt.Settings{Protocol: "tcp", Host: "127.0.0.1", Port: 1}}
	err := env.TryConnection(t.Context(), topic, annotate.InputTopic)
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.ErrorContains(t, err, "refused")
}

func TestSettings_Subscription_differsByWhatABrokerTellsApart(t *testing.T) {
	s := mqtt.Settings{ClientID: "c", ShareName: "s", Password: "p"}
	same := s
	same.Password = "q"
	same.Host = "h"
	same.Version = mqtt.Version5
	require.Equal(t, s.Subscription("t"), same.Subscription("t"))
	for _, other := range []mqtt.Settings{{ClientID: "d", ShareName: "s"}, {ClientID: "c"}} {
		require.NotEqual(t, s.Subscription("t"), other.Subscription("t"))
	}
	require.NotEqual(t, s.Subscription("t"), s.Subscription("u"))
}

func TestDriver_fieldsAreMembersOfTheSettings(t *testing.T) {
	driver := mqtt.Driver(nil, nil).Settings
	for _, field := range driver.(annotate.FormDriver).Fields(annotate.InputTopic) {
		for _, choice := range field.Choices {
			settings := map[string]any{"protocol": "tcp", "host": "h", "port": 1, field.Member: choice}
			text, err := json.Marshal(settings)
			require.NoError(t, err)
			read, err := driver.Read(text)
			require.NoError(t, err, string(text))
			again, err := json.Marshal(read)
			require.NoError(t, err)
			require.JSONEq(t, string(text), string(again))
		}
	}
}
