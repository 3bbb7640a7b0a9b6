package mqtt_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
)

// guarded is a mosquitto with a user "reader" who may write to nothing.
func guarded(t *testing.T) *mqtttest.Mosquitto {
	t.Helper()
	tool, err := exec.LookPath("mosquitto_passwd")
	if err != nil {
		t.Skip("mosquitto_passwd is not installed")
	}
	folder := t.TempDir()
	users, rights := filepath.Join(folder, "users"), filepath.Join(folder, "rights")
	require.NoError(t, exec.Command(tool, "-b", "-c", users, "reader", "a secret").Run())
	require.NoError(t, os.WriteFile(rights, []byte("user reader\ntopic read t\ntopic readwrite free\n"), 0o600))
	return mqtttest.StartMosquitto(t, "allow_anonymous false", "password_file "+users, "acl_file "+rights)
}

// as sets user and password.
func as(user, password string, s annotate.Topic) annotate.Topic {
	mqtttest.Change(&s, func(m *mqtt.Settings) { m.User, m.Password = user, password })
	return s
}

func TestBroker_wrongPassword_namesTheSettings(t *testing.T) {
	address := guarded(t)
	for _, version := range []string{"", mqtt.Version5, mqtt.Version311} {
		for user, password := range map[string]string{"reader": "a wrong one", "unknown": "a secret", "": ""} {
			_, err := mqtt.New(nil).Subscribe(t.Context(), as(user, password, with(version, address.Topic("t", "c"))), annotate.ConnectOptions{})
			require.ErrorIs(t, err, annotate.ErrBrokerUnavailable)
			require.ErrorContains(t, err, "not authorized")
			require.ErrorContains(t, err, "see mqttSettings.user and password")
			require.NotContains(t, err.Error(), "a wrong one")
			require.NotContains(t, err.Error(), "a secret")
		}
	}
}

func TestBroker_Connect_failsAForbiddenMessageAlone(t *testing.T) {
	address := guarded(t)
	b := mqtt.New(nil)
	for _, version := range versions() {
		p, err := b.Connect(t.Context(), as("reader", "a secret", with(version, address.Topic("free", "c"))), annotate.ConnectOptions{})
		require.NoError(t, err)
		var errs []error
		for _, topic := range []string{"free", "t", "free"} {
			require.NoError(t, p.Publish(t.Context(), annotate.Message{Topic: topic}, func(err error) { errs = append(errs, err) }))
		}
		require.NoError(t, p.Close(t.Context()))
		require.Len(t, errs, 3)
		require.NoError(t, errs[0])
		require.NoError(t, errs[2])
		if version == mqtt.Version5 {
			require.EqualError(t, errs[1], `publish on topic "t": the broker refused it: not authorized (0x87)`)
			require.ErrorIs(t, errs[1], annotate.ErrBrokerUnavailable, "another message would fare no better")
		} else {
			// MQTT 3.1.1 section 3.3.5: the broker confirms it and drops it.
			require.NoError(t, errs[1])
		}
	}
}

func TestBroker_rejectedClientID_isNamed(t *testing.T) {
	p := refusing(0x85, "")
	p.start(t)
	_, err := mqtt.New(nil).Connect(t.Context(), p.settings("t"), annotate.ConnectOptions{})
	require.ErrorContains(t, err, "client identifier not valid (0x85); see mqttSettings.clientId")
}

func TestBroker_Connect_failsAMessageThatDisconnectsAlone(t *testing.T) {
	p := &peer{}
	p.answer = func(conn net.Conn, packet *packets.ControlPacket) {
		m := packet.Content.(*packets.Publish)
		if string(m.Payload) == "no" {
			goodbye := packets.Disconnect{ReasonCode: 0x99, Properties: &packets.Properties{ReasonString: "not JSON"}}
			_, _ = goodbye.WriteTo(conn)
			_ = conn.Close()
			return
		}
		ack := packets.Puback{PacketID: m.PacketID, Properties: &packets.Properties{}}
		_, _ = ack.WriteTo(conn)
	}
	p.start(t)
	pub, err := swift(mqtt.Options{}).Connect(t.Context(), p.settings("t"), annotate.ConnectOptions{})
	require.NoError(t, err)
	var errs []error
	for _, payload := range []string{"yes", "no", "yes", "yes"} {
		require.NoError(t, pub.Publish(t.Context(), annotate.Message{Payload: []byte(payload)}, func(err error) { errs = append(errs, err) }))
	}
	require.NoError(t, pub.Close(t.Context()))
	require.Len(t, errs, 4)
	require.ErrorContains(t, errs[1], "the broker closed the connection each time it was sent")
	require.ErrorContains(t, errs[1], "the broker disconnected: payload format invalid: not JSON (0x99)")
	for _, n := range []int{0, 2, 3} {
		require.NoError(t, errs[n])
	}
}
