package embedded_test

import (
	"net"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// dial creates a connection of the client and waits for its CONNACK.
func dial(t *testing.T, address mqtttest.Address, id string, expiry uint32) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address.String())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	connect := &packets.Connect{
		ProtocolName: "MQTT", ProtocolVersion: 5, ClientID: id, KeepAlive: 30,
		Properties: &packets.Properties{SessionExpiryInterval: &expiry},
	}
	_, err = connect.WriteTo(conn)
	require.NoError(t, err)
	await(t, conn, packets.CONNACK)
	return conn
}

// await reads up to a packet of a type.
func await(t *testing.T, conn net.Conn, kind byte) {
	t.Helper()
	for {
		packet, err := packets.ReadPacket(conn)
		require.NoError(t, err)
		if packet.Type == kind {
			return
		}
	}
}

func TestNew_endingSession_keepsItsSuccessor(t *testing.T) {
	address := mqtttest.Embedded(t)
	for range 500 {
		first := dial(t, address, "client", 0)
		_, err := (&packets.Disconnect{Properties: &packets.Properties{}}).WriteTo(first)
		require.NoError(t, err)

		second := dial(t, address, "client", 0)
		_, err = (&packets.Subscribe{PacketID: 1, Properties: &packets.Properties{},
			Subscriptions: []packets.SubOptions{{Topic: "t", QoS: 1}}}).WriteTo(second)
		require.NoError(t, err)
		await(t, second, packets.SUBACK)
		_, err = (&packets.Publish{PacketID: 2, QoS: 1, Topic: "t", Properties: &packets.Properties{}}).WriteTo(second)
		require.NoError(t, err)
		await(t, second, packets.PUBLISH)
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
	}
}
