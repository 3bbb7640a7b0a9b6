package mqtt_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

func brokerHosts(t *testing.T, entries ...string) *annotate.BrokerHosts {
	t.Helper()
	hosts, err := annotate.NewBrokerHosts(entries, "-broker-hosts")
	require.NoError(t, err)
	return hosts
}

func TestDriver_refusesSettingsOfBrokersOffTheList(t *testing.T) {
	hosts := brokerHosts(t, "mqtt.example.org:8883", "mqtt.example.org:1883", "[fd00::1]:1883")
	driver := mqtt.Driver(mqtt.New(&mqtt.Options{Hosts: hosts}), nil)
	check := func(s mqtt.Settings) error {
		return driver.Settings.Check(annotate.Topic{Name: "t", Broker: mqtt.Type, Settings: s}, annotate.InputTopic)
	}
	for _, s := range []mqtt.Settings{
		{Protocol: "tcp", Host: "mqtt.example.org", Port: 1883}, {Protocol: "tls", Host: "MQTT.example.org"}, {Host: "mqtt.example.org"},
		{Protocol: "tcp", Host: "[fd00::1]"},
	} {
		require.NoError(t, check(s), s)
	}
	for _, s := range []mqtt.Settings{
		{Protocol: "tcp", Host: "127.0.0.1", Port: 1883}, {Protocol: "tcp", Host: "mqtt.example.org", Port: 22},
		{Protocol: "ws", Host: "127.0.0.1", Port: 80}, {Protocol: "tcp", Host: "127.1"},
	} {
		var field *annotate.FieldError
		require.ErrorAs(t, check(s), &field, s)
		require.Equal(t, "mqttSettings.host", field.Field)
		require.Contains(t, field.Reason, "is not a broker that channels may use")
		require.Contains(t, field.Reason, "-broker-hosts")
	}
	require.NoError(t, mqtt.Driver(mqtt.New(nil), nil).Settings.Check(nowhere("t"), annotate.InputTopic), "without a list")
}

// Settings of a channel that was stored before there was a list are not checked again by
// the driver, connections are.
func TestBroker_connectsToNoBrokerOffTheList(t *testing.T) {
	var dialled []string
	options := &mqtt.Options{Hosts: brokerHosts(t, "10.0.0.0/8")}
	options.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, errors.New("connection refused")
	}
	broker := mqtt.New(options)
	for _, version := range []string{"", mqtt.Version5, mqtt.Version311} {
		for _, host := range []string{"127.0.0.1", "localhost", "absent.invalid"} {
			topic := annotate.Topic{Name: "t", Broker: mqtt.Type,
				Settings: mqtt.Settings{Protocol: "tcp", Host: host, Port: 22, Version: version, ClientID: "c"}}
			_, err := broker.Connect(t.Context(), topic, annotate.ConnectOptions{})
			want := `connect to topic "t": MQTT broker ` + host + `:22: annotate: broker unavailable: "` + host +
				`:22" is not a broker that channels may use; the operator of the service can add it to -broker-hosts`
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, annotate.ErrBrokerNotListed)
			_, err = broker.Subscribe(t.Context(), topic, annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerNotListed)
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
		}
	}
	require.Empty(t, dialled)
	_, err := broker.Connect(t.Context(), annotate.Topic{Name: "t", Broker: mqtt.Type,
		Settings: mqtt.Settings{Protocol: "tcp", Host: "10.1.2.3", ClientID: "c"}}, annotate.ConnectOptions{})
	require.ErrorContains(t, err, "connection refused")
	require.Equal(t, []string{"10.1.2.3:1883"}, dialled)
}
